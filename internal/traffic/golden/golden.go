// Package golden is the set of questions whose answers are known: it reads a
// file of them, or the built-in one, and says of one answer whether it is
// right. It asks nobody and adds nothing up.
package golden

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/hub"
	"redline/internal/traffic/structured"
)

// Builtin is the name of the set that comes with the program.
const Builtin = "builtin"

//go:embed builtin.jsonl
var builtin []byte

// Set is a golden set that was read and found whole.
type Set struct {
	// Name is Builtin or the file's path, Hash that of its bytes.
	Name  string
	Hash  string
	Items []Item
}

// Item is one question.
type Item struct {
	// ID is the file's own, else a hash of what is asked.
	ID       string
	Messages []llm.Message
	Expect   Expect
	Tags     []string
	Weight   float64
	// Reference is an answer that is right, "" where the file has none and
	// none follows from what is expected.
	Reference string
	// ReferenceTokens is how long an answer is by the file, 0 where it does
	// not say.
	ReferenceTokens int
	MaxTokens       int
	// Tools are what the answer may call, nil for none.
	Tools *llm.Toolset
}

// defaultMaxTokens bounds an answer where neither line nor header does.
const defaultMaxTokens = 128

// Bounds beyond which a file is no golden set.
const (
	maxLine  = 1 << 20
	maxItems = 100_000
)

// line is one line of the file as it stands there: a question, or in the
// first line what holds for all of them.
type line struct {
	ID              string          `json:"id"`
	Prompt          *string         `json:"prompt"`
	Messages        []llm.Message   `json:"messages"`
	Expect          json.RawMessage `json:"expect"`
	Tags            []string        `json:"tags"`
	Weight          *float64        `json:"weight"`
	Reference       string          `json:"reference"`
	ReferenceTokens int             `json:"reference_output_tokens"`
	MaxTokens       int             `json:"max_tokens"`

	RefusalPatterns []string `json:"refusal_patterns"`
	System          string   `json:"system"`

	// Given are the tools as they are written, Tools those of a published set too.
	Given     json.RawMessage `json:"tools"`
	Tools     []llm.Tool      `json:"-"`
	published bool
}

// Open reads the set of that name: Builtin, or a file.
func Open(name string) (*Set, error) {
	if name == Builtin {
		return Read(name, bytes.NewReader(builtin))
	}
	path, err := hub.Dataset(name)
	if err != nil {
		return nil, fmt.Errorf("golden set: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("golden set: %w; the one that comes with redline is called %s", err, Builtin)
	}
	defer file.Close()
	return readSet(name, file, readTruths(path))
}

// Read reads a set; its errors begin with the name and the line.
func Read(name string, r io.Reader) (*Set, error) { return readSet(name, r, nil) }

// readSet knows the right calls of a published set that keeps them apart.
func readSet(name string, r io.Reader, truths map[string][]json.RawMessage) (*Set, error) {
	hash := sha256.New()
	r, err := linesOf(name, io.TeeReader(r, hash))
	if err != nil {
		return nil, err
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(nil, maxLine)
	b := builder{set: &Set{Name: name}, lineOfID: map[string]int{}, truths: truths}
	n := 0
	for scan.Scan() {
		n++
		text := bytes.TrimSpace(bytes.TrimPrefix(scan.Bytes(), []byte("\ufeff")))
		if len(text) == 0 {
			continue
		}
		if err := b.add(text, n); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := scan.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("the line is longer than %d bytes: is this a file of JSON Lines?", maxLine)
		}
		return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	if len(b.set.Items) == 0 {
		return nil, fmt.Errorf(`%s: holds no question; expected lines such as {"prompt": "…", "expect": {"contains": "…"}}`, name)
	}
	b.set.Hash = hex.EncodeToString(hash.Sum(nil))[:hashDigits]
	return b.set, nil
}

const hashDigits = 12

// builder is a set in the making.
type builder struct {
	set      *Set
	header   line
	started  bool
	lineOfID map[string]int // ids, by the line that has them
	truths   map[string][]json.RawMessage
}

// linesOf gives a file of another form as lines of JSON: one that begins an array,
// or a table.
func linesOf(name string, r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	head, _ := buffered.Peek(64)
	head = bytes.TrimSpace(bytes.TrimPrefix(head, []byte("\ufeff")))
	if !(len(head) > 0 && head[0] == '[') && !strings.EqualFold(filepath.Ext(name), ".csv") {
		return buffered, nil
	}
	data, err := io.ReadAll(io.LimitReader(buffered, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s: is longer than %d MB", name, maxFile>>20)
	}
	if err != nil {
		return nil, err
	}
	lines, err := toLines(name, data)
	return bytes.NewReader(lines), err
}

// maxFile bounds a set that is no list of lines.
const maxFile = 256 << 20

func (b *builder) add(text []byte, number int) error {
	var l line
	standard, err := readStandard(text, b.truths)
	switch {
	case err != nil:
		return err
	case standard != nil:
		l = *standard
		l.published = true
	default:
		if err := strict(text, &l, lineKeys); err != nil {
			return err
		}
	}
	if standard == nil && l.Prompt == nil && l.Messages == nil && l.Expect == nil && !b.started {
		b.started, b.header = true, l
		_, err := compilePatterns(l.RefusalPatterns)
		return err
	}
	b.started = true
	item, err := b.item(&l)
	if err != nil {
		return err
	}
	if before, twice := b.lineOfID[item.ID]; twice {
		return fmt.Errorf("asks the same as line %d, or has its id: leave one out, or give them ids", before)
	}
	if b.lineOfID[item.ID] = number; len(b.lineOfID) > maxItems {
		return fmt.Errorf("more than %d questions", maxItems)
	}
	b.set.Items = append(b.set.Items, *item)
	return nil
}

// item makes a question of a line and refuses one that could not be judged.
func (b *builder) item(l *line) (*Item, error) {
	it := &Item{ID: l.ID, Messages: l.Messages, Tags: l.Tags, Weight: 1, Reference: l.Reference,
		ReferenceTokens: l.ReferenceTokens, MaxTokens: defaultMaxTokens}
	switch {
	case l.RefusalPatterns != nil || l.System != "":
		return nil, errors.New("refusal_patterns and system stand in the first line, which has no question")
	case l.Prompt != nil && l.Messages != nil:
		return nil, errors.New("has a prompt and messages: leave one of them out")
	case l.Prompt == nil && len(l.Messages) == 0:
		return nil, errors.New(`has no prompt and no messages, expected {"prompt": "…", "expect": {"exact": "…"}}`)
	case l.Prompt != nil && strings.TrimSpace(*l.Prompt) == "":
		return nil, errors.New("prompt: is empty, expected text")
	case l.Expect == nil:
		return nil, fmt.Errorf("expect: says nothing; expected one of %s", strings.Join(matcherNames(), ", "))
	case l.Weight != nil && !(*l.Weight > 0 && *l.Weight <= 1e6):
		return nil, fmt.Errorf("weight: must be more than 0, got %g", *l.Weight)
	case l.MaxTokens < 0:
		return nil, fmt.Errorf("max_tokens: must be more than 0, got %d", l.MaxTokens)
	case l.ReferenceTokens < 0:
		return nil, fmt.Errorf("reference_output_tokens: must be more than 0, got %d", l.ReferenceTokens)
	case l.Given != nil:
		var err error
		if l.Tools, err = structured.ParseTools(slices.Concat([]byte(`{"tools":`), l.Given, []byte("}"))); err != nil {
			return nil, fmt.Errorf("tools: %w", err)
		}
	}
	if l.Prompt != nil {
		it.Messages = []llm.Message{{Role: "user", Content: *l.Prompt}}
	}
	for i, m := range it.Messages {
		if m.Role == "" || m.Content == "" {
			return nil, fmt.Errorf("messages[%d]: expected a role and a content", i)
		}
	}
	if b.header.System != "" && it.Messages[0].Role != "system" {
		it.Messages = append([]llm.Message{{Role: "system", Content: b.header.System}}, it.Messages...)
	}
	if it.ID == "" {
		it.ID = hashOf(it.Messages)
	}
	if l.Weight != nil {
		it.Weight = *l.Weight
	}
	if l.Tools != nil {
		it.Tools = &llm.Toolset{Tools: l.Tools}
	}
	limits := []int{b.header.MaxTokens, l.MaxTokens}
	if l.published { // its limit is a guess of ours
		slices.Reverse(limits)
	}
	for _, n := range limits {
		if n > 0 {
			it.MaxTokens = n
		}
	}
	return it, b.expect(it, l.Expect)
}

// expect reads what a right answer is, and holds the line's own reference to it.
func (b *builder) expect(it *Item, raw json.RawMessage) (err error) {
	if it.Expect, err = parseExpect(raw, b.header.RefusalPatterns); err != nil {
		return fmt.Errorf("expect%w", err)
	}
	if len(it.Expect.calls) > 0 && it.Tools == nil {
		return errors.New(`expect.calls: the question has no tools to call: add "tools": [{"name": …, "parameters": …}]`)
	}
	if it.Reference == "" {
		if it.Reference = it.Expect.obvious(); it.Tools != nil {
			it.Reference = it.Expect.rightCall()
		}
		return nil
	}
	if v := it.Expect.Match(it.Reference); !v.Right {
		return fmt.Errorf("reference: is not right by the line's own expect: %s", v.Why)
	}
	return nil
}

func hashOf(messages []llm.Message) string {
	h := sha256.New()
	for _, m := range messages {
		fmt.Fprintf(h, "%q %q\n", m.Role, m.Content)
	}
	return hex.EncodeToString(h.Sum(nil))[:hashDigits]
}

// Criterion is the first that a judge model is to look for, "" where none is asked.
func (s *Set) Criterion() string {
	for i := range s.Items {
		if one := s.Items[i].Expect.Criterion; one != "" {
			return one
		}
	}
	return ""
}

// Tags lists the set's tags in order, each once.
func (s *Set) Tags() []string {
	var tags []string
	for i := range s.Items {
		tags = append(tags, s.Items[i].Tags...)
	}
	slices.Sort(tags)
	return slices.Compact(tags)
}

// Key is what is asked, without who says it: the same in an API that knows
// roles and in one that knows only a prompt.
func Key(messages []llm.Message) string {
	contents := text.Each(messages, func(m llm.Message) string { return m.Content })
	return strings.TrimSpace(strings.Join(contents, "\n"))
}

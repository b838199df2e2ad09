package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// assumedOutput is how long replies are taken to be where a log does not say.
const assumedOutput = 128

// bytesPerToken is what the length of a request in bytes is divided by, where an
// access log has nothing better: English text and a little JSON around it.
const bytesPerToken = 4

const assumedOutputs = "the log has no output lengths: 128 tokens are assumed for each; --column output=NAME names them"

// promptLines reads logs that have prompts alone, one on each line: of web
// servers, of lengths, and of texts.
type promptLines struct {
	assumed string
	parse   func(line string) (entry, error)
}

func (p *promptLines) read(line []byte, number int, emit func(entry) error) error {
	e, err := p.parse(strings.TrimSpace(string(line)))
	if err != nil {
		return err
	}
	e.row.Output, e.row.Line = assumedOutput, number
	return emit(e)
}

func (p *promptLines) end(func(entry) error) error { return nil }

func (p *promptLines) notes() []string {
	notes := []string{strings.TrimSuffix(assumedOutputs, "; --column output=NAME names them")}
	if p.assumed != "" {
		notes = append(notes, p.assumed)
	}
	return notes
}

func (p *promptLines) columnsUsed() []string { return nil }

func (p *promptLines) idle() string { return "" }

// accessLine is the common log format with what nginx calls request_length
// behind it: [time] "POST …" status … request_length=1234.
var (
	accessTime   = regexp.MustCompile(`\[(\d{2}/[A-Z][a-z]{2}/\d{4}:\d{2}:\d{2}:\d{2} [+-]\d{4})\] "(?:POST|PUT|GET) [^"]*" (\d{3})`)
	accessLength = regexp.MustCompile(`\b(?:request_length|req_len|rl|bytes_received)[=:]"?(\d+)`)
)

func newAccess(Options, uint64) lineReader {
	return &promptLines{assumed: "prompts are counted by the bytes of their requests, 4 for a token", parse: func(line string) (entry, error) {
		found := accessTime.FindStringSubmatch(line)
		if found == nil {
			return entry{}, errors.New(`is no line of an access log: expected [time] "POST …" status`)
		}
		if found[2] >= "300" {
			return entry{}, errLeftOut
		}
		at, err := time.Parse("02/Jan/2006:15:04:05 -0700", found[1])
		if err != nil {
			return entry{}, fmt.Errorf("%s is no time", quote(found[1]))
		}
		length := accessLength.FindStringSubmatch(line)
		if length == nil {
			return entry{}, fatal{errors.New("has no length of the request: log it too, as in nginx with request_length=$request_length")}
		}
		n, err := strconv.Atoi(length[1])
		if err != nil || n > maxTokens*bytesPerToken {
			return entry{}, fmt.Errorf("has a request of %s bytes", quote(length[1]))
		}
		return entry{stamp: at.UnixNano(), timed: true, row: Row{Prompt: max(1, n/bytesPerToken)}}, nil
	}}
}

func newLengths(Options, uint64) lineReader {
	return &promptLines{parse: func(line string) (entry, error) {
		n, err := strconv.Atoi(line)
		if err != nil || n < 0 || n > maxTokens {
			return entry{}, fmt.Errorf("is %s, expected a length in tokens", quote(line))
		}
		return entry{row: Row{Prompt: n}}, nil
	}}
}

func newTexts(o Options, _ uint64) lineReader {
	return &promptLines{parse: func(line string) (entry, error) {
		return entry{row: Row{Prompt: o.count([]byte(line))}}, nil
	}}
}

// count is how many tokens a text has; without a tokenizer by its bytes.
func (o Options) count(raw []byte) int {
	said := promptText(raw)
	if o.Count == nil {
		return max(1, len(said)/bytesPerToken)
	}
	return o.Count(said)
}

// promptText is what a prompt says: a text, the texts of a list of messages, or the
// value as it stands.
func promptText(raw []byte) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var messages []struct{ Content any }
	if json.Unmarshal(raw, &messages) != nil {
		return string(raw)
	}
	var all []string
	for _, m := range messages {
		if said, ok := m.Content.(string); ok {
			all = append(all, said)
		}
	}
	return strings.Join(all, "\n")
}

// promptsOnly names the format of a file that has prompts alone, "" where it has
// no length.
func promptsOnly(path string, head []byte) string {
	head = trimStart(head)
	first, _, _ := bytes.Cut(head, []byte("\n"))
	first = bytes.TrimSpace(first)
	names, form := headerNames(first), "csv"
	if bytes.HasPrefix(first, []byte("{")) {
		names, form = nil, "jsonl"
		if json.Valid(first) {
			names = objectKeys(first)
		}
	}
	for _, name := range names {
		for _, known := range generic[roleText] {
			if name == known {
				return form
			}
		}
	}
	_, noLength := strconv.Atoi(string(first))
	switch {
	case accessTime.Match(first):
		return "access"
	case noLength == nil:
		return "lengths"
	case strings.HasSuffix(strings.ToLower(path), ".txt"):
		return "prompts"
	}
	return ""
}

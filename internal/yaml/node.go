// Package yaml reads the files that people write: plans, watch files, catalogs
// and workloads. It takes a file and gives a tree of values with their places, and
// puts that into Go values by their yaml tags. Nothing is guessed: what is unknown
// or of another type is an error of one line that says where, and what would be
// right. It knows nothing of what the keys mean.
package yaml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	lib "go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/limit"

	"redline/internal/text"
)

const (
	// maxDepth bounds how deep a tree is, and maxRepeated how many values and
	// bytes aliases may add to it: aliases of aliases grow fast.
	maxDepth    = 40
	maxRepeated = 100_000
	// maxLine bounds an error, whatever keys a file has.
	maxLine = 2000
	tooDeep = "nested too deeply"
)

// Form is a kind of file.
type Form struct {
	// Name is what errors call it, with its article: "a plan".
	Name string
	// Want is what an empty one should have held; Name where it is empty.
	Want string
	// MaxBytes is the largest size in bytes.
	MaxBytes int
}

// Kind is the shape of a node.
type Kind uint8

// Shapes.
const (
	Scalar Kind = iota
	Null
	Mapping
	Sequence
)

// Node is a value with its place.
type Node struct {
	Kind Kind
	Line int
	// Text is a scalar's value. Template is what the file says where something
	// else was put in its place, such as the value of a variable.
	Text, Template string
	// Plain is false for a quoted or block scalar, which is text whatever it
	// looks like.
	Plain   bool
	Entries []Entry
	Items   []*Node
}

// Entry is one key of a mapping.
type Entry struct {
	Key   string
	Line  int
	Value *Node
}

// Error is a mistake of whoever wrote a file, a flag or a variable.
type Error struct {
	// Place is "--rate", "REDLINE_RATE" or "plan.yaml:12".
	Place string
	// What says in one line what is wrong and what would be right.
	What string
	// More are further mistakes of the same file or the same command, which have none
	// of their own.
	More []*Error
}

// Add is an error with another one beside it, in the order of their lines; only an
// Error has others.
func Add(err, other error) error {
	first, ok := err.(*Error)
	second, also := other.(*Error)
	switch {
	case err == nil:
		return other
	case !ok || !also:
		return err
	}
	all := slices.Concat([]*Error{first}, first.More, []*Error{second}, second.More)
	slices.SortStableFunc(all, func(a, b *Error) int { return a.line() - b.line() })
	return &Error{Place: all[0].Place, What: all[0].What, More: text.Each(all[1:], func(e *Error) *Error { return &Error{Place: e.Place, What: e.What} })}
}

// line is that of the place, 0 where it has none.
func (e *Error) line() int {
	line, _ := strconv.Atoi(e.Place[strings.LastIndexByte(e.Place, ':')+1:])
	return line
}

func (e *Error) Error() string {
	if e.Place == "" {
		return e.What
	}
	return e.Place + ": " + e.What
}

// Fault makes an Error whose text stays on one line whatever the input held.
func Fault(place, format string, args ...any) *Error {
	return &Error{Place: strings.TrimSpace(text.Line(place)), What: text.Cut(strings.TrimSpace(text.Line(fmt.Sprintf(format, args...))), maxLine)}
}

// At is the place of a line; of a file where the line is not known.
func At(file string, line int) string {
	if line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// ReadFile gives the bytes of a file, or says why it is not one. A pipe or a
// device, which may never end, is read only until it is too long.
func (f Form) ReadFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Fault(path, "no such file")
	}
	if err != nil {
		return nil, Fault(path, "cannot be read: %v", errors.Unwrap(err))
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, Fault(path, "is a directory, expected %s", f.Name)
	}
	data, err := io.ReadAll(io.LimitReader(file, int64(f.MaxBytes)+1))
	if err != nil {
		return nil, Fault(path, "cannot be read: %v", errors.Unwrap(err))
	}
	return data, f.checkSize(path, data)
}

func (f Form) checkSize(file string, data []byte) error {
	if len(data) > f.MaxBytes {
		return Fault(file, "has more than the %s bytes that %s may have", text.Count(f.MaxBytes), f.Name)
	}
	return nil
}

// Parse gives the tree of the only document of a file. file names it in errors.
func (f Form) Parse(file string, data []byte) (*Node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := f.check(file, data); err != nil {
		return nil, err
	}
	loader, err := lib.NewLoader(bytes.NewReader(data), lib.WithV3Defaults(), lib.WithPlugin(limit.New(limit.DepthFunc(checkDepth))))
	if err != nil {
		return nil, err
	}
	var root *lib.Node
	for {
		var document lib.Node
		err := loader.Load(&document)
		switch {
		case errors.Is(err, io.EOF) && root == nil:
			return nil, Fault(file, "is empty, expected %s", cmp.Or(f.Want, f.Name))
		case errors.Is(err, io.EOF):
			b := builder{Form: f, file: file}
			return b.build(root, 0)
		case err != nil:
			return nil, f.syntax(file, data, err)
		case document.Content[0].ShortTag() == "!!null":
		case root != nil:
			return nil, Fault(At(file, document.Content[0].Line), "a second YAML document; only one is read")
		default:
			root = document.Content[0]
		}
	}
}

// checkDepth ends the parser before it has built what build would refuse.
func checkDepth(depth int, _ *lib.DepthContext) error {
	if depth > maxDepth+1 {
		return errors.New(tooDeep)
	}
	return nil
}

// check finds what the parser would describe in its own terms.
func (f Form) check(file string, data []byte) error {
	if err := f.checkSize(file, data); err != nil {
		return err
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return Fault(file, "is not a text file, expected %s in YAML", f.Name)
	}
	line := 0
	for l := range bytes.Lines(data) {
		line++
		rest := bytes.TrimLeft(l, " \t")
		if bytes.IndexByte(l[:len(l)-len(rest)], '\t') >= 0 && len(bytes.TrimSpace(rest)) > 0 {
			return Fault(At(file, line), "a tab in the indentation; use spaces")
		}
		if HasControl(string(bytes.TrimRight(rest, "\r\n"))) {
			return Fault(At(file, line), "a control character has no place in %s", f.Name)
		}
	}
	return nil
}

// syntax puts the parser's complaint on one line. What was opened and not closed
// is named where it begins.
func (f Form) syntax(file string, data []byte, err error) error {
	var wrong *lib.LoadError
	if !errors.As(err, &wrong) {
		return Fault(file, "not YAML: %v", err)
	}
	line := wrong.Mark.Line
	if wrong.Message == tooDeep {
		return Fault(At(file, line), "%s for %s", tooDeep, f.Name)
	}
	if strings.Contains(wrong.ContextMsg, "flow") || strings.Contains(wrong.ContextMsg, "quoted") {
		line = wrong.ContextMark.Line
	}
	line = min(line, 1+bytes.Count(bytes.TrimRight(data, "\n"), []byte("\n")))
	if name, ok := strings.CutPrefix(wrong.Message, "unknown anchor '"); ok {
		return Fault(At(file, line), "alias *%s has no anchor before it", text.Brief(strings.TrimSuffix(name, "' referenced")))
	}
	cure := ""
	switch wrong.Message {
	case "mapping values are not allowed in this context":
		cure = "; indent keys of one block alike, and quote a value that holds a colon"
	case "did not find expected key":
		cure = "; indent keys of one block alike"
	}
	return Fault(At(file, line), "not YAML: %s%s", wrong.Message, cure)
}

// builder turns the library's tree into nodes.
type builder struct {
	Form
	file string
	// inAlias is how many aliases enclose what is built, and repeated what they
	// have added to the tree so far.
	inAlias, repeated int
}

func (b *builder) fail(n *lib.Node, format string, args ...any) error {
	return Fault(At(b.file, n.Line), format, args...)
}

func (b *builder) build(n *lib.Node, depth int) (*Node, error) {
	if depth > maxDepth {
		return nil, b.fail(n, "%s for %s", tooDeep, b.Name)
	}
	if err := b.count(n); err != nil {
		return nil, err
	}
	out := &Node{Line: n.Line}
	switch {
	case n.Kind == lib.AliasNode:
		b.inAlias++
		defer func() { b.inAlias-- }()
		return b.build(n.Alias, depth+1)
	case n.Style&lib.TaggedStyle != 0:
		return nil, b.fail(n, "a tag such as !!str has no place in %s", b.Name)
	case n.Kind == lib.MappingNode:
		return out, b.mapping(out, n.Content, depth)
	case n.Kind == lib.SequenceNode:
		out.Kind = Sequence
		for _, v := range n.Content {
			item, err := b.build(v, depth+1)
			if err != nil {
				return nil, err
			}
			out.Items = append(out.Items, item)
		}
		return out, nil
	case n.ShortTag() == "!!null":
		out.Kind = Null
		return out, nil
	}
	if HasControl(n.Value) {
		return nil, b.fail(n, "a control character has no place in %s", b.Name)
	}
	out.Text, out.Plain = n.Value, n.Style == 0
	return out, nil
}

// count adds what an alias repeats.
func (b *builder) count(n *lib.Node) error {
	if b.inAlias > 0 {
		b.repeated += 1 + len(n.Value)
	}
	if b.repeated > maxRepeated {
		return b.fail(n, "aliases repeat too much for %s, write shorter values or fewer aliases", b.Name)
	}
	return nil
}

func (b *builder) mapping(m *Node, content []*lib.Node, depth int) error {
	m.Kind = Mapping
	seen := map[string]bool{}
	for i := 0; i+1 < len(content); i += 2 {
		key := content[i]
		switch {
		case key.Tag == "!!merge":
			return b.fail(key, "merge keys (<<) have no place in %s, write the keys out", b.Name)
		case key.Kind != lib.ScalarNode || HasControl(key.Value):
			return b.fail(key, "expected a plain key")
		case seen[key.Value]:
			return b.fail(key, "key %s is given twice in one block; give it once", text.Brief(key.Value))
		}
		if err := b.count(key); err != nil {
			return err
		}
		seen[key.Value] = true
		value, err := b.build(content[i+1], depth+1)
		if err != nil {
			return err
		}
		m.Entries = append(m.Entries, Entry{key.Value, key.Line, value})
	}
	return nil
}

// HasControl reports whether a text would do something to a terminal.
func HasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// Find gives the value at a path such as "pairs.bins[2].share", or what encloses
// it where it is missing.
func (n *Node) Find(path string) *Node {
	for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		next := (*Node)(nil)
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Items) {
			next = n.Items[i]
		}
		for _, e := range n.Entries {
			if e.Key == part {
				next = e.Value
			}
		}
		if next == nil {
			return n
		}
		n = next
	}
	return n
}

// Describe says what stands there, for an error.
func (n *Node) Describe() string {
	switch n.Kind {
	case Null:
		return "nothing"
	case Mapping:
		return "a block"
	case Sequence:
		return "a list"
	}
	return text.Quote(n.Text)
}

// Item is the i-th item of a list, or the scalar that stands for a list of one.
func (n *Node) Item(i int) *Node {
	if i < len(n.Items) {
		return n.Items[i]
	}
	return n
}

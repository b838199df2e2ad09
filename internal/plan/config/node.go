package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds on a plan, so that a file given by mistake is refused at once and a
// hostile one cannot exhaust the parser, which is quadratic in the length of a
// line.
const (
	maxPlanBytes = 64 << 10
	maxPlanLine  = 8 << 10
	maxPlanNodes = 100_000
	maxPlanDepth = 40
)

// kind is the shape of a node.
type kind uint8

const (
	scalar kind = iota
	null
	mapping
	sequence
)

// node is a value of the plan with the line it stands on. The tree is kept
// apart from the YAML library's, so that decoding sees four shapes only.
type node struct {
	kind kind
	line int
	// text is a scalar's value after expansion; template is what the file
	// says where that names variables, else "".
	text     string
	template string
	// plain is false for a quoted or block scalar, which is text whatever it
	// looks like.
	plain   bool
	entries []entry
	items   []*node
}

// entry is one key of a mapping.
type entry struct {
	key   string
	line  int
	value *node
}

// readPlan gives the bytes of the plan at path, or says why that is no plan.
func readPlan(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault(path, "no such file")
	case err != nil:
		return nil, fault(path, "cannot read the plan: %v", errors.Unwrap(err))
	case info.IsDir():
		return nil, fault(path, "is a directory, want a plan file")
	case info.Size() > maxPlanBytes:
		return nil, fault(path, "has %d bytes, a plan has at most %d", info.Size(), maxPlanBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fault(path, "cannot read the plan: %v", err)
	}
	return data, nil
}

// parsePlan gives the tree of a plan, its variables expanded. file names it in
// errors.
func parsePlan(file string, data []byte, lookup func(string) (string, bool)) (*node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if err := checkText(file, data); err != nil {
		return nil, err
	}
	body, err := parseYAML(file, data)
	if err != nil {
		return nil, err
	}
	b := builder{file: file, lookup: lookup, anchors: map[string]*node{}}
	return b.build(body, 0)
}

// checkText finds what the YAML parser would describe in its own terms or
// choke on.
func checkText(file string, data []byte) error {
	if len(data) > maxPlanBytes {
		return fault(file, "has %d bytes, a plan has at most %d", len(data), maxPlanBytes)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return fault(file, "is not a text file, want a plan in YAML")
	}
	depth, line := 0, 1
	for l := range bytes.Lines(data) {
		if len(l) > maxPlanLine {
			return fault(at(file, line), "has %d bytes, a line of a plan has at most %d", len(l), maxPlanLine)
		}
		indent := l[:len(l)-len(bytes.TrimLeft(l, " \t"))]
		if bytes.IndexByte(indent, '\t') >= 0 && len(bytes.TrimSpace(l)) > 0 {
			return fault(at(file, line), "a tab in the indentation, want spaces")
		}
		depth += bytes.Count(l, []byte("[")) + bytes.Count(l, []byte("{")) -
			bytes.Count(l, []byte("]")) - bytes.Count(l, []byte("}"))
		if depth > maxPlanDepth || len(indent) > 8*maxPlanDepth || bytes.Count(l, []byte("- -")) > maxPlanDepth {
			return fault(at(file, line), "nested too deeply for a plan")
		}
		line++
	}
	return nil
}

func at(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

// parseYAML gives the body of the only document of a plan. A panic of the
// parser is its answer to some malformed files; to the user it is a file that
// cannot be read.
func parseYAML(file string, data []byte) (body ast.Node, err error) {
	defer func() {
		if recover() != nil {
			body, err = nil, fault(file, "cannot be read as YAML")
		}
	}()
	parsed, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlFault(file, err)
	}
	var docs []*ast.DocumentNode
	for _, d := range parsed.Docs {
		if d.Body != nil {
			docs = append(docs, d)
		}
	}
	if len(docs) == 0 {
		return nil, fault(file, "is empty, want a plan (redline schema plan lists its keys)")
	}
	if len(docs) > 1 {
		return nil, fault(at(file, lineOf(docs[1].Body)), "a second document, want one plan per file")
	}
	return docs[0].Body, nil
}

// yamlFault puts the parser's complaint on one line.
func yamlFault(file string, err error) error {
	var syntax *yaml.SyntaxError
	var tok *token.Token
	message := err.Error()
	if errors.As(err, &syntax) {
		tok, message = syntax.Token, syntax.Message
	}
	if tok == nil || tok.Position == nil {
		return fault(file, "not YAML: %s", message)
	}
	return fault(at(file, tok.Position.Line), "not YAML: %s", message)
}

func lineOf(n ast.Node) int {
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 1
}

// builder turns the library's tree into nodes.
type builder struct {
	file    string
	lookup  func(string) (string, bool)
	anchors map[string]*node
	count   int
}

func (b *builder) build(n ast.Node, depth int) (*node, error) {
	if n == nil {
		return &node{kind: null}, nil
	}
	b.count++
	if b.count > maxPlanNodes || depth > maxPlanDepth {
		return nil, fault(at(b.file, lineOf(n)), "too much in one plan")
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return b.mapping(n, n.Values, depth)
	case *ast.MappingValueNode:
		return b.mapping(n, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		return b.sequence(n, depth)
	case *ast.AnchorNode:
		v, err := b.build(n.Value, depth+1)
		if err == nil && n.Name != nil {
			b.anchors[n.Name.String()] = v
		}
		return v, err
	case *ast.AliasNode:
		return b.alias(n)
	case *ast.TagNode:
		return nil, fault(at(b.file, lineOf(n)), "a tag such as !!str has no place in a plan")
	case *ast.NullNode:
		return &node{kind: null, line: lineOf(n)}, nil
	case *ast.LiteralNode:
		return b.scalar(n, n.Value.Value, false)
	case *ast.StringNode:
		t := n.GetToken().Type
		return b.scalar(n, n.Value, t != token.SingleQuoteType && t != token.DoubleQuoteType)
	case ast.ScalarNode:
		return b.scalar(n, n.GetToken().Value, true)
	}
	return nil, fault(at(b.file, lineOf(n)), "want keys, lists and values only")
}

// alias gives the node an anchor named earlier. Each use counts in full, so
// that aliases of aliases cannot grow without bound.
func (b *builder) alias(n *ast.AliasNode) (*node, error) {
	name := ""
	if n.Value != nil {
		name = n.Value.String()
	}
	v, ok := b.anchors[name]
	if !ok {
		return nil, fault(at(b.file, lineOf(n)), "alias *%s has no anchor before it", name)
	}
	b.count += v.size()
	if b.count > maxPlanNodes {
		return nil, fault(at(b.file, lineOf(n)), "too much in one plan")
	}
	return v, nil
}

func (n *node) size() int {
	total := 1
	for _, e := range n.entries {
		total += e.value.size()
	}
	for _, i := range n.items {
		total += i.size()
	}
	return total
}

func (b *builder) mapping(n ast.Node, values []*ast.MappingValueNode, depth int) (*node, error) {
	m := &node{kind: mapping, line: lineOf(n)}
	if len(values) > 0 {
		m.line = lineOf(values[0].Key)
	}
	seen := map[string]bool{}
	for _, v := range values {
		line := lineOf(v.Key)
		key, err := b.key(v.Key, line)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			return nil, fault(at(b.file, line), "key %s stands twice in one block, want it once", key)
		}
		seen[key] = true
		value, err := b.build(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		m.entries = append(m.entries, entry{key, line, value})
	}
	return m, nil
}

func (b *builder) key(k ast.MapKeyNode, line int) (string, error) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.MergeKeyNode:
		return "", fault(at(b.file, line), "merge keys (<<) have no place in a plan, write the keys out")
	case ast.ScalarNode:
		return k.GetToken().Value, nil
	}
	return "", fault(at(b.file, line), "want a plain key")
}

func (b *builder) sequence(n *ast.SequenceNode, depth int) (*node, error) {
	s := &node{kind: sequence, line: lineOf(n)}
	for _, v := range n.Values {
		item, err := b.build(v, depth+1)
		if err != nil {
			return nil, err
		}
		s.items = append(s.items, item)
	}
	return s, nil
}

func (b *builder) scalar(n ast.Node, text string, plain bool) (*node, error) {
	line := lineOf(n)
	expanded, used, err := expand(text, b.lookup)
	if err != nil {
		return nil, fault(at(b.file, line), "%v", err)
	}
	if strings.ContainsFunc(expanded, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		return nil, fault(at(b.file, line), "a control character has no place in a plan")
	}
	s := &node{kind: scalar, line: line, text: expanded, plain: plain}
	if used {
		// A variable carries no quotes of its own: "${RATE}" is the number
		// where a number is wanted.
		s.template, s.plain = text, true
	}
	return s, nil
}

// expand puts the values of variables in place of ${NAME}; $${ stands for a
// literal ${. It reports whether any variable was used.
func expand(text string, lookup func(string) (string, bool)) (string, bool, error) {
	var out strings.Builder
	used := false
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), used, nil
		}
		if strings.HasSuffix(before, "$") {
			out.WriteString(before + "{")
			text = rest
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !variableName(name) {
			return "", false, fmt.Errorf("want ${NAME} with letters, digits and _, got %s (write $${ for a literal ${)", shown("${"+rest))
		}
		value, ok := lookup(name)
		if !ok {
			return "", false, fmt.Errorf("environment variable %s is not set (export %s=…)", name, name)
		}
		out.WriteString(before + value)
		text, used = after, true
	}
}

// escape is what expand gives back unchanged.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

func variableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// Package structured is about JSON that a model is asked for: the schemas of
// replies and the tools that it may call. It makes them up or reads them from
// files, says whether a reply keeps them, and writes a document that does. It
// sends nothing.
package structured

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"redline/internal/llm"
	"redline/internal/text"
)

// Schema is a JSON Schema that documents can be compared with.
type Schema struct{ compiled *jsonschema.Schema }

// compiled has the schemas that were compiled, since rows of a file and requests
// of a load repeat them.
var (
	compiled     sync.Map // of text to *Schema
	compiledSize atomic.Int64
)

// maxSchema is how long a schema may be, and maxCompiled how long those are together
// that are kept, in bytes.
const (
	maxSchema   = 1 << 20
	maxCompiled = 64 << 20
)

// Compile refuses what is no schema. It looks nothing up: a schema that points
// elsewhere cannot be sent to a server either.
func Compile(raw []byte) (*Schema, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("is %d bytes long, expected a schema of at most %d MB", len(raw), maxSchema>>20)
	}
	key := string(raw)
	if known, ok := compiled.Load(key); ok {
		return known.(*Schema), nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if _, isObject := doc.(map[string]any); !isObject {
		return nil, errors.New("expected a JSON Schema, which is an object")
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{})
	if err := c.AddResource(madeUpAddress, doc); err != nil {
		return nil, oneLine(err)
	}
	s, err := c.Compile(madeUpAddress)
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", oneLine(err))
	}
	if !endsSomewhere(raw) {
		return nil, errors.New("no reply can keep it: what it requires requires itself again, without an end")
	}
	schema := &Schema{s}
	if compiledSize.Add(int64(len(raw))) <= maxCompiled {
		compiled.Store(key, schema)
	}
	return schema, nil
}

// madeUpAddress is where the schema library believes to have found a schema.
const madeUpAddress = "redline://schema"

// oneLine takes the line breaks and the made-up address out of the schema
// library's words. Of a tree of causes it gives the first that has no other.
func oneLine(err error) error {
	for line := range strings.Lines(err.Error()) {
		if cause, isOne := strings.CutPrefix(strings.TrimSpace(line), "- "); isOne && !strings.HasSuffix(cause, " failed") {
			return errors.New(text.Cut(cause, 240))
		}
	}
	out := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
	return errors.New(text.Cut(strings.NewReplacer(`"`+madeUpAddress+`#" `, "", madeUpAddress, "").Replace(out), 240))
}

// Check compares a document with the schema.
func (s *Schema) Check(document string) llm.Check {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(document))
	switch {
	case err != nil:
		return llm.CheckNotJSON
	case s.compiled.Validate(doc) != nil:
		return llm.CheckSchema
	}
	return llm.CheckOK
}

// ToolName is a tool's name as APIs allow it: without the dots of the Berkeley
// leaderboard and of Python.
func ToolName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// CheckTools refuses tools of which two have one name, parameters that are no schema,
// and a choice of none of them.
func CheckTools(set *llm.Toolset) error {
	if set == nil {
		return nil
	}
	seen := map[string]bool{}
	for i, tool := range set.Tools {
		if seen[tool.Name] {
			return fmt.Errorf("tools[%d]: %s: is the name of another tool before it: rename one of them", i, text.Brief(tool.Name))
		}
		seen[tool.Name] = true
		if tool.Parameters == nil {
			continue
		}
		if _, err := Compile(tool.Parameters); err != nil {
			return fmt.Errorf("tools[%d]: %s: parameters: %w", i, text.Brief(tool.Name), err)
		}
	}
	if named := set.Choice.Named; named != "" && !seen[named] {
		names := text.Each(set.Tools, func(t llm.Tool) string { return t.Name })
		return fmt.Errorf("tool_choice: %s is none of the tools: %s", text.Brief(named), text.Cure(named, names))
	}
	return nil
}

// CheckFormat refuses a form of replies whose schema is none.
func CheckFormat(f *llm.Format) error {
	if f == nil || f.Schema == nil {
		return nil
	}
	if _, err := Compile(f.Schema); err != nil {
		return fmt.Errorf("response_format: schema: %w", err)
	}
	return nil
}

// Checker gives what looks at the reply to a request: whether its calls are of
// tools that there are, with arguments that keep their schemas, and whether its
// text keeps the form that was asked for. It is nil where neither was. A reply
// that calls nothing, and need not, has no calls to look at, unless its text is one:
// some servers give a call that was cut off as text. One that calls and says nothing
// has no text.
func Checker(set *llm.Toolset, f *llm.Format) func(text string, calls []llm.Part) (called, formed llm.Check) {
	if set == nil && f == nil {
		return nil
	}
	return func(text string, calls []llm.Part) (called, formed llm.Check) {
		if set != nil {
			called = checkCalls(set, calls)
			if called == "" && f == nil && beginsCall(set, text) {
				called = llm.CheckNotJSON
			}
		}
		if f != nil && (strings.TrimSpace(text) != "" || len(calls) == 0) {
			formed = checkText(f, text)
		}
		return called, formed
	}
}

func checkCalls(set *llm.Toolset, calls []llm.Part) llm.Check {
	if len(calls) == 0 {
		if set.Choice.Mode == llm.ChoiceRequired || set.Choice.Named != "" {
			return llm.CheckNoCall
		}
		return ""
	}
	for _, call := range calls {
		if c := checkCall(set, call); c != llm.CheckOK {
			return c
		}
	}
	return llm.CheckOK
}

// beginsCall reports whether a text is a call, or the beginning of one: a tool's name
// with its arguments, or JSON or a mark of the model's that holds one.
func beginsCall(set *llm.Toolset, said string) bool {
	said = strings.TrimSpace(said)
	marked := strings.HasPrefix(said, "{") || strings.HasPrefix(said, "[") || strings.HasPrefix(said, "<")
	return slices.ContainsFunc(set.Tools, func(t llm.Tool) bool {
		rest, begins := strings.CutPrefix(said, t.Name)
		return begins && (rest == "" || strings.ContainsAny(rest[:1], "{([")) || marked && strings.Contains(said, `"`+t.Name+`"`)
	})
}

// anyObject is what arguments must be of a tool that says nothing of them.
const anyObject = `{"type":"object"}`

func checkCall(set *llm.Toolset, call llm.Part) llm.Check {
	for _, tool := range set.Tools {
		if tool.Name != call.Name {
			continue
		}
		parameters := tool.Parameters
		if parameters == nil {
			parameters = llm.JSON(anyObject)
		}
		schema, err := Compile(parameters)
		if err != nil {
			return "" // refused where it was read
		}
		arguments := call.Text
		if arguments == "" {
			arguments = "{}"
		}
		return schema.Check(arguments)
	}
	return llm.CheckUnknownTool
}

func checkText(f *llm.Format, text string) llm.Check {
	raw := f.Schema
	if raw == nil {
		raw = llm.JSON(anyObject)
	}
	schema, err := Compile(raw)
	if err != nil {
		return ""
	}
	return schema.Check(text)
}

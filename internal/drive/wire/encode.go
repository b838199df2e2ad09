package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// Extra is a set of top-level keys that a request body carries beside, or in
// place of, those that the dialect writes.
type Extra struct {
	source map[string]any
	keys   map[string]bool
	fields []extraField
	nested map[string]*Extra // those whose values are objects
}

type extraField struct {
	key string
	raw []byte // "key":value
}

// NewExtra prepares the keys of a provider's extra_body.
func NewExtra(body map[string]any) (*Extra, error) {
	if err := llm.CheckMembers(body); err != nil {
		return nil, fmt.Errorf("extra_body.%w", err)
	}
	return newExtra(body)
}

func newExtra(body map[string]any) (*Extra, error) {
	e := &Extra{source: body, keys: make(map[string]bool, len(body)), nested: map[string]*Extra{}}
	for _, k := range slices.Sorted(maps.Keys(body)) {
		v, err := json.Marshal(body[k])
		if err != nil {
			return nil, fmt.Errorf("extra_body.%s: expected a value that JSON can hold: %w", k, err)
		}
		e.keys[k] = true
		e.fields = append(e.fields, extraField{k, append(append(jsonio.AppendString(nil, k), ':'), v...)})
		if inner, ok := body[k].(map[string]any); ok {
			if e.nested[k], err = newExtra(inner); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// over lays what a request adds over e; objects are merged.
func (e *Extra) over(body map[string]any) *Extra {
	if len(body) == 0 {
		return e
	}
	var below map[string]any
	if e != nil {
		below = e.source
	}
	merged, err := newExtra(mergeObjects(body, below))
	if err != nil {
		return e // what JSON cannot hold is refused when a plan is read
	}
	return merged
}

func mergeObjects(over, below map[string]any) map[string]any {
	merged := maps.Clone(over)
	for key, value := range below {
		inner, ok := over[key].(map[string]any)
		if object, both := value.(map[string]any); ok && both {
			merged[key] = mergeObjects(inner, object)
		} else if _, set := over[key]; !set {
			merged[key] = value
		}
	}
	return merged
}

// Has reports whether the key is set; a nil Extra has none.
func (e *Extra) Has(key string) bool { return e != nil && e.keys[key] }

// body writes the top-level object of a request, leaving out what the user
// overrides.
type body struct {
	dst    []byte
	extra  *Extra
	first  bool
	merged string // the user's object that was written as part of ours
	warm   bool   // a temperature of 0 is left out
}

func newBody(dst []byte, r *llm.Request, q Quirks) body {
	return body{dst: append(dst, '{'), extra: q.Extra.over(r.Body), first: true, warm: q.NoGreedy}
}

// key begins a field, unless it is overridden.
func (b *body) key(name string) bool {
	if b.extra.Has(name) {
		return false
	}
	b.comma()
	b.dst = append(b.dst, '"')
	b.dst = append(b.dst, name...)
	b.dst = append(b.dst, '"', ':')
	return true
}

func (b *body) comma() {
	if !b.first {
		b.dst = append(b.dst, ',')
	}
	b.first = false
}

// object writes a field that is an object itself. Where the user's value for it
// is an object too, the two are merged, so that a knob more does not cost those
// that are there.
func (b *body) object(name string, write func(inner *body)) {
	inner := body{first: true}
	if b.extra.Has(name) {
		if inner.extra = b.extra.nested[name]; inner.extra == nil {
			return
		}
		b.merged = name
	}
	b.comma()
	b.dst = append(jsonio.AppendString(b.dst, name), ':')
	inner.dst = append(b.dst, '{')
	write(&inner)
	b.dst = inner.end()
}

func (b *body) str(name, v string) {
	if b.key(name) {
		b.dst = jsonio.AppendString(b.dst, v)
	}
}

func (b *body) int(name string, v int64) {
	if b.key(name) {
		b.dst = strconv.AppendInt(b.dst, v, 10)
	}
}

func (b *body) raw(name, v string) {
	if b.key(name) {
		b.dst = append(b.dst, v...)
	}
}

func (b *body) float(name string, v *float64) {
	if v != nil && b.key(name) {
		b.dst = strconv.AppendFloat(b.dst, *v, 'g', -1, 64)
	}
}

func (b *body) strs(name string, list []string) {
	if len(list) > 0 && b.key(name) {
		b.list(list)
	}
}

func (b *body) list(list []string) {
	b.dst = jsonio.AppendList(b.dst, len(list), func(dst []byte, i int) []byte { return jsonio.AppendString(dst, list[i]) })
}

// prompt writes the messages in the dialect's form.
func (b *body) prompt(name string, messages []llm.Message, write func([]byte, []llm.Message) []byte) {
	if b.key(name) {
		b.dst = write(b.dst, messages)
	}
}

// textOrIDs writes the messages as one text, or as the ids of its tokens.
func (b *body) textOrIDs(text, ids string, r *llm.Request) {
	if r.Tokenize == nil {
		b.prompt(text, r.Messages, appendPrompt)
		return
	}
	if !b.key(ids) {
		return
	}
	var joined strings.Builder
	for i := range r.Messages {
		if i > 0 {
			joined.WriteByte('\n')
		}
		for part := range r.Messages[i].Texts {
			joined.WriteString(part)
		}
	}
	list := r.Tokenize(joined.String())
	b.dst = jsonio.AppendList(b.dst, len(list), func(dst []byte, i int) []byte { return strconv.AppendInt(dst, int64(list[i]), 10) })
}

// model names the model, or the adapter over it, which servers serve as one.
func (b *body) model(r *llm.Request) { b.str("model", cmp.Or(r.Adapter, r.Model)) }

// priority writes what the scheduler is to go by, if anything.
func (b *body) priority(r *llm.Request) {
	if r.Priority != nil {
		b.int("priority", int64(*r.Priority))
	}
}

// limit writes the most tokens to generate, if there is one.
func (b *body) limit(name string, r *llm.Request) {
	if r.MaxTokens > 0 {
		b.int(name, int64(r.MaxTokens))
	}
}

func (b *body) flag(name string, on bool) {
	if on {
		b.raw(name, "true")
	}
}

// ignoreEOS asks for all the tokens, unless the model is to end as it likes.
func (b *body) ignoreEOS(r *llm.Request, q Quirks) {
	b.flag("ignore_eos", !q.NoIgnoreEOS && !r.Natural)
}

func (b *body) seed(name string, seed *int64) {
	if seed != nil {
		b.int(name, *seed)
	}
}

// heat writes temperature and top_p.
func (b *body) heat(r *llm.Request) {
	if t := r.Sampling.Temperature; t == nil || *t != 0 || !b.warm {
		b.float("temperature", t)
	}
	b.float("top_p", r.Sampling.TopP)
}

// sampling writes the knobs that most engines call by the same names.
func (b *body) sampling(r *llm.Request) {
	b.heat(r)
	b.seed("seed", r.Sampling.Seed)
	b.strs("stop", r.Sampling.Stop)
}

// formatOf is the form that the reply to r is to have, nil for text.
func (q Quirks) formatOf(r *llm.Request) *llm.Format {
	if r.Format != nil && r.Format.Optional && q.NoSchema {
		return nil
	}
	return r.Format
}

// schemaOf is a form of replies as a schema.
func schemaOf(f *llm.Format) string {
	if f.Schema == nil {
		return `{"type":"object"}`
	}
	return string(f.Schema)
}

// schema writes the schema of the reply, if it is to have one.
func (b *body) schema(name, before, after string, f *llm.Format) {
	if f != nil {
		b.raw(name, before+schemaOf(f)+after)
	}
}

// format writes the form of the reply as OpenAI does: the words for any object,
// and what stands around the members of a schema.
func (b *body) format(name, object, before, after string, f *llm.Format) {
	switch {
	case f == nil:
	case f.Schema == nil:
		b.raw(name, object)
	default:
		strict := ""
		if f.Strict {
			strict = `,"strict":true`
		}
		b.raw(name, string(jsonio.Appendf(nil, before+`"name":%s%r,"schema":%r%r`, cmp.Or(f.Name, "answer"), strict, string(f.Schema), after)))
	}
}

// appendContents writes the contents as an array of strings.
func appendContents(dst []byte, messages []llm.Message) []byte {
	return jsonio.AppendList(dst, len(messages), func(dst []byte, i int) []byte { return appendPrompt(dst, messages[i:i+1]) })
}

// appendPrompt joins the contents by newlines, piece by piece so that long
// prompts are not copied twice.
func appendPrompt(dst []byte, messages []llm.Message) []byte {
	dst = append(dst, '"')
	for i := range messages {
		if i > 0 {
			dst = append(dst, `\n`...)
		}
		dst = jsonio.AppendUnquoted(dst, messages[i].Content)
		for _, p := range messages[i].Parts {
			if p.Kind == llm.Text {
				dst = jsonio.AppendUnquoted(dst, p.Text)
			}
		}
	}
	return append(dst, '"')
}

func (b *body) end() []byte {
	if b.extra != nil {
		for _, f := range b.extra.fields {
			if f.key != b.merged {
				b.comma()
				b.dst = append(b.dst, f.raw...)
			}
		}
	}
	return append(b.dst, '}')
}

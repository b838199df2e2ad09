package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"redline/internal/text"
)

// Facts are what a server says about itself.
type Facts struct {
	Engine       string `json:"engine,omitempty"`
	Version      string `json:"version,omitempty"`
	Model        string `json:"model,omitempty"` // as its files are called
	Revision     string `json:"revision,omitempty"`
	Tokenizer    string `json:"tokenizer,omitempty"`
	Precision    string `json:"precision,omitempty"`
	Quantization string `json:"quantization,omitempty"`
	MaxLen       int    `json:"max_len,omitempty"`
	// Parallelism is how the model is laid over accelerators: "tp 4, pp 2".
	Parallelism string `json:"parallelism,omitempty"`
	// Flags are settings by the engine's own names.
	Flags map[string]string `json:"flags,omitempty"`
	// ChatTemplate is what the server puts around prompts.
	ChatTemplate string `json:"-"`
}

// Caller asks a server. Body is nil for a plain GET, else what is posted.
type Caller func(ctx context.Context, path string, body []byte) ([]byte, error)

// Limit is how long all questions together may take.
const Limit = 2 * time.Second

// Page is one on which an engine says what it is.
type Page struct {
	Path string
	// Body is posted where it is not nil; it takes the model's name. What is
	// posted may do something, so it is put only to a server that has answered
	// the question at Needs.
	Body  func(model string) []byte
	Needs string
	Read  func(object, *Facts)
}

// pages lists those of all engines, and last the one that many have. Where two
// pages say the same, the one that stands first is believed.
func pages() []Page {
	var list []Page
	for _, e := range all {
		list = append(list, e.Pages...)
	}
	return append(list, Page{Path: "/version", Read: readVersion})
}

// readVersion reads the version alone, which does not tell engines apart.
func readVersion(o object, f *Facts) { f.Version = o.text("version") }

// Ask gets the pages of all engines and waits for them no longer than Limit. A
// server that has none of them gives no facts, which is no error.
func Ask(ctx context.Context, call Caller, model string) Facts {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	answers := map[string]object{}
	get := func(wanted func(Page) bool) {
		bodies := map[string][]byte{}
		for _, p := range pages() {
			if wanted(p) {
				bodies[p.Path] = nil
				if p.Body != nil {
					bodies[p.Path] = p.Body(model)
				}
			}
		}
		getAll(ctx, call, bodies, answers)
	}
	get(func(p Page) bool { return p.Body == nil })
	get(func(p Page) bool { return p.Body != nil && answers[p.Needs] != nil })
	var facts Facts
	for _, p := range pages() {
		if o := answers[p.Path]; o != nil {
			var found Facts
			p.Read(o, &found)
			if found.Precision == "auto" { // which is to say nothing
				found.Precision = ""
			}
			facts.Add(found)
		}
	}
	return facts
}

// getAll asks for some pages at once.
func getAll(ctx context.Context, call Caller, bodies map[string][]byte, answers map[string]object) {
	var mu sync.Mutex
	var calls sync.WaitGroup
	for path, body := range bodies {
		calls.Go(func() {
			content, err := call(ctx, path, body)
			if err != nil {
				return
			}
			var o object
			if json.Unmarshal(content, &o) != nil {
				o = nil // whatever is no object
			}
			mu.Lock()
			defer mu.Unlock()
			answers[path] = o
		})
	}
	calls.Wait()
}

// Add takes over what is not known yet.
func (f *Facts) Add(more Facts) {
	for _, pair := range []struct {
		have *string
		more string
	}{
		{&f.Engine, more.Engine}, {&f.Version, more.Version}, {&f.Model, more.Model}, {&f.Revision, more.Revision},
		{&f.Tokenizer, more.Tokenizer}, {&f.Precision, more.Precision}, {&f.Quantization, more.Quantization},
		{&f.Parallelism, more.Parallelism}, {&f.ChatTemplate, more.ChatTemplate},
	} {
		if *pair.have == "" {
			*pair.have = pair.more
		}
	}
	if f.MaxLen == 0 {
		f.MaxLen = more.MaxLen
	}
	for name, value := range more.Flags {
		f.flag(name, value)
	}
}

func (f *Facts) flag(name, value string) {
	if value == "" {
		return
	}
	if f.Flags == nil {
		f.Flags = map[string]string{}
	}
	if _, known := f.Flags[name]; !known {
		f.Flags[name] = value
	}
}

// object is a JSON object whose values may be anything.
type object map[string]any

// maxText is the most that is kept of a text that a server tells.
const maxText = 200

// text gives the first of the keys that has a plain value, "" for none. What
// stands for nothing in the engines' own language is nothing.
func (o object) text(keys ...string) string { return text.Cut(o.whole(keys...), maxText) }

// whole is text however long it is.
func (o object) whole(keys ...string) string {
	for _, key := range keys {
		var s string
		switch v := o[key].(type) {
		case string:
			s = strings.TrimSpace(strings.ToValidUTF8(v, "?"))
		case bool:
			s = strconv.FormatBool(v)
		case float64:
			s = text.Plain(v)
		}
		if s != "" && s != "None" && s != "null" {
			return s
		}
	}
	return ""
}

// number gives the first of the keys that is a count.
func (o object) number(keys ...string) int {
	const limit = 1 << 40
	for _, key := range keys {
		if v, ok := o[key].(float64); ok && v >= 1 && v < limit {
			return int(v)
		}
	}
	return 0
}

// in gives an object inside this one, an empty one where there is none.
func (o object) in(key string) object {
	inner, _ := o[key].(map[string]any)
	return inner
}

// keep takes settings over by name.
func (f *Facts) keep(o object, names ...string) {
	for _, name := range names {
		f.flag(name, o.text(name))
	}
}

// parallelism words how many accelerators share the model, and how.
func parallelism(o object, keys [][2]string) string {
	var parts []string
	for _, k := range keys {
		if n := o.number(k[1]); n > 1 || n == 1 && k[0] == "tp" {
			parts = append(parts, fmt.Sprintf("%s %d", k[0], n))
		}
	}
	return strings.Join(parts, ", ")
}

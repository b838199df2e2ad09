// Package identity asks a server what it is: which engine in which version,
// which model in which precision, with which settings. It takes a way to ask
// for a page and gives facts; what the server does not tell stays empty. It
// keeps only settings that it knows the names of, so that nothing a server
// shows by mistake, such as its key, gets any further.
package identity

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

// Facts are what a server tells of itself.
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

// question is a page that some engine has.
type question struct {
	path string
	// body is posted where it is not nil; it takes the model's name. What is
	// posted may do something, so it is put only to a server that has answered
	// the question at needs.
	body  func(model string) []byte
	needs string
	read  func(object, *Facts)
}

// questions are asked all at once. Where two pages tell the same, the one that
// stands first is believed.
var questions = []question{
	{path: "/server_info", read: serverInfo},
	{path: "/get_server_info", read: serverInfo},
	{path: "/get_model_info", read: modelInfo},
	{path: "/info", read: tgiInfo},
	{path: "/props", read: llamaProps},
	{path: "/v1/metadata", read: nimMetadata},
	{path: "/v2", read: tritonServer},
	{path: "/api/version", read: ollamaVersion},
	{path: "/api/show", body: ollamaAsk, needs: "/api/version", read: ollamaModel},
	{path: "/version", read: plainVersion},
}

// Ask puts every question and waits for the answers no longer than Limit. A
// server that has none of the pages gives no facts, which is no error.
func Ask(ctx context.Context, call Caller, model string) Facts {
	ctx, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	answers := map[string]object{}
	var plain, posted []question
	for _, q := range questions {
		if q.body == nil {
			plain = append(plain, q)
		}
	}
	put(ctx, call, model, plain, answers)
	for _, q := range questions {
		if q.body != nil && answers[q.needs] != nil {
			posted = append(posted, q)
		}
	}
	put(ctx, call, model, posted, answers)
	var facts Facts
	for _, q := range questions {
		if o := answers[q.path]; o != nil {
			var told Facts
			q.read(o, &told)
			if told.Precision == "auto" { // which is to say nothing
				told.Precision = ""
			}
			facts.Add(told)
		}
	}
	return facts
}

// put asks some of the questions at once.
func put(ctx context.Context, call Caller, model string, some []question, answers map[string]object) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, q := range some {
		all.Go(func() {
			var body []byte
			if q.body != nil {
				body = q.body(model)
			}
			content, err := call(ctx, q.path, body)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			answers[q.path] = parse(content)
		})
	}
	all.Wait()
}

// Add takes over what is not known yet.
func (f *Facts) Add(more Facts) {
	for _, pair := range []struct {
		have *string
		told string
	}{
		{&f.Engine, more.Engine}, {&f.Version, more.Version}, {&f.Model, more.Model}, {&f.Revision, more.Revision},
		{&f.Tokenizer, more.Tokenizer}, {&f.Precision, more.Precision}, {&f.Quantization, more.Quantization},
		{&f.Parallelism, more.Parallelism}, {&f.ChatTemplate, more.ChatTemplate},
	} {
		if *pair.have == "" {
			*pair.have = pair.told
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

// parse gives nil for whatever is no object.
func parse(content []byte) object {
	var o object
	if len(content) == 0 || json.Unmarshal(content, &o) != nil {
		return nil
	}
	return o
}

// longest is the most that is kept of a text that a server tells.
const longest = 200

// text gives the first of the keys that has a plain value, "" for none. What
// stands for nothing in the engines' own language is nothing.
func (o object) text(keys ...string) string {
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
			return text.Cut(s, longest)
		}
	}
	return ""
}

// number gives the first of the keys that is a count.
func (o object) number(keys ...string) int {
	const most = 1 << 40
	for _, key := range keys {
		if v, ok := o[key].(float64); ok && v >= 1 && v < most {
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

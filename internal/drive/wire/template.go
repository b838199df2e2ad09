package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redline/internal/drive/frame"
	"redline/internal/drive/jsonio"
	"redline/internal/llm"
	"redline/internal/text"
)

// TemplateName is how --api names the dialect that a Template describes.
const TemplateName = "template"

// Template describes an API that no dialect here speaks: how a request body is
// made, and where in a reply things stand. It is the plan's provider.template
// block. The URL's path is asked as it is.
type Template struct {
	// Body is the JSON to send, with placeholders such as {{prompt}}. Inside a
	// JSON string a placeholder becomes text, elsewhere a JSON value.
	Body string `yaml:"body" secret:"template"`
	// Framing is sse, ndjson, or json where nothing streams; sse if empty.
	Framing string `yaml:"framing,omitempty"`
	// Text, Reasoning, Finish and Error are JSON paths into an event, or into
	// the reply where it is not streamed: choices[0].delta.content.
	Text      string `yaml:"text"`
	Reasoning string `yaml:"reasoning,omitempty"`
	Finish    string `yaml:"finish,omitempty"`
	Error     string `yaml:"error,omitempty"`
	// Done is a path to what is true, or simply there, in the event that
	// closes the stream. Without it, [DONE] or the stream's orderly end does.
	Done string `yaml:"done,omitempty"`
	// Cumulative says that each event repeats all the text before it.
	Cumulative bool          `yaml:"cumulative,omitempty"`
	Usage      TemplateUsage `yaml:"usage,omitempty"`
	// KeyHeader is the header that carries the key as it is; without it the
	// key is sent as Authorization: Bearer.
	KeyHeader string `yaml:"key_header,omitempty"`
}

// TemplateUsage holds the JSON paths of the figures that a server counts.
type TemplateUsage struct {
	PromptTokens    string `yaml:"prompt_tokens,omitempty"`
	CachedTokens    string `yaml:"cached_tokens,omitempty"`
	OutputTokens    string `yaml:"output_tokens,omitempty"`
	ReasoningTokens string `yaml:"reasoning_tokens,omitempty"`
}

// Validate reports the first thing that is wrong with the template.
func (t Template) Validate() error {
	_, err := t.compile()
	return err
}

// Dialect makes the client's half of the API.
func (t Template) Dialect() (*Dialect, error) {
	c, err := t.compile()
	if err != nil {
		return nil, err
	}
	d := &Dialect{
		Name:      TemplateName,
		Framing:   c.framing,
		OpenEnded: c.done == nil,
		Features:  Features{IgnoreEOS: strings.Contains(t.Body, `"ignore_eos"`)},
		Headers:   c.headers,
		Encode:    c.encode,
		tree:      c.read,
	}
	if strings.Contains(t.Body, "{{model}}") {
		d.needs = []llm.Need{llm.NeedAdapter}
	}
	if c.failure != nil {
		d.failure = func(t jsonio.Tree) (string, bool) {
			message := c.failure.Text(t)
			return message, message != ""
		}
	}
	return complete(d)[0], nil
}

// templateCode is a template that is ready for use.
type templateCode struct {
	framing                                  frame.Framing
	body                                     []segment
	text, reasoning, finish, failure, done   jsonio.Path
	prompt, cached, output, reasoningCounted jsonio.Path
	cumulative                               bool
	keyHeader                                string
}

func (t Template) compile() (*templateCode, error) {
	c := &templateCode{cumulative: t.Cumulative, keyHeader: t.KeyHeader}
	var err error
	if t.Framing != "" {
		if c.framing, err = frame.ParseFraming(t.Framing); err != nil {
			return nil, fmt.Errorf("template.framing: %w", err)
		}
	}
	if c.body, err = parseSegments(t.Body); err != nil {
		return nil, fmt.Errorf("template.body: %w", err)
	}
	if t.Text == "" {
		return nil, errors.New("template.text: expected the JSON path of the reply's text, such as choices[0].delta.content")
	}
	for _, p := range []struct {
		key, path string
		into      *jsonio.Path
	}{
		{"text", t.Text, &c.text},
		{"reasoning", t.Reasoning, &c.reasoning},
		{"finish", t.Finish, &c.finish},
		{"error", t.Error, &c.failure},
		{"done", t.Done, &c.done},
		{"usage.prompt_tokens", t.Usage.PromptTokens, &c.prompt},
		{"usage.cached_tokens", t.Usage.CachedTokens, &c.cached},
		{"usage.output_tokens", t.Usage.OutputTokens, &c.output},
		{"usage.reasoning_tokens", t.Usage.ReasoningTokens, &c.reasoningCounted},
	} {
		if *p.into, err = jsonio.ParsePath(p.path); err != nil {
			return nil, fmt.Errorf("template.%s: %w", p.key, err)
		}
	}
	sample := c.encode(nil, &llm.Request{Model: "m", MaxTokens: 1, Messages: []llm.Message{{Role: "user", Content: `"`}}}, Quirks{})
	var object map[string]any
	if err := json.Unmarshal(sample, &object); err != nil {
		return nil, fmt.Errorf("template.body: filled in it is not a JSON object (%s): %.120s", text.Reason(err), sample)
	}
	return c, nil
}

func (c *templateCode) headers(key string) [][2]string {
	if key != "" && c.keyHeader != "" {
		return [][2]string{{c.keyHeader, key}}
	}
	return bearer(key)
}

// segment is a piece of a body: text as it is, or a value.
type segment struct {
	literal string
	value   func(dst []byte, r *llm.Request) []byte // nil for a literal
	bare    bool                                    // in a string: without quotes of its own
}

// placeholders are what a body can ask for, as JSON values.
var placeholders = map[string]func(dst []byte, r *llm.Request) []byte{
	"model":       func(dst []byte, r *llm.Request) []byte { return jsonio.AppendString(dst, cmp.Or(r.Adapter, r.Model)) },
	"prompt":      func(dst []byte, r *llm.Request) []byte { return appendPrompt(dst, r.Messages) },
	"messages":    func(dst []byte, r *llm.Request) []byte { return chatParts.append(dst, r.Messages) },
	"id":          func(dst []byte, r *llm.Request) []byte { return jsonio.AppendString(dst, r.ID) },
	"session":     func(dst []byte, r *llm.Request) []byte { return jsonio.AppendString(dst, r.Session) },
	"max_tokens":  func(dst []byte, r *llm.Request) []byte { return strconv.AppendInt(dst, int64(r.MaxTokens), 10) },
	"stream":      func(dst []byte, r *llm.Request) []byte { return strconv.AppendBool(dst, r.Stream) },
	"ignore_eos":  func(dst []byte, r *llm.Request) []byte { return strconv.AppendBool(dst, !r.Natural) },
	"temperature": func(dst []byte, r *llm.Request) []byte { return appendFloat(dst, r.Sampling.Temperature) },
	"top_p":       func(dst []byte, r *llm.Request) []byte { return appendFloat(dst, r.Sampling.TopP) },
	"seed": func(dst []byte, r *llm.Request) []byte {
		if r.Sampling.Seed == nil {
			return append(dst, "null"...)
		}
		return strconv.AppendInt(dst, *r.Sampling.Seed, 10)
	},
	"stop": func(dst []byte, r *llm.Request) []byte {
		b := body{dst: dst}
		b.list(r.Sampling.Stop)
		return b.dst
	},
}

func appendFloat(dst []byte, v *float64) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	return strconv.AppendFloat(dst, *v, 'g', -1, 64)
}

// parseSegments cuts a body at its placeholders.
func parseSegments(body string) ([]segment, error) {
	if strings.TrimSpace(body) == "" {
		return nil, errors.New(`expected the JSON to send, such as {"prompt": "{{prompt}}", "max_tokens": {{max_tokens}}}`)
	}
	var out []segment
	quoted := false
	for rest := body; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		quoted = inString(before, quoted)
		out = append(out, segment{literal: before})
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}}")
		name = strings.TrimSpace(name)
		value, known := placeholders[name]
		switch {
		case !closed:
			return nil, fmt.Errorf("a placeholder is not closed: {{%.20s", after)
		case !known:
			return nil, fmt.Errorf("unknown placeholder {{%s}}; known: %s", name, strings.Join(knownPlaceholders(), ", "))
		case quoted && (name == "messages" || name == "stop"):
			return nil, fmt.Errorf("{{%s}} is an array and can not stand in quotes", name)
		}
		out = append(out, segment{value: value, bare: quoted})
		rest = behind
	}
	return out, nil
}

func knownPlaceholders() []string {
	var names []string
	for name := range placeholders {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// inString reports whether a JSON string is open behind text.
func inString(text string, open bool) bool {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && open:
			i++
		case text[i] == '"':
			open = !open
		}
	}
	return open
}

func (c *templateCode) encode(dst []byte, r *llm.Request, q Quirks) []byte {
	for _, s := range c.body {
		from := len(dst)
		switch {
		case s.value == nil:
			dst = append(dst, s.literal...)
		case !s.bare:
			dst = s.value(dst, r)
		default:
			dst = s.value(dst, r)
			if written := dst[from:]; len(written) > 1 && written[0] == '"' {
				dst = append(dst[:from], written[1:len(written)-1]...)
			} else if string(written) == "null" {
				dst = dst[:from]
			}
		}
	}
	extra := q.Extra.over(r.Body)
	if extra == nil || len(extra.fields) == 0 {
		return dst
	}
	return appendExtra(dst, extra)
}

// appendExtra adds the user's own keys at the end of a filled-in object, where
// they win over those before them.
func appendExtra(dst []byte, e *Extra) []byte {
	end := len(strings.TrimRight(string(dst), " \t\r\n"))
	if end == 0 || dst[end-1] != '}' {
		return dst
	}
	b := body{dst: dst[:end-1], extra: e}
	b.first = strings.HasSuffix(strings.TrimRight(string(b.dst), " \t\r\n"), "{")
	return b.end()
}

// read reads a stream event or a whole reply.
func (c *templateCode) read(t jsonio.Tree, d *Delta) {
	if c.cumulative {
		d.joinRest([]byte(c.text.Text(t)))
	} else {
		d.joinString(&d.Text, c.text.Text(t))
	}
	d.joinString(&d.Reasoning, c.reasoning.Text(t))
	d.readFinish(c.finish.Text(t))
	d.Usage = llm.Usage{PromptTokens: c.prompt.Count(t), CachedTokens: c.cached.Count(t),
		OutputTokens: c.output.Count(t), ReasoningTokens: c.reasoningCounted.Count(t)}
	d.HasUsage = d.Usage != llm.Usage{}
	d.Done = c.done.Truthy(t)
}

package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"redline/internal/drive/jsonio"
	"redline/internal/llm"
)

// OpenAI's two older dialects share their options, their usage and their
// choices, in which "text" is one dialect's and "delta" the other's.

// bearer is how most servers want their key.
func bearer(key string) [][2]string {
	if key == "" {
		return nil
	}
	return [][2]string{{"Authorization", "Bearer " + key}}
}

func scanOpenAI(s *jsonio.Scanner, d *Delta) {
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "choices":
			if !s.Object(&seen, 0) {
				continue
			}
			for ok := s.FirstElem(); ok; ok = s.NextElem() {
				scanChoice(s, d)
			}
		case "usage":
			scanOpenAIUsage(s, d)
		case "metrics", "nvext", "meta_info", "sglext":
			s.FailIf(!s.Null()) // once in a reply, as a rule
		default:
			skipOther(s, k)
		}
	}
}

func scanChoice(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var text, finish jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "delta":
			if s.Object(&seen, 0) {
				scanChatDelta(s, d)
			}
		case "text":
			s.Into(&text)
		case "finish_reason":
			s.Into(&finish)
		case "message":
			s.Fail()
		default:
			s.Skip()
		}
	}
	d.join(&d.Text, text)
	d.setFinish(finish)
}

func scanChatDelta(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var content, refusal, reasoning, reasoningContent jsonio.Span
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "content":
			s.Into(&content)
		case "refusal":
			s.Into(&refusal)
		case "reasoning_content":
			s.Into(&reasoningContent)
		case "reasoning":
			s.Into(&reasoning)
		case "tool_calls":
			if !s.Object(&seen, 0) {
				continue
			}
			for ok := s.FirstElem(); ok; ok = s.NextElem() {
				scanToolCall(s, d)
			}
		case "function_call":
			s.FailIf(!s.Null())
		default:
			s.Skip()
		}
	}
	d.join(&d.Text, content)
	d.join(&d.Text, refusal)
	if len(reasoningContent.Raw) == 0 {
		reasoningContent = reasoning
	}
	d.join(&d.Reasoning, reasoningContent)
}

func scanToolCall(s *jsonio.Scanner, d *Delta) {
	var seen uint
	var id, name, arguments jsonio.Span
	index := noCall
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "index":
			index = s.Count()
		case "id":
			s.Into(&id)
		case "function":
			if s.Object(&seen, 0) {
				name, arguments = scanFunction(s)
			}
		default:
			s.Skip()
		}
	}
	d.piece(index, id, name, arguments)
}

func scanFunction(s *jsonio.Scanner) (name, arguments jsonio.Span) {
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "name":
			s.Into(&name)
		case "arguments":
			s.Into(&arguments)
		default:
			s.Skip()
		}
	}
	return name, arguments
}

func scanOpenAIUsage(s *jsonio.Scanner, d *Delta) {
	s.FailIf(d.HasUsage)
	if s.Null() {
		return
	}
	d.HasUsage = true
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "prompt_tokens":
			s.Tally(&d.Usage.PromptTokens)
		case "completion_tokens":
			s.Tally(&d.Usage.OutputTokens)
		case "prompt_tokens_details":
			s.MarkSeen(&seen, 0)
			scanPromptDetails(s, d)
		case "completion_tokens_details":
			s.MarkSeen(&seen, 1)
			d.Usage.ReasoningTokens = scanCountIn(s, "reasoning_tokens")
		default:
			s.Skip()
		}
	}
}

// scanPromptDetails reads what prompt tokens were: vLLM counts those of images in
// an object of their own, others beside the cached ones.
func scanPromptDetails(s *jsonio.Scanner, d *Delta) {
	if s.Null() {
		return
	}
	var seen uint
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		switch string(k) {
		case "cached_tokens":
			s.Tally(&d.Usage.CachedTokens)
		case "image_tokens":
			s.Tally(&d.Usage.VisionTokens)
		case "multimodal_tokens":
			s.MarkSeen(&seen, 0)
			if n := scanCountIn(s, "image"); n > 0 {
				d.Usage.VisionTokens = n
			}
		default:
			s.Skip()
		}
	}
}

// scanCountIn reads one count of an object, or null for none.
func scanCountIn(s *jsonio.Scanner, key string) (n int) {
	scanCountsIn(s, []string{key}, &n)
	return n
}

// scanCountsIn reads counts of an object by their keys, or null for none.
func scanCountsIn(s *jsonio.Scanner, keys []string, into ...*int) {
	if s.Null() {
		return
	}
	for k := s.FirstKey(); k != nil; k = s.NextKey() {
		if i := slices.Index(keys, string(k)); i >= 0 {
			s.Tally(into[i])
		} else {
			s.Skip()
		}
	}
}

// treeOpenAI reads a stream event or a whole reply.
func treeOpenAI(t jsonio.Tree, d *Delta) {
	for _, c := range t.Objects("choices") {
		for _, m := range []jsonio.Tree{c.Object("delta"), c.Object("message")} {
			treeContent(m, d)
			for _, call := range m.Objects("tool_calls") {
				f := call.Object("function")
				d.pieceString(callIndex(call, "index"), call.Str("id"), f.Str("name"), f.Str("arguments"))
			}
			f := m.Object("function_call")
			d.pieceString(noCall, "", f.Str("name"), f.Str("arguments"))
		}
		d.joinString(&d.Text, c.Str("text"))
		d.readFinish(c.Str("finish_reason"))
	}
	treeUsage(t, d, "prompt", "completion")
	treeDetails(t, d)
	d.Timing, d.Served = timingOf(t), servedBy(t)
}

// treeUsage reads usage, whose keys begin with one word for what went in and
// another for what came out.
func treeUsage(t jsonio.Tree, d *Delta, in, out string) {
	if u := t.Object("usage"); u != nil {
		d.HasUsage = true
		details := u.Object(in + "_tokens_details")
		d.Usage = llm.Usage{
			PromptTokens:    u.Count(in + "_tokens"),
			CachedTokens:    details.Count("cached_tokens"),
			VisionTokens:    cmp.Or(details.Object("multimodal_tokens").Count("image"), details.Count("image_tokens")),
			OutputTokens:    u.Count(out + "_tokens"),
			ReasoningTokens: u.Object(out + "_tokens_details").Count("reasoning_tokens"),
		}
	}
}

// treeContent reads a message or its delta. Content may be an array of parts,
// which some servers use to mix thinking with text.
func treeContent(m jsonio.Tree, d *Delta) {
	d.joinString(&d.Text, m.Str("content"))
	for _, part := range m.Objects("content") {
		d.joinString(&d.Text, part.Str("text"))
		d.joinString(&d.Reasoning, part.Str("thinking"))
		for _, thought := range part.Objects("thinking") {
			d.joinString(&d.Reasoning, thought.Str("text"))
		}
	}
	d.joinString(&d.Text, m.Str("refusal"))
	reasoning := m.Str("reasoning_content")
	if reasoning == "" {
		reasoning = m.Str("reasoning")
	}
	d.joinString(&d.Reasoning, reasoning)
}

// encodeOpenAIOptions writes the fields that follow the prompt.
func encodeOpenAIOptions(b *body, r *llm.Request, q Quirks) {
	if b.flag("stream", r.Stream); r.Stream && !q.NoStreamOptions {
		b.raw("stream_options", `{"include_usage":true}`)
	}
	b.ignoreEOS(r, q)
	b.priority(r)
	b.sampling(r)
}

// adaptOpenAI leaves out each optional key that a refusal names.
func adaptOpenAI(body []byte, q Quirks) (Quirks, bool) {
	was := q
	q.NoStreamOptions = q.NoStreamOptions || names(body, "stream_options", q)
	q.NoIgnoreEOS = q.NoIgnoreEOS || names(body, "ignore_eos", q)
	q.NoGreedy = q.NoGreedy || names(body, "temperature", q)
	return q, q != was
}

// names reports whether a refusal names a key that is ours to change.
func names(body []byte, key string, q Quirks) bool {
	return bytes.Contains(body, []byte(key)) && !q.Extra.Has(key)
}

// openAIFields are the fields of a request that OpenAI's two dialects share.
type openAIFields struct {
	commonFields
	N             *int            `json:"n"`
	Seed          *int64          `json:"seed"`
	Stop          json.RawMessage `json:"stop"`
	IgnoreEOS     bool            `json:"ignore_eos"`
	Metrics       bool            `json:"include_metrics"`
	StreamOptions struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func (f *openAIFields) request() (*llm.Request, ServerOptions, error) {
	o := ServerOptions{
		IncludeUsage:    f.Stream && f.StreamOptions.IncludeUsage,
		ContinuousUsage: f.Stream && f.StreamOptions.ContinuousUsage,
		IncludeMetrics:  f.Metrics,
		IgnoreEOS:       f.IgnoreEOS,
	}
	if f.N != nil && *f.N != 1 {
		return nil, o, fmt.Errorf("n: expected 1, got %d", *f.N)
	}
	r, err := f.commonFields.request()
	if err != nil {
		return nil, o, err
	}
	r.Sampling.Seed = f.Seed
	r.Sampling.Stop, err = parseStrings("stop", f.Stop)
	return r, o, err
}

// openAIForm is how replies of one of OpenAI's dialects are marked.
type openAIForm struct{ id, event, whole string }

const (
	openAIHead  = `{"id":"%r-%b","object":%s,"created":%d,"model":%s,"choices":[`
	openAIUsage = `{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,` +
		`"prompt_tokens_details":{"cached_tokens":%d%r},"completion_tokens_details":{"reasoning_tokens":%d}}`
)

// chunk appends a stream event with the choice that it carries.
func (f openAIForm) chunk(dst []byte, r *Reply, choice string, values ...any) []byte {
	if r.opening == nil {
		r.opening = jsonio.Appendf(nil, "data: "+openAIHead, f.id, r.ID, f.event, r.Created, r.Model)
	}
	dst = append(dst, r.opening...)
	return appendOpenAIEnd(jsonio.Appendf(dst, choice, values...), r, r.ContinuousUsage)
}

// appendOpenAIEnd ends a stream event after its choices.
func appendOpenAIEnd(dst []byte, r *Reply, usage bool) []byte {
	dst = append(dst, ']')
	if usage {
		dst = appendOpenAIUsage(append(dst, `,"usage":`...), r.Usage)
	}
	return append(dst, "}\n\n"...)
}

// end appends what follows the last choice, the way vLLM does: an event of its
// own for usage, if that was asked for, and the closing mark.
func (f openAIForm) end(dst []byte, r *Reply) []byte {
	if r.IncludeUsage {
		dst = jsonio.Appendf(dst, "data: "+openAIHead, f.id, r.ID, f.event, r.Created, r.Model)
		dst = appendOpenAIUsage(append(dst, `],"usage":`...), r.Usage)
		dst = append(appendMetrics(dst, r), "}\n\n"...)
	}
	return append(dst, "data: "+closingMark+"\n\n"...)
}

// reply appends a reply that is not streamed, around what choice writes.
func (f openAIForm) reply(dst []byte, r *Reply, choice func(dst []byte) []byte) []byte {
	dst = jsonio.Appendf(dst, openAIHead, f.id, r.ID, f.whole, r.Created, r.Model)
	dst = appendOpenAIUsage(append(choice(dst), `],"usage":`...), r.Usage)
	return append(appendMetrics(dst, r), '}')
}

func appendOpenAIUsage(dst []byte, u llm.Usage) []byte {
	vision := ""
	if u.VisionTokens > 0 {
		vision = fmt.Sprintf(`,"multimodal_tokens":{"image":%d}`, u.VisionTokens)
	}
	return jsonio.Appendf(dst, openAIUsage, u.PromptTokens, u.PromptTokens+u.OutputTokens, u.OutputTokens, u.CachedTokens, vision, u.ReasoningTokens)
}

// errorForm is how a dialect writes errors: its names for what a status means,
// and the body as a function of status, name and message.
type errorForm struct {
	names map[int]string
	other string
	body  func(dst []byte, status int, name, message string) []byte
}

func (f errorForm) encode(dst []byte, status int, message string) []byte {
	name, ok := f.names[status]
	if !ok {
		name = f.other
	}
	return f.body(dst, status, name, message)
}

// openAIErrors has vLLM's names.
var openAIErrors = errorForm{
	names: map[int]string{
		400: "BadRequestError", 401: "AuthenticationError", 404: "NotFoundError", 422: "UnprocessableEntityError",
		429: "RateLimitError", 503: "ServiceUnavailableError",
	},
	other: "InternalServerError",
	body: func(dst []byte, status int, name, message string) []byte {
		return jsonio.Appendf(dst, `{"error":{"message":%s,"type":%s,"param":null,"code":%d}}`, message, name, status)
	},
}

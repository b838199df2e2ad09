package wire

import (
	"bytes"
	"encoding/json"
	"fmt"

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

func scanOpenAI(s *scan, d *Delta) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "choices":
			if !s.object(&seen, 0) {
				continue
			}
			for ok := s.firstElem(); ok; ok = s.nextElem() {
				scanChoice(s, d)
			}
		case "usage":
			scanOpenAIUsage(s, d)
		default:
			s.other(k)
		}
	}
}

func scanChoice(s *scan, d *Delta) {
	var seen uint
	var text, finish span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "delta":
			if s.object(&seen, 0) {
				scanChatDelta(s, d)
			}
		case "text":
			s.into(&text)
		case "finish_reason":
			s.into(&finish)
		case "message":
			s.fail()
		default:
			s.skip()
		}
	}
	d.join(&d.Text, text)
	d.setFinish(finish)
}

func scanChatDelta(s *scan, d *Delta) {
	var seen uint
	var content, refusal, reasoning, reasoningContent span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "content":
			s.into(&content)
		case "refusal":
			s.into(&refusal)
		case "reasoning_content":
			s.into(&reasoningContent)
		case "reasoning":
			s.into(&reasoning)
		case "tool_calls":
			if !s.object(&seen, 0) {
				continue
			}
			for ok := s.firstElem(); ok; ok = s.nextElem() {
				scanToolCall(s, d)
			}
		case "function_call":
			s.failIf(!s.null())
		default:
			s.skip()
		}
	}
	d.join(&d.Text, content)
	d.join(&d.Text, refusal)
	if len(reasoningContent.raw) == 0 {
		reasoningContent = reasoning
	}
	d.join(&d.Reasoning, reasoningContent)
}

func scanToolCall(s *scan, d *Delta) {
	var seen uint
	var id, name, arguments span
	index := noCall
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "index":
			index = s.count()
		case "id":
			s.into(&id)
		case "function":
			if s.object(&seen, 0) {
				name, arguments = scanFunction(s)
			}
		default:
			s.skip()
		}
	}
	d.piece(index, id, name, arguments)
}

func scanFunction(s *scan) (name, arguments span) {
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "name":
			s.into(&name)
		case "arguments":
			s.into(&arguments)
		default:
			s.skip()
		}
	}
	return name, arguments
}

func scanOpenAIUsage(s *scan, d *Delta) {
	s.failIf(d.HasUsage)
	if s.null() {
		return
	}
	d.HasUsage = true
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "prompt_tokens":
			s.tally(&d.Usage.PromptTokens)
		case "completion_tokens":
			s.tally(&d.Usage.OutputTokens)
		case "prompt_tokens_details":
			s.markSeen(&seen, 0)
			d.Usage.CachedTokens = scanCountIn(s, "cached_tokens")
		case "completion_tokens_details":
			s.markSeen(&seen, 1)
			d.Usage.ReasoningTokens = scanCountIn(s, "reasoning_tokens")
		default:
			s.skip()
		}
	}
}

// scanCountIn reads one count of an object, or null for none.
func scanCountIn(s *scan, key string) (n int) {
	if s.null() {
		return 0
	}
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		if string(k) == key {
			s.tally(&n)
		} else {
			s.skip()
		}
	}
	return n
}

// treeOpenAI reads a stream event or a whole reply.
func treeOpenAI(t tree, d *Delta) {
	for _, c := range t.objects("choices") {
		for _, m := range []tree{c.object("delta"), c.object("message")} {
			treeContent(m, d)
			for _, call := range m.objects("tool_calls") {
				f := call.object("function")
				d.pieceString(call.index("index"), call.str("id"), f.str("name"), f.str("arguments"))
			}
			f := m.object("function_call")
			d.pieceString(noCall, "", f.str("name"), f.str("arguments"))
		}
		d.joinString(&d.Text, c.str("text"))
		d.readFinish(c.str("finish_reason"))
	}
	treeUsage(t, d, "prompt", "completion")
}

// treeUsage reads usage, whose keys begin with one word for what went in and
// another for what came out.
func treeUsage(t tree, d *Delta, in, out string) {
	if u := t.object("usage"); u != nil {
		d.HasUsage = true
		d.Usage = llm.Usage{
			PromptTokens:    u.count(in + "_tokens"),
			CachedTokens:    u.object(in + "_tokens_details").count("cached_tokens"),
			OutputTokens:    u.count(out + "_tokens"),
			ReasoningTokens: u.object(out + "_tokens_details").count("reasoning_tokens"),
		}
	}
}

// treeContent reads a message or its delta. Content may be an array of parts,
// which some servers use to mix thinking with text.
func treeContent(m tree, d *Delta) {
	d.joinString(&d.Text, m.str("content"))
	for _, part := range m.objects("content") {
		d.joinString(&d.Text, part.str("text"))
		d.joinString(&d.Reasoning, part.str("thinking"))
		for _, thought := range part.objects("thinking") {
			d.joinString(&d.Reasoning, thought.str("text"))
		}
	}
	d.joinString(&d.Text, m.str("refusal"))
	reasoning := m.str("reasoning_content")
	if reasoning == "" {
		reasoning = m.str("reasoning")
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
	StreamOptions struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func (f *openAIFields) request() (*llm.Request, ServerOptions, error) {
	o := ServerOptions{
		IncludeUsage:    f.Stream && f.StreamOptions.IncludeUsage,
		ContinuousUsage: f.Stream && f.StreamOptions.ContinuousUsage,
		IgnoreEOS:       f.IgnoreEOS,
	}
	if f.N != nil && *f.N != 1 {
		return nil, o, fmt.Errorf("n: want 1, got %d", *f.N)
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
		`"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":%d}}`
)

// chunk appends a stream event with the choice that it carries.
func (f openAIForm) chunk(dst []byte, r *Reply, choice string, values ...any) []byte {
	if r.opening == nil {
		r.opening = appendf(nil, "data: "+openAIHead, f.id, r.ID, f.event, r.Created, r.Model)
	}
	dst = append(dst, r.opening...)
	return appendOpenAIEnd(appendf(dst, choice, values...), r, r.ContinuousUsage)
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
		dst = appendf(dst, "data: "+openAIHead, f.id, r.ID, f.event, r.Created, r.Model)
		dst = appendOpenAIEnd(dst, r, true)
	}
	return append(dst, "data: "+closingMark+"\n\n"...)
}

// reply appends a reply that is not streamed, around what choice writes.
func (f openAIForm) reply(dst []byte, r *Reply, choice func(dst []byte) []byte) []byte {
	dst = appendf(dst, openAIHead, f.id, r.ID, f.whole, r.Created, r.Model)
	dst = appendOpenAIUsage(append(choice(dst), `],"usage":`...), r.Usage)
	return append(dst, '}')
}

func appendOpenAIUsage(dst []byte, u llm.Usage) []byte {
	return appendf(dst, openAIUsage, u.PromptTokens, u.PromptTokens+u.OutputTokens, u.OutputTokens, u.CachedTokens, u.ReasoningTokens)
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
		return appendf(dst, `{"error":{"message":%s,"type":%s,"param":null,"code":%d}}`, message, name, status)
	},
}

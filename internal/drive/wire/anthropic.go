package wire

import "redline/internal/llm"

// anthropicMessages is Anthropic's messages API.
var anthropicMessages = Dialect{
	Name:    "anthropic-messages",
	Path:    "/v1/messages",
	KeyEnv:  "ANTHROPIC_API_KEY",
	Headers: anthropicHeaders,

	Encode:      encodeAnthropic,
	Adapt:       func(_ []byte, q Quirks) (Quirks, bool) { return q, false },
	Decode:      decodeAnthropic,
	DecodeWhole: func(body []byte, d *Delta) error { return decodeWhole(body, d, treeAnthropicWhole) },
	DecodeError: decodeError,

	ParseRequest:     parseAnthropic,
	Open:             openAnthropic,
	Output:           outputAnthropic,
	Close:            closeAnthropic,
	Whole:            wholeAnthropic,
	EncodeError:      encodeAnthropicError,
	EncodeErrorEvent: encodeAnthropicErrorEvent,
}

func anthropicHeaders(key string) [][2]string {
	headers := [][2]string{{"anthropic-version", "2023-06-01"}}
	if key != "" {
		headers = append(headers, [2]string{"x-api-key", key})
	}
	return headers
}

func encodeAnthropic(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	b.str("model", r.Model)
	messages := r.Messages
	if len(messages) > 0 && messages[0].Role == "system" {
		b.str("system", messages[0].Content)
		messages = messages[1:]
	}
	if b.key("messages") {
		b.dst = appendMessages(b.dst, messages)
	}
	b.int("max_tokens", int64(r.MaxTokens))
	if r.Stream {
		b.raw("stream", "true")
	}
	b.float("temperature", r.Sampling.Temperature)
	b.float("top_p", r.Sampling.TopP)
	b.strs("stop_sequences", r.Sampling.Stop)
	return b.end()
}

func decodeAnthropic(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	if scanAnthropic(&s, d); s.over() && string(name) != "error" {
		return nil
	}
	return decodeTree(name, data, d, treeAnthropic)
}

// scanAnthropic reads any of the stream's events. Their fields never mean two
// things, so the event's type matters only for closing and for errors.
func scanAnthropic(s *scan, d *Delta) {
	var seen uint
	var message, usage anthropicUsage
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "type":
			s.once(&seen, 0)
			kind := s.text()
			s.failIf(kind.escaped || string(kind.raw) == "error")
			d.Done = string(kind.raw) == "message_stop"
		case "delta", "content_block":
			s.once(&seen, 1)
			if !s.null() {
				scanAnthropicBlock(s, d)
			}
		case "message":
			s.once(&seen, 2)
			if !s.null() {
				message = scanAnthropicMessage(s)
			}
		case "usage":
			s.once(&seen, 3)
			usage = scanAnthropicUsage(s)
		case "error", "object":
			s.fail()
		default:
			s.skip()
		}
	}
	message.report(d)
	usage.report(d)
}

func scanAnthropicBlock(s *scan, d *Delta) {
	var seen uint
	var text, thinking, redacted, name, input, finish span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "text":
			s.once(&seen, 0)
			text = s.text()
		case "thinking":
			s.once(&seen, 1)
			thinking = s.text()
		case "data":
			s.once(&seen, 2)
			redacted = s.text()
		case "name":
			s.once(&seen, 3)
			name = s.text()
		case "partial_json":
			s.once(&seen, 4)
			input = s.text()
		case "stop_reason":
			s.once(&seen, 5)
			finish = s.text()
		default:
			s.skip()
		}
	}
	d.join(&d.Text, text)
	d.join(&d.Reasoning, thinking)
	d.join(&d.Reasoning, redacted)
	d.join(&d.Tool, name)
	d.join(&d.Tool, input)
	d.setFinish(finish)
	d.Finish = plainFinish(d.Finish)
}

// scanAnthropicMessage reads the message of message_start, of which only the
// usage matters: its content is always empty.
func scanAnthropicMessage(s *scan) (u anthropicUsage) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		if string(k) != "usage" {
			s.skip()
			continue
		}
		s.once(&seen, 0)
		u = scanAnthropicUsage(s)
	}
	return u
}

type anthropicUsage struct {
	given                                    bool
	input, created, cached, output, thinking int
}

// report adds u to what the event says. The prompt is what was read anew, what
// was written to the cache, and what was found there.
func (u anthropicUsage) report(d *Delta) {
	if !u.given {
		return
	}
	d.HasUsage = true
	MergeUsage(&d.Usage, llm.Usage{
		PromptTokens:    u.input + u.created + u.cached,
		CachedTokens:    u.cached,
		OutputTokens:    u.output,
		ReasoningTokens: u.thinking,
	})
}

func scanAnthropicUsage(s *scan) (u anthropicUsage) {
	if s.null() {
		return u
	}
	u.given = true
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "input_tokens":
			s.once(&seen, 0)
			u.input = s.count()
		case "cache_creation_input_tokens":
			s.once(&seen, 1)
			u.created = s.count()
		case "cache_read_input_tokens":
			s.once(&seen, 2)
			u.cached = s.count()
		case "output_tokens":
			s.once(&seen, 3)
			u.output = s.count()
		case "output_tokens_details":
			s.once(&seen, 4)
			u.thinking = scanCountIn(s, "thinking_tokens")
		default:
			s.skip()
		}
	}
	return u
}

// treeAnthropic reads a stream event.
func treeAnthropic(t tree, d *Delta) {
	d.Done = t.str("type") == "message_stop"
	for _, key := range []string{"delta", "content_block"} {
		b := t.object(key)
		treeAnthropicBlock(b, d)
		d.joinString(&d.Tool, b.str("partial_json"))
		d.readStop(b)
	}
	treeAnthropicUsage(t.object("message")).report(d)
	treeAnthropicUsage(t).report(d)
}

// treeAnthropicWhole reads a reply that was not streamed.
func treeAnthropicWhole(t tree, d *Delta) {
	for _, b := range t.objects("content") {
		treeAnthropicBlock(b, d)
		if input := b.object("input"); len(input) > 0 {
			d.joinString(&d.Tool, compact(input))
		}
	}
	d.readStop(t)
	treeAnthropicUsage(t).report(d)
}

func treeAnthropicBlock(b tree, d *Delta) {
	d.joinString(&d.Text, b.str("text"))
	d.joinString(&d.Reasoning, b.str("thinking"))
	d.joinString(&d.Reasoning, b.str("data"))
	d.joinString(&d.Tool, b.str("name"))
}

func (d *Delta) readStop(t tree) {
	if reason := t.str("stop_reason"); reason != "" {
		d.Finish = plainFinish([]byte(reason))
	}
}

func treeAnthropicUsage(t tree) anthropicUsage {
	u := t.object("usage")
	return anthropicUsage{
		given:    u != nil,
		input:    u.count("input_tokens"),
		created:  u.count("cache_creation_input_tokens"),
		cached:   u.count("cache_read_input_tokens"),
		output:   u.count("output_tokens"),
		thinking: u.object("output_tokens_details").count("thinking_tokens"),
	}
}

// The words that Delta.Finish uses.
var (
	finishStop   = []byte("stop")
	finishLength = []byte("length")
	finishTools  = []byte("tool_calls")
)

// plainFinish gives any server's reason for stopping in OpenAI's words, so that
// nobody behind the dialect has to know more than one.
func plainFinish(reason []byte) []byte {
	switch string(reason) {
	case "end_turn", "stop_sequence", "eos_token", "eos", "word", "completed":
		return finishStop
	case "max_tokens", "limit", "max_output_tokens":
		return finishLength
	case "tool_use":
		return finishTools
	}
	return reason
}

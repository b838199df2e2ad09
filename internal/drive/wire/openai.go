package wire

import (
	"bytes"

	"redline/internal/llm"
)

// OpenAI's two dialects share their options, their usage and their choices, in
// which "text" is one dialect's and "delta" the other's.

func openAIHeaders(key string) [][2]string {
	if key == "" {
		return nil
	}
	return [][2]string{{"Authorization", "Bearer " + key}}
}

func decodeOpenAI(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	if scanOpenAI(&s, d); s.over() && string(name) != "error" {
		return nil
	}
	return decodeTree(name, data, d, treeOpenAI)
}

func decodeWholeOpenAI(body []byte, d *Delta) error {
	return decodeWhole(body, d, treeOpenAI)
}

func scanOpenAI(s *scan, d *Delta) {
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "choices":
			s.once(&seen, 0)
			if s.null() {
				continue
			}
			for ok := s.firstElem(); ok; ok = s.nextElem() {
				scanChoice(s, d)
			}
		case "usage":
			s.once(&seen, 1)
			scanOpenAIUsage(s, d)
		case "error":
			s.once(&seen, 2)
			s.failIf(!s.null())
		case "object", "type":
			kind := s.str()
			s.failIf(kind.escaped || string(kind.raw) == "error")
		default:
			s.skip()
		}
	}
}

func scanChoice(s *scan, d *Delta) {
	var seen uint
	var text, finish span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "delta":
			s.once(&seen, 0)
			if !s.null() {
				scanChatDelta(s, d)
			}
		case "text":
			s.once(&seen, 1)
			text = s.text()
		case "finish_reason":
			s.once(&seen, 2)
			finish = s.text()
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
			s.once(&seen, 0)
			content = s.text()
		case "refusal":
			s.once(&seen, 1)
			refusal = s.text()
		case "reasoning_content":
			s.once(&seen, 2)
			reasoningContent = s.text()
		case "reasoning":
			s.once(&seen, 3)
			reasoning = s.text()
		case "tool_calls":
			s.once(&seen, 4)
			if s.null() {
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
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "function":
			s.once(&seen, 0)
			if !s.null() {
				scanFunction(s, d)
			}
		default:
			s.skip()
		}
	}
}

func scanFunction(s *scan, d *Delta) {
	var seen uint
	var name, arguments span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "name":
			s.once(&seen, 0)
			name = s.text()
		case "arguments":
			s.once(&seen, 1)
			arguments = s.text()
		default:
			s.skip()
		}
	}
	d.join(&d.Tool, name)
	d.join(&d.Tool, arguments)
}

func scanOpenAIUsage(s *scan, d *Delta) {
	if s.null() {
		return
	}
	d.HasUsage = true
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "prompt_tokens":
			s.once(&seen, 0)
			d.Usage.PromptTokens = s.count()
		case "completion_tokens":
			s.once(&seen, 1)
			d.Usage.OutputTokens = s.count()
		case "prompt_tokens_details":
			s.once(&seen, 2)
			d.Usage.CachedTokens = scanCountIn(s, "cached_tokens")
		case "completion_tokens_details":
			s.once(&seen, 3)
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
	var seen uint
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		if string(k) != key {
			s.skip()
			continue
		}
		s.once(&seen, 0)
		n = s.count()
	}
	return n
}

// treeOpenAI reads a stream event or a whole reply.
func treeOpenAI(t tree, d *Delta) {
	for _, c := range t.objects("choices") {
		for _, m := range []tree{c.object("delta"), c.object("message")} {
			treeContent(m, d)
			for _, call := range m.objects("tool_calls") {
				treeFunction(call.object("function"), d)
			}
			treeFunction(m.object("function_call"), d)
		}
		d.joinString(&d.Text, c.str("text"))
		if f := c.str("finish_reason"); f != "" {
			d.Finish = []byte(f)
		}
	}
	if u := t.object("usage"); u != nil {
		d.HasUsage = true
		d.Usage = llm.Usage{
			PromptTokens:    u.count("prompt_tokens"),
			CachedTokens:    u.object("prompt_tokens_details").count("cached_tokens"),
			OutputTokens:    u.count("completion_tokens"),
			ReasoningTokens: u.object("completion_tokens_details").count("reasoning_tokens"),
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

func treeFunction(f tree, d *Delta) {
	d.joinString(&d.Tool, f.str("name"))
	d.joinString(&d.Tool, f.str("arguments"))
}

// encodeOpenAIOptions writes the fields that follow the prompt.
func encodeOpenAIOptions(b *body, r *llm.Request, q Quirks) {
	if r.Stream {
		b.raw("stream", "true")
		if !q.NoStreamOptions {
			b.raw("stream_options", `{"include_usage":true}`)
		}
	}
	if !q.NoIgnoreEOS && !r.Natural {
		b.raw("ignore_eos", "true")
	}
	b.float("temperature", r.Sampling.Temperature)
	b.float("top_p", r.Sampling.TopP)
	if seed := r.Sampling.Seed; seed != nil {
		b.int("seed", *seed)
	}
	b.strs("stop", r.Sampling.Stop)
}

// adaptOpenAI leaves out each optional key that a refusal names.
func adaptOpenAI(body []byte, q Quirks) (Quirks, bool) {
	was := q
	if names(body, "stream_options", q) {
		q.NoStreamOptions = true
	}
	if names(body, "ignore_eos", q) {
		q.NoIgnoreEOS = true
	}
	return q, q != was
}

// schemaOf is the schema that goes along with r, "" where none does.
func schemaOf(r *llm.Request, q Quirks) string {
	if q.NoSchema {
		return ""
	}
	return string(r.Schema)
}

// names reports whether a refusal names a key that is ours to change.
func names(body []byte, key string, q Quirks) bool {
	return bytes.Contains(body, []byte(key)) && !q.Extra.Has(key)
}

package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"redline/internal/llm"
)

// item is one block of a response: a message, a line of thought, or a call.
type item struct {
	part llm.Part
	name string // of the function that is called
	text []byte
}

func parseResponses(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		asked
		Input           json.RawMessage `json:"input"`
		Instructions    string          `json:"instructions"`
		MaxOutputTokens *int            `json:"max_output_tokens"`
		IgnoreEOS       bool            `json:"ignore_eos"`
	}
	none := ServerOptions{}
	if err := parseBody(body, &in); err != nil {
		return nil, none, err
	}
	in.MaxTokens = in.MaxOutputTokens
	r, err := in.request()
	if err != nil {
		return nil, none, err
	}
	if r.Messages, err = parseInput(in.Input); err != nil {
		return nil, none, err
	}
	if in.Instructions != "" {
		r.Messages = append([]llm.Message{{Role: "system", Content: in.Instructions}}, r.Messages...)
	}
	return r, ServerOptions{IncludeUsage: true, IgnoreEOS: in.IgnoreEOS}, nil
}

// parseInput reads a prompt, or messages whose contents are strings or parts.
func parseInput(raw json.RawMessage) ([]llm.Message, error) {
	var prompt *string
	if json.Unmarshal(raw, &prompt) == nil && prompt != nil {
		return []llm.Message{{Role: "user", Content: *prompt}}, nil
	}
	var in []message
	if json.Unmarshal(raw, &in) != nil || len(in) == 0 {
		return nil, errors.New("input: want a string or at least one message")
	}
	var out []llm.Message
	for i, m := range in {
		field := fmt.Sprintf("input[%d].content", i)
		text, err := parseContent(field, m.Content)
		var parts []struct{ Text *string }
		if err != nil && json.Unmarshal(m.Content, &parts) == nil && len(parts) > 0 {
			for _, p := range parts {
				if p.Text == nil {
					return nil, fmt.Errorf("%s: want text parts", field)
				}
				text += *p.Text
			}
			err = nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, llm.Message{Role: m.Role, Content: text})
	}
	return out, nil
}

// appendEvent begins an event; what follows are its fields, each with a comma
// before it, and endEvent.
func (r *Reply) appendEvent(dst []byte, kind string) []byte {
	dst = append(append(dst, "event: "...), kind...)
	dst = appendString(append(dst, "\ndata: {\"type\":"...), kind)
	dst = strconv.AppendInt(append(dst, `,"sequence_number":`...), int64(r.events), 10)
	r.events++
	return dst
}

func endEvent(dst []byte) []byte { return append(dst, "}\n\n"...) }

func openResponses(dst []byte, r *Reply) []byte {
	for _, kind := range []string{"response.created", "response.in_progress"} {
		dst = append(r.appendEvent(dst, kind), `,"response":`...)
		dst = endEvent(appendResponse(dst, r, "in_progress"))
	}
	return dst
}

func outputResponses(dst []byte, r *Reply, part llm.Part, text string) []byte {
	begins := len(r.items) == 0 || r.items[len(r.items)-1].part != part
	if begins {
		dst = r.finishItem(dst)
		r.items = append(r.items, item{part: part})
	}
	call := r.turn(part)
	last := &r.items[len(r.items)-1]
	if call {
		last.name = text
	}
	if begins {
		dst = r.beginItem(dst)
	}
	if call {
		return dst
	}
	last.text = append(last.text, text...)
	dst = r.appendItemEvent(dst, itemWords[part].delta+".delta", part != llm.Tool)
	return endEvent(appendString(append(dst, `,"delta":`...), text))
}

// itemWords are what the events of each part are called.
var itemWords = [...]struct{ delta, content, field string }{
	llm.Text:      {"response.output_text", "output_text", "text"},
	llm.Reasoning: {"response.reasoning_text", "reasoning_text", "text"},
	llm.Tool:      {"response.function_call_arguments", "", "arguments"},
}

// appendItemEvent begins an event about the item that is open, or about its
// one part.
func (r *Reply) appendItemEvent(dst []byte, kind string, inPart bool) []byte {
	n := int64(len(r.items) - 1)
	dst = strconv.AppendInt(append(r.appendEvent(dst, kind), `,"item_id":"item_`...), n, 10)
	dst = strconv.AppendInt(append(dst, `","output_index":`...), n, 10)
	if inPart {
		dst = append(dst, `,"content_index":0`...)
	}
	return dst
}

func (r *Reply) beginItem(dst []byte) []byte {
	n := len(r.items) - 1
	dst = strconv.AppendInt(append(r.appendEvent(dst, "response.output_item.added"), `,"output_index":`...), int64(n), 10)
	dst = endEvent(appendItem(append(dst, `,"item":`...), r, n, "in_progress"))
	if part := r.items[n].part; part != llm.Tool {
		dst = append(r.appendItemEvent(dst, "response.content_part.added", true), `,"part":`...)
		dst = endEvent(appendPart(dst, part, ""))
	}
	return dst
}

// finishItem ends the item that is open, if one is.
func (r *Reply) finishItem(dst []byte) []byte {
	n := len(r.items) - 1
	if n < 0 {
		return dst
	}
	it := r.items[n]
	words := itemWords[it.part]
	dst = r.appendItemEvent(dst, words.delta+".done", it.part != llm.Tool)
	if it.part == llm.Tool {
		dst = appendString(append(dst, `,"name":`...), it.name)
	}
	if it.part == llm.Text {
		dst = append(dst, `,"logprobs":[]`...)
	}
	dst = append(appendString(append(dst, ','), words.field), ':')
	dst = endEvent(appendString(dst, string(it.text)))
	if it.part != llm.Tool {
		dst = append(r.appendItemEvent(dst, "response.content_part.done", true), `,"part":`...)
		dst = endEvent(appendPart(dst, it.part, string(it.text)))
	}
	dst = strconv.AppendInt(append(r.appendEvent(dst, "response.output_item.done"), `,"output_index":`...), int64(n), 10)
	return endEvent(appendItem(append(dst, `,"item":`...), r, n, "completed"))
}

func appendPart(dst []byte, part llm.Part, text string) []byte {
	dst = appendString(append(dst, `{"type":`...), itemWords[part].content)
	dst = appendString(append(dst, `,"text":`...), text)
	if part == llm.Text {
		dst = append(dst, `,"annotations":[]`...)
	}
	return append(dst, '}')
}

// appendItem writes the n-th item. One that is in progress has no content yet.
func appendItem(dst []byte, r *Reply, n int, status string) []byte {
	it := r.items[n]
	dst = strconv.AppendInt(append(dst, `{"id":"item_`...), int64(n), 10)
	dst = appendString(append(dst, `","status":`...), status)
	switch it.part {
	case llm.Tool:
		dst = strconv.AppendInt(append(dst, `,"type":"function_call","call_id":"call_`...), int64(n), 10)
		dst = appendString(append(dst, `","name":`...), it.name)
		dst = appendString(append(dst, `,"arguments":`...), string(it.text))
		return append(dst, '}')
	case llm.Reasoning:
		dst = append(dst, `,"type":"reasoning","summary":[],"content":[`...)
	default:
		dst = append(dst, `,"type":"message","role":"assistant","content":[`...)
	}
	if status != "in_progress" {
		dst = appendPart(dst, it.part, string(it.text))
	}
	return append(dst, "]}"...)
}

// appendResponse writes the response as it stands.
func appendResponse(dst []byte, r *Reply, status string) []byte {
	dst = appendStringBody(append(dst, `{"id":"resp_`...), r.ID)
	dst = strconv.AppendInt(append(dst, `","object":"response","created_at":`...), r.Created, 10)
	dst = appendString(append(dst, `,"model":`...), r.Model)
	dst = appendString(append(dst, `,"status":`...), status)
	dst = append(dst, `,"error":null,"instructions":null,"metadata":{},"tools":[],"tool_choice":"auto","parallel_tool_calls":true`...)
	if status == "incomplete" {
		dst = append(dst, `,"incomplete_details":{"reason":"max_output_tokens"}`...)
	} else {
		dst = append(dst, `,"incomplete_details":null`...)
	}
	dst = append(dst, `,"output":[`...)
	for n := range r.items {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendItem(dst, r, n, "completed")
	}
	dst = append(dst, `],"usage":`...)
	if status == "in_progress" || !r.IncludeUsage {
		return append(dst, "null}"...)
	}
	return append(appendResponsesUsage(dst, r.Usage), '}')
}

func appendResponsesUsage(dst []byte, u llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), int64(u.PromptTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"input_tokens_details":{"cached_tokens":`...), int64(u.CachedTokens), 10)
	dst = strconv.AppendInt(append(dst, `},"output_tokens":`...), int64(u.OutputTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens_details":{"reasoning_tokens":`...), int64(u.ReasoningTokens), 10)
	dst = strconv.AppendInt(append(dst, `},"total_tokens":`...), int64(u.PromptTokens+u.OutputTokens), 10)
	return append(dst, '}')
}

func closeResponses(dst []byte, r *Reply) []byte {
	dst = r.finishItem(dst)
	status := "completed"
	if r.finish() == "length" {
		status = "incomplete"
	}
	dst = append(r.appendEvent(dst, "response."+status), `,"response":`...)
	return endEvent(appendResponse(dst, r, status))
}

func wholeResponses(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	if reasoning != "" {
		r.items = append(r.items, item{part: llm.Reasoning, text: []byte(reasoning)})
	}
	if text != "" {
		r.items = append(r.items, item{part: llm.Text, text: []byte(text)})
	}
	if tool != "" {
		r.turn(llm.Tool)
		name, arguments := cutTool(tool)
		r.items = append(r.items, item{part: llm.Tool, name: name, text: []byte(arguments)})
	}
	status := "completed"
	if r.finish() == "length" {
		status = "incomplete"
	}
	r.IncludeUsage = true
	return appendResponse(dst, r, status)
}

func encodeResponsesErrorEvent(dst []byte, message string) []byte {
	dst = append(dst, "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"param\":null,\"sequence_number\":0,\"message\":"...)
	return endEvent(appendString(dst, message))
}

package wire

import (
	"encoding/json"
	"errors"
	"strconv"

	"redline/internal/llm"
)

func parseAnthropic(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		asked
		System   json.RawMessage `json:"system"`
		Messages []message       `json:"messages"`
		Stop     []string        `json:"stop_sequences"`
	}
	none := ServerOptions{}
	if err := parseBody(body, &in); err != nil {
		return nil, none, err
	}
	r, err := in.request()
	if err != nil {
		return nil, none, err
	}
	if in.MaxTokens == nil {
		return nil, none, errors.New("max_tokens: want the most tokens to generate")
	}
	if r.Messages, err = parseMessages(in.Messages); err != nil {
		return nil, none, err
	}
	system, err := parseContent("system", in.System)
	if err != nil {
		return nil, none, err
	}
	if system != "" {
		r.Messages = append([]llm.Message{{Role: "system", Content: system}}, r.Messages...)
	}
	r.Sampling.Stop = in.Stop
	return r, ServerOptions{IncludeUsage: true}, nil
}

func appendAnthropicUsage(dst []byte, u llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"input_tokens":`...), int64(u.PromptTokens-u.CachedTokens), 10)
	dst = append(dst, `,"cache_creation_input_tokens":0,"cache_read_input_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.CachedTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"output_tokens":`...), int64(u.OutputTokens), 10)
	dst = append(dst, `,"output_tokens_details":{"thinking_tokens":`...)
	dst = strconv.AppendInt(dst, int64(u.ReasoningTokens), 10)
	return append(dst, "}}"...)
}

// appendAnthropicMessage begins a message, up to its content.
func appendAnthropicMessage(dst []byte, r *Reply) []byte {
	dst = appendStringBody(append(dst, `{"id":"msg_`...), r.ID)
	dst = appendString(append(dst, `","type":"message","role":"assistant","model":`...), r.Model)
	return append(dst, `,"content":[`...)
}

func openAnthropic(dst []byte, r *Reply) []byte {
	dst = append(dst, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":"...)
	dst = appendAnthropicMessage(dst, r)
	dst = append(dst, `],"stop_reason":null,"stop_sequence":null,"usage":`...)
	dst = appendAnthropicUsage(dst, r.Usage)
	return append(dst, "}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"...)
}

// outputAnthropic writes a delta into the block of its part. The start of a
// tool's block carries the function's name and is an output by itself.
func outputAnthropic(dst []byte, r *Reply, part llm.Part, text string) []byte {
	begins := r.blocks == 0 || part != r.part
	if begins {
		dst = stopBlock(dst, r)
		r.blocks++
	}
	if r.turn(part); begins {
		dst = startBlock(dst, r, text)
		if part == llm.Tool {
			return dst
		}
	}
	dst = appendBlockEvent(dst, r, "content_block_delta")
	switch part {
	case llm.Tool:
		dst = append(dst, `,"delta":{"type":"input_json_delta","partial_json":`...)
	case llm.Reasoning:
		dst = append(dst, `,"delta":{"type":"thinking_delta","thinking":`...)
	default:
		dst = append(dst, `,"delta":{"type":"text_delta","text":`...)
	}
	return append(appendString(dst, text), "}}\n\n"...)
}

// appendBlockEvent begins an event about the block that is open.
func appendBlockEvent(dst []byte, r *Reply, kind string) []byte {
	dst = append(append(dst, "event: "...), kind...)
	dst = append(append(dst, "\ndata: {\"type\":\""...), kind...)
	return strconv.AppendInt(append(dst, `","index":`...), int64(r.blocks-1), 10)
}

func startBlock(dst []byte, r *Reply, name string) []byte {
	dst = appendBlockEvent(dst, r, "content_block_start")
	switch r.part {
	case llm.Tool:
		dst = appendToolUse(append(dst, `,"content_block":`...), r, name, "{}")
	case llm.Reasoning:
		dst = append(dst, `,"content_block":{"type":"thinking","thinking":"","signature":""}`...)
	default:
		dst = append(dst, `,"content_block":{"type":"text","text":""}`...)
	}
	return append(dst, "}\n\n"...)
}

func appendToolUse(dst []byte, r *Reply, name, input string) []byte {
	dst = strconv.AppendInt(append(dst, `{"type":"tool_use","id":"toolu_`...), int64(r.calls-1), 10)
	dst = appendString(append(dst, `","name":`...), name)
	dst = append(append(dst, `,"input":`...), input...)
	return append(dst, '}')
}

func stopBlock(dst []byte, r *Reply) []byte {
	if r.blocks == 0 {
		return dst
	}
	if r.part == llm.Reasoning {
		dst = appendBlockEvent(dst, r, "content_block_delta")
		dst = append(dst, ",\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}}\n\n"...)
	}
	return append(appendBlockEvent(dst, r, "content_block_stop"), "}\n\n"...)
}

// anthropicFinish gives the reason for stopping in Anthropic's words.
func anthropicFinish(r *Reply) string {
	switch r.finish() {
	case "length":
		return "max_tokens"
	case "tool_calls":
		return "tool_use"
	}
	return "end_turn"
}

func closeAnthropic(dst []byte, r *Reply) []byte {
	dst = stopBlock(dst, r)
	dst = append(dst, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"...)
	dst = appendString(dst, anthropicFinish(r))
	dst = append(dst, `,"stop_sequence":null},"usage":`...)
	dst = appendAnthropicUsage(dst, r.Usage)
	return append(dst, "}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"...)
}

func wholeAnthropic(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	dst = appendAnthropicMessage(dst, r)
	if reasoning != "" {
		dst = appendString(append(dst, `{"type":"thinking","thinking":`...), reasoning)
		dst = append(dst, `,"signature":"c2ln"},`...)
	}
	if text != "" {
		dst = appendString(append(dst, `{"type":"text","text":`...), text)
		dst = append(dst, "},"...)
	}
	if tool != "" {
		r.turn(llm.Tool)
		name, arguments := cutTool(tool)
		dst = append(appendToolUse(dst, r, name, toolInput(arguments)), ',')
	}
	if dst[len(dst)-1] == ',' {
		dst = dst[:len(dst)-1]
	}
	dst = appendString(append(dst, `],"stop_reason":`...), anthropicFinish(r))
	dst = appendAnthropicUsage(append(dst, `,"stop_sequence":null,"usage":`...), r.Usage)
	return append(dst, '}')
}

// toolInput is what stands for a call's arguments where an object must.
func toolInput(arguments string) string {
	if len(arguments) > 0 && json.Valid([]byte(arguments)) {
		return arguments
	}
	if arguments == "" {
		return "{}"
	}
	return string(append(appendString([]byte(`{"text":`), arguments), '}'))
}

// anthropicErrorTypes are Anthropic's names for what a status means.
var anthropicErrorTypes = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	403: "permission_error",
	404: "not_found_error",
	413: "request_too_large",
	422: "invalid_request_error",
	429: "rate_limit_error",
	503: "overloaded_error",
	529: "overloaded_error",
}

func encodeAnthropicError(dst []byte, status int, message string) []byte {
	kind, ok := anthropicErrorTypes[status]
	if !ok {
		kind = "api_error"
	}
	dst = appendString(append(dst, `{"type":"error","error":{"type":`...), kind)
	dst = appendString(append(dst, `,"message":`...), message)
	return append(dst, "}}"...)
}

func encodeAnthropicErrorEvent(dst []byte, message string) []byte {
	dst = encodeAnthropicError(append(dst, "event: error\ndata: "...), 500, message)
	return append(dst, "\n\n"...)
}

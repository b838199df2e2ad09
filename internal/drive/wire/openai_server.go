package wire

import (
	"encoding/json"
	"fmt"
	"strconv"

	"redline/internal/llm"
)

// openAIAsked holds the fields that OpenAI's two dialects share.
type openAIAsked struct {
	asked
	N             *int            `json:"n"`
	Seed          *int64          `json:"seed"`
	Stop          json.RawMessage `json:"stop"`
	IgnoreEOS     bool            `json:"ignore_eos"`
	StreamOptions struct {
		IncludeUsage    bool `json:"include_usage"`
		ContinuousUsage bool `json:"continuous_usage_stats"`
	} `json:"stream_options"`
}

func (a *openAIAsked) request() (*llm.Request, ServerOptions, error) {
	if a.N != nil && *a.N != 1 {
		return nil, ServerOptions{}, fmt.Errorf("n: want 1, got %d", *a.N)
	}
	r, err := a.asked.request()
	if err != nil {
		return nil, ServerOptions{}, err
	}
	r.Sampling.Seed = a.Seed
	r.Sampling.Stop, err = parseStrings("stop", a.Stop)
	return r, ServerOptions{
		IncludeUsage:    a.Stream && a.StreamOptions.IncludeUsage,
		ContinuousUsage: a.Stream && a.StreamOptions.ContinuousUsage,
		IgnoreEOS:       a.IgnoreEOS,
	}, err
}

// appendChunkHead begins the object of a stream event or of a whole reply, up
// to its choices.
func appendChunkHead(dst []byte, r *Reply, prefix, object string) []byte {
	dst = append(append(append(dst, `{"id":"`...), prefix...), '-')
	dst = appendStringBody(dst, r.ID)
	dst = appendString(append(dst, `","object":`...), object)
	dst = strconv.AppendInt(append(dst, `,"created":`...), r.Created, 10)
	dst = appendString(append(dst, `,"model":`...), r.Model)
	return append(dst, `,"choices":[`...)
}

// appendChunkTail ends a stream event after its choices.
func appendChunkTail(dst []byte, r *Reply, withUsage bool) []byte {
	dst = append(dst, ']')
	if withUsage {
		dst = appendOpenAIUsage(append(dst, `,"usage":`...), r.Usage)
	}
	return append(dst, "}\n\n"...)
}

// appendClosing ends a stream, after its last choice, the way vLLM does: with
// an event of its own for usage, if that was asked for, and the closing mark.
func appendClosing(dst []byte, r *Reply, prefix, object string) []byte {
	if r.IncludeUsage {
		dst = appendChunkHead(append(dst, "data: "...), r, prefix, object)
		dst = appendChunkTail(dst, r, true)
	}
	return append(dst, "data: "+closingMark+"\n\n"...)
}

// openAIErrorTypes are vLLM's names for what a status means.
var openAIErrorTypes = map[int]string{
	400: "BadRequestError",
	401: "AuthenticationError",
	404: "NotFoundError",
	422: "UnprocessableEntityError",
	429: "RateLimitError",
	503: "ServiceUnavailableError",
}

func encodeOpenAIError(dst []byte, status int, message string) []byte {
	kind, ok := openAIErrorTypes[status]
	if !ok {
		kind = "InternalServerError"
	}
	dst = appendString(append(dst, `{"error":{"message":`...), message)
	dst = appendString(append(dst, `,"type":`...), kind)
	dst = append(dst, `,"param":null,"code":`...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	return append(dst, "}}"...)
}

func encodeOpenAIErrorEvent(dst []byte, message string) []byte {
	dst = encodeOpenAIError(append(dst, "data: "...), 500, message)
	return append(dst, "\n\n"...)
}

func appendOpenAIUsage(dst []byte, u llm.Usage) []byte {
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), int64(u.PromptTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), int64(u.PromptTokens+u.OutputTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), int64(u.OutputTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), int64(u.CachedTokens), 10)
	dst = strconv.AppendInt(append(dst, `},"completion_tokens_details":{"reasoning_tokens":`...), int64(u.ReasoningTokens), 10)
	return append(dst, "}}"...)
}

package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"redline/internal/llm"
)

// llamaCppCompletion is the own API of llama.cpp's server. The event whose stop
// is true closes the stream.
var llamaCppCompletion = Dialect{
	Name:     "llamacpp-completion",
	Path:     "/completion",
	KeyEnv:   "LLAMA_API_KEY",
	Schemas:  true,
	TextOnly: true,
	Headers:  openAIHeaders,

	Encode:      encodeLlamaCpp,
	Adapt:       adaptNothing,
	Decode:      decodeLlamaCpp,
	DecodeWhole: func(body []byte, d *Delta) error { return decodeWhole(body, d, treeLlamaCpp) },
	DecodeError: decodeError,

	ParseRequest:     parseLlamaCpp,
	Open:             openNothing,
	Output:           outputLlamaCpp,
	Close:            closeLlamaCpp,
	Whole:            wholeLlamaCpp,
	EncodeError:      encodeLlamaCppError,
	EncodeErrorEvent: encodeLlamaCppErrorEvent,
}

func encodeLlamaCpp(dst []byte, r *llm.Request, q Quirks) []byte {
	b := newBody(dst, q)
	if b.key("prompt") {
		b.dst = appendPrompt(b.dst, r.Messages)
	}
	if r.MaxTokens > 0 {
		b.int("n_predict", int64(r.MaxTokens))
	}
	if r.Stream {
		b.raw("stream", "true")
	}
	if !q.NoIgnoreEOS && !r.Natural {
		b.raw("ignore_eos", "true")
	}
	encodeSampling(&b, r)
	if schema := schemaOf(r, q); schema != "" {
		b.raw("json_schema", schema)
	}
	return b.end()
}

func decodeLlamaCpp(name, data []byte, d *Delta) error {
	if data = d.begin(data); data == nil {
		return nil
	}
	s := scan{b: data}
	if scanLlamaCpp(&s, d); s.over() && string(name) != "error" {
		return nil
	}
	return decodeTree(name, data, d, treeLlamaCpp)
}

func scanLlamaCpp(s *scan, d *Delta) {
	var seen uint
	var text, finish span
	for k := s.firstKey(); k != nil; k = s.nextKey() {
		switch string(k) {
		case "content":
			s.once(&seen, 0)
			text = s.text()
		case "stop":
			s.once(&seen, 1)
			d.Done = s.flag()
		case "stop_type":
			s.once(&seen, 2)
			finish = s.text()
		case "tokens_evaluated":
			s.once(&seen, 3)
			d.Usage.PromptTokens, d.HasUsage = s.count(), true
		case "tokens_predicted":
			s.once(&seen, 4)
			d.Usage.OutputTokens, d.HasUsage = s.count(), true
		case "timings":
			s.once(&seen, 5)
			d.Usage.CachedTokens = scanCountIn(s, "cache_n")
		case "stopped_limit", "stopped_eos", "stopped_word":
			s.fail()
		default:
			s.other(k)
		}
	}
	d.join(&d.Text, text)
	d.setFinish(finish)
	d.Finish = llamaCppFinish(d.Finish)
}

func llamaCppFinish(reason []byte) []byte {
	if string(reason) == "none" {
		return nil
	}
	return plainFinish(reason)
}

// treeLlamaCpp reads a stream event or a whole reply. Older servers say why
// they stopped in flags.
func treeLlamaCpp(t tree, d *Delta) {
	d.joinString(&d.Text, t.str("content"))
	d.Done = t.flag("stop")
	d.HasUsage = t.has("tokens_evaluated") || t.has("tokens_predicted")
	d.Usage = llm.Usage{PromptTokens: t.count("tokens_evaluated"), OutputTokens: t.count("tokens_predicted"),
		CachedTokens: t.object("timings").count("cache_n")}
	switch reason := t.str("stop_type"); {
	case reason != "":
		d.Finish = llamaCppFinish([]byte(reason))
	case t.flag("stopped_limit"):
		d.Finish = finishLength
	case t.flag("stopped_eos"), t.flag("stopped_word"):
		d.Finish = finishStop
	}
}

func parseLlamaCpp(body []byte) (*llm.Request, ServerOptions, error) {
	var in struct {
		Prompt      json.RawMessage `json:"prompt"`
		NPredict    *int            `json:"n_predict"`
		Stream      bool            `json:"stream"`
		IgnoreEOS   bool            `json:"ignore_eos"`
		Temperature *float64        `json:"temperature"`
		TopP        *float64        `json:"top_p"`
		Seed        *int64          `json:"seed"`
		Stop        []string        `json:"stop"`
	}
	none := ServerOptions{}
	if err := parseBody(body, &in); err != nil {
		return nil, none, err
	}
	prompt, err := parseStrings("prompt", in.Prompt)
	if err != nil {
		return nil, none, err
	}
	if len(prompt) != 1 {
		return nil, none, fmt.Errorf("prompt: want one string, got %d", len(prompt))
	}
	if in.NPredict != nil && *in.NPredict < 0 {
		in.NPredict = nil // -1 leaves the end to the model
	}
	shared := asked{MaxTokens: in.NPredict, Stream: in.Stream, Temperature: in.Temperature, TopP: in.TopP}
	r, err := shared.request()
	if err != nil {
		return nil, none, err
	}
	r.Messages = []llm.Message{{Role: "user", Content: prompt[0]}}
	r.Sampling.Seed, r.Sampling.Stop = in.Seed, in.Stop
	return r, ServerOptions{IncludeUsage: true, ContinuousUsage: in.Stream, IgnoreEOS: in.IgnoreEOS}, nil
}

func outputLlamaCpp(dst []byte, r *Reply, _ llm.Part, text string) []byte {
	dst = appendString(append(dst, `data: {"index":0,"content":`...), text)
	dst = append(dst, `,"tokens":[1],"stop":false,"id_slot":0`...)
	if r.ContinuousUsage {
		dst = appendLlamaCppUsage(dst, r)
	}
	return append(dst, "}\n\n"...)
}

func closeLlamaCpp(dst []byte, r *Reply) []byte {
	dst = appendLlamaCppLast(append(dst, "data: "...), r, "", r.IncludeUsage || r.ContinuousUsage)
	return append(dst, "\n\n"...)
}

func wholeLlamaCpp(dst []byte, r *Reply, text, reasoning, tool string) []byte {
	return appendLlamaCppLast(dst, r, reasoning+text+tool, true)
}

func appendLlamaCppUsage(dst []byte, r *Reply) []byte {
	dst = strconv.AppendInt(append(dst, `,"tokens_predicted":`...), int64(r.Usage.OutputTokens), 10)
	return strconv.AppendInt(append(dst, `,"tokens_evaluated":`...), int64(r.Usage.PromptTokens), 10)
}

func appendLlamaCppLast(dst []byte, r *Reply, text string, usage bool) []byte {
	dst = appendString(append(dst, `{"index":0,"content":`...), text)
	dst = appendString(append(dst, `,"tokens":[],"id_slot":0,"stop":true,"model":`...), r.Model)
	if usage {
		dst = appendLlamaCppUsage(dst, r)
	}
	reason := "eos"
	if r.textFinish() == "length" {
		reason = "limit"
	}
	dst = appendString(append(dst, `,"has_new_line":false,"truncated":false,"stop_type":`...), reason)
	dst = append(dst, `,"stopping_word":""`...)
	if usage {
		dst = appendLlamaCppTimings(dst, r)
	}
	return append(dst, '}')
}

// appendLlamaCppTimings tells what was computed: a prompt's cached part was not.
func appendLlamaCppTimings(dst []byte, r *Reply) []byte {
	u := r.Usage
	dst = strconv.AppendInt(append(dst, `,"timings":{"cache_n":`...), int64(u.CachedTokens), 10)
	dst = strconv.AppendInt(append(dst, `,"prompt_n":`...), int64(u.PromptTokens-u.CachedTokens), 10)
	dst = appendMilliseconds(append(dst, `,"prompt_ms":`...), r.Prefill)
	dst = strconv.AppendInt(append(dst, `,"predicted_n":`...), int64(u.OutputTokens), 10)
	dst = appendMilliseconds(append(dst, `,"predicted_ms":`...), r.Decode)
	return append(dst, '}')
}

func appendMilliseconds(dst []byte, d time.Duration) []byte {
	return strconv.AppendFloat(dst, float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

// llamaCppErrorTypes are the server's names for what a status means.
var llamaCppErrorTypes = map[int]string{
	400: "invalid_request_error",
	401: "authentication_error",
	403: "permission_error",
	404: "not_found_error",
	501: "not_supported_error",
	503: "unavailable_error",
}

func encodeLlamaCppError(dst []byte, status int, message string) []byte {
	kind, ok := llamaCppErrorTypes[status]
	if !ok {
		kind = "server_error"
	}
	dst = strconv.AppendInt(append(dst, `{"error":{"code":`...), int64(status), 10)
	dst = appendString(append(dst, `,"message":`...), message)
	return append(appendString(append(dst, `,"type":`...), kind), "}}"...)
}

func encodeLlamaCppErrorEvent(dst []byte, message string) []byte {
	return append(encodeLlamaCppError(append(dst, "data: "...), 500, message), "\n\n"...)
}

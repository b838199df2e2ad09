package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"redline/internal/llm"
	"redline/internal/text"
)

// formatFields are what a request's body says of the form of its reply.
type formatFields struct {
	Type       string    `json:"type"`
	JSONSchema *formatIn `json:"json_schema"`
	formatIn
}

type formatIn struct {
	Name   string   `json:"name"`
	Strict bool     `json:"strict"`
	Schema llm.JSON `json:"schema"`
}

// format is the server's half of body.format.
func (f *formatFields) format() *llm.Format {
	in := f.formatIn
	if f.JSONSchema != nil {
		in = *f.JSONSchema
	}
	if f.Type != "json_object" && in.Schema == nil {
		return nil
	}
	return &llm.Format{Schema: in.Schema, Name: in.Name, Strict: in.Strict}
}

// formatIf is the form of replies that a schema makes, nil where there is none.
func formatIf(schema llm.JSON) *llm.Format {
	if len(schema) == 0 {
		return nil
	}
	return &llm.Format{Schema: schema}
}

// parseStrings reads one string or an array of them.
func parseStrings(field string, raw json.RawMessage) ([]string, error) {
	var one *string
	if len(raw) == 0 {
		return nil, nil
	}
	if json.Unmarshal(raw, &one) == nil {
		if one == nil {
			return nil, nil
		}
		return []string{*one}, nil
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil, fmt.Errorf("%s: expected a string or an array of strings", field)
	}
	return many, nil
}

// readPrompt reads a prompt that is a list of token ids, or what parse reads.
func readPrompt(r *llm.Request, raw json.RawMessage, parse func(json.RawMessage) ([]llm.Message, error)) (err error) {
	if json.Unmarshal(raw, &r.PromptIDs) == nil && len(r.PromptIDs) > 0 {
		return nil
	}
	r.PromptIDs = nil
	r.Messages, err = parse(raw)
	return err
}

// parsePrompt reads a prompt that is one string, or an array of one.
func parsePrompt(raw json.RawMessage) ([]llm.Message, error) {
	prompt, err := parseStrings("prompt", raw)
	if err != nil {
		return nil, err
	}
	if len(prompt) != 1 {
		return nil, fmt.Errorf("prompt: expected one string, got %d", len(prompt))
	}
	return []llm.Message{{Role: "user", Content: prompt[0]}}, nil
}

// parseText takes a prompt that is a string and has to be there.
func parseText(field string, text *string) ([]llm.Message, error) {
	if text == nil {
		return nil, fmt.Errorf("%s: expected the text to continue", field)
	}
	return []llm.Message{{Role: "user", Content: *text}}, nil
}

// commonFields are those that most request bodies share.
type commonFields struct {
	Model       string   `json:"model"`
	MaxTokens   *int     `json:"max_tokens"`
	Stream      bool     `json:"stream"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Priority    *int     `json:"priority"`
}

func (f *commonFields) request() (*llm.Request, error) {
	r := &llm.Request{Model: f.Model, Stream: f.Stream, Priority: f.Priority}
	r.Sampling.Temperature, r.Sampling.TopP = f.Temperature, f.TopP
	if f.MaxTokens != nil {
		r.MaxTokens = *f.MaxTokens
		if r.MaxTokens < 1 {
			return nil, fmt.Errorf("max_tokens: must be at least 1, got %d", r.MaxTokens)
		}
	}
	if t := f.Temperature; t != nil && *t < 0 {
		return nil, fmt.Errorf("temperature: must be 0 or more, got %g", *t)
	}
	if p := f.TopP; p != nil && (*p <= 0 || *p > 1) {
		return nil, fmt.Errorf("top_p: must be more than 0 and at most 1, got %g", *p)
	}
	return r, nil
}

// knobs are the sampling settings of the engines' own dialects.
type knobs struct {
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
	Seed        *int64   `json:"seed"`
	Stop        []string `json:"stop"`
	IgnoreEOS   bool     `json:"ignore_eos"`
}

// request makes a request of the knobs, which stand in the named object, of the
// prompt, and of the most tokens to generate.
func (k *knobs) request(within string, messages []llm.Message, limit *int, stream bool) (*llm.Request, error) {
	f := commonFields{MaxTokens: limit, Stream: stream, Temperature: k.Temperature, TopP: k.TopP}
	r, err := f.request()
	if err != nil {
		return nil, fmt.Errorf("%s%w", within, err)
	}
	r.Messages, r.Sampling.Seed, r.Sampling.Stop = messages, k.Seed, k.Stop
	return r, nil
}

// dropNegative takes a limit below 0, which leaves the end to the model, for none.
func dropNegative(limit *int) *int {
	if limit != nil && *limit < 0 {
		return nil
	}
	return limit
}

// parse reads a request body as T, which makes a request of it.
func parse[T any, P interface {
	*T
	request() (*llm.Request, ServerOptions, error)
}](body []byte) (*llm.Request, ServerOptions, error) {
	in := new(T)
	if err := parseBody(body, in); err != nil {
		return nil, ServerOptions{}, err
	}
	return P(in).request()
}

// sharedFields leaves out the structs that hold fields for several dialects.
var sharedFields = strings.NewReplacer("openAIFields.", "", "ollamaFields.", "", "commonFields.", "", "toolFields.", "", "formatIn.", "", "knobs.", "")

// parseBody reads a request body into v and names the field that is wrong, as
// the client knows it: without the structs that hold the shared fields.
func parseBody(body []byte, v any) error {
	err := json.Unmarshal(body, v)
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		wrong.Field = cmp.Or(sharedFields.Replace(wrong.Field), "body")
		return errors.New(text.Mismatch(wrong))
	case errors.As(err, &syntax):
		return fmt.Errorf("body is not valid JSON at byte %d: %w", syntax.Offset, err)
	}
	return fmt.Errorf("body: %w", err)
}

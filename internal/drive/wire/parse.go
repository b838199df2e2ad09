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

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// parseContent reads a message's content: a string, or an array of text parts
// whose texts are put together. null is the empty string.
func parseContent(field string, raw json.RawMessage) (string, error) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", fmt.Errorf("%s: want a string or an array of text parts", field)
	}
	var text strings.Builder
	for i, p := range parts {
		if p.Type != "text" || p.Text == nil {
			return "", fmt.Errorf(`%s[%d]: want a part of type "text" with its text, got type %q`, field, i, p.Type)
		}
		text.WriteString(*p.Text)
	}
	return text.String(), nil
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
		return nil, fmt.Errorf("%s: want a string or an array of strings", field)
	}
	return many, nil
}

// asked holds the fields that all request bodies share.
type asked struct {
	Model       string   `json:"model"`
	MaxTokens   *int     `json:"max_tokens"`
	Stream      bool     `json:"stream"`
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"top_p"`
}

func (a *asked) request() (*llm.Request, error) {
	r := &llm.Request{Model: a.Model, Stream: a.Stream}
	r.Sampling.Temperature, r.Sampling.TopP = a.Temperature, a.TopP
	if a.MaxTokens != nil {
		r.MaxTokens = *a.MaxTokens
		if r.MaxTokens < 1 {
			return nil, fmt.Errorf("max_tokens: want at least 1, got %d", r.MaxTokens)
		}
	}
	if t := a.Temperature; t != nil && *t < 0 {
		return nil, fmt.Errorf("temperature: want 0 or more, got %g", *t)
	}
	if p := a.TopP; p != nil && (*p <= 0 || *p > 1) {
		return nil, fmt.Errorf("top_p: want more than 0 and at most 1, got %g", *p)
	}
	return r, nil
}

func parseMessages(in []message) ([]llm.Message, error) {
	if len(in) == 0 {
		return nil, errors.New("messages: want at least one message")
	}
	out := make([]llm.Message, len(in))
	for i, m := range in {
		if m.Role == "" {
			return nil, fmt.Errorf("messages[%d].role: want a role such as \"user\"", i)
		}
		text, err := parseContent(fmt.Sprintf("messages[%d].content", i), m.Content)
		if err != nil {
			return nil, err
		}
		out[i] = llm.Message{Role: m.Role, Content: text}
	}
	return out, nil
}

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
		wrong.Field = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(wrong.Field, "openAIAsked."), "asked."), "body")
		return errors.New(text.Mismatch(wrong))
	case errors.As(err, &syntax):
		return fmt.Errorf("body is not valid JSON at byte %d: %w", syntax.Offset, err)
	}
	return fmt.Errorf("body: %w", err)
}

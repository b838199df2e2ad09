package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// errNoTokenize says that a server does not count tokens for others.
var errNoTokenize = errors.New("the server has no /tokenize that is understood; give a tokenizer.json or an embedded vocabulary")

// Tokenizer finds which of the bodies the server wants at /tokenize, and gives a
// function that counts the tokens of texts there.
func (c *Client) Tokenizer(ctx context.Context, model string, bodies []func(model, text string) any) (func(texts []string) ([]int, error), error) {
	var last error
	for _, form := range bodies {
		count := func(text string) (int, error) {
			body, err := json.Marshal(form(model, text))
			if err != nil {
				return 0, err
			}
			reply, err := c.call(ctx, http.MethodPost, "/tokenize", body)
			if err != nil {
				return 0, err
			}
			return tokensIn(reply)
		}
		// Two words have at least two tokens: a form that is not understood
		// may still be answered, with none.
		n, err := count("two words")
		if err != nil {
			last = err
		}
		if err != nil || n < 2 {
			continue
		}
		return func(texts []string) ([]int, error) {
			counts := make([]int, len(texts))
			var err error
			for i, text := range texts {
				if counts[i], err = count(text); err != nil {
					return nil, err
				}
			}
			return counts, nil
		}, nil
	}
	if last != nil {
		return nil, fmt.Errorf("%w (%v)", errNoTokenize, last)
	}
	return nil, errNoTokenize
}

// tokensIn counts the tokens of an answer: a list of them, or an object with a
// count or a list.
func tokensIn(reply []byte) (int, error) {
	if bytes.HasPrefix(bytes.TrimSpace(reply), []byte("[")) {
		var list []json.RawMessage
		err := json.Unmarshal(reply, &list)
		return len(list), err
	}
	var answer struct {
		Count  *int              `json:"count"`
		Tokens []json.RawMessage `json:"tokens"`
	}
	if err := json.Unmarshal(reply, &answer); err != nil {
		return 0, err
	}
	if answer.Count != nil {
		return *answer.Count, nil
	}
	return len(answer.Tokens), nil
}

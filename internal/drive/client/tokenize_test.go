package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"redline/internal/must"
	known "redline/internal/observe/engine"
)

// TestTokenizer: three engines want to be asked in three ways, and one that has
// no such page says so.
func TestTokenizer(t *testing.T) {
	words := func(text string) []int { return make([]int, len(strings.Fields(text))) }
	for name, tc := range map[string]struct {
		key    string
		answer func(tokens []int) any
		fails  bool
	}{
		"vLLM":      {"prompt", func(tokens []int) any { return map[string]any{"count": len(tokens), "tokens": tokens} }, false},
		"llama.cpp": {"content", func(tokens []int) any { return map[string]any{"tokens": tokens} }, false},
		"TGI":       {"inputs", func(tokens []int) any { return tokens }, false},
		"none":      {"", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body map[string]any
				_ = json.NewDecoder(r.Body).Decode(&body)
				text, ok := body[tc.key].(string)
				if r.URL.Path != "/tokenize" || r.Method != http.MethodPost || !ok {
					http.Error(w, "no", http.StatusUnprocessableEntity)
					return
				}
				_ = json.NewEncoder(w).Encode(tc.answer(words(text)))
			}))
			t.Cleanup(server.Close)
			c := newClient(t, Spec{}, server.URL)
			count, err := c.Tokenizer(t.Context(), "m", known.TokenizeBodies())
			if tc.fails {
				if err == nil {
					t.Fatal("a server without /tokenize counts tokens")
				}
				return
			}
			must.Do(t, err)
			got := must.Get(count([]string{"one", "one two three"}))(t)
			equal(t, "counts", got, []int{1, 3})
		})
	}
}

package main

import (
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := encode("cl100k_base", strings.NewReader("\"tiktoken is great!\"\n\"\"\n"), &out); err != nil {
		t.Fatal(err)
	}
	// OpenAI's cookbook shows this text with these ids.
	if want := "[83,1609,5963,374,2294,0]\n[]\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string]string{"no-such-file": "", "o200k_base": "not JSON"} {
		if err := encode(name, strings.NewReader(texts), new(strings.Builder)); err == nil {
			t.Errorf("%s with %q: want an error", name, texts)
		}
	}
}

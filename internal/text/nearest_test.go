package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"rate", "requests", "duration", "long_context_qa", "H100"}
	for _, tt := range []struct{ word, want string }{
		{"raet", "rate"},
		{"RATE", "rate"},
		{"reqests", "requests"},
		{"dur", "duration"},
		{"long_context", "long_context_qa"},
		{"H1000", "H100"},
		{"q", ""},
		{"banana", ""},
		{"", ""},
		{strings.Repeat("rate", 100), ""},
	} {
		if got := Nearest(tt.word, known); got != tt.want {
			t.Errorf("Nearest(%q) is %q, want %q", tt.word, got, tt.want)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3},
		{"ab", "ba", 1}, {"abcd", "acbd", 1}, {"flaw", "lawn", 2},
	} {
		if got := edits(tt.a, tt.b); got != tt.want {
			t.Errorf("edits(%q, %q) is %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := edits(tt.b, tt.a); got != tt.want {
			t.Errorf("edits(%q, %q) is %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestHint(t *testing.T) {
	if got := Hint("raet", []string{"rate"}); got != "did you mean rate?" {
		t.Errorf("hint is %q", got)
	}
	if got := Cure("raet", []string{"rate"}); got != "did you mean rate?" {
		t.Errorf("cure is %q", got)
	}
	if got := Cure("xyz", []string{"rate", "seed"}); got != "expected one of rate, seed" {
		t.Errorf("cure is %q", got)
	}
	if got := HintWithKnown("raet", []string{"rate", "seed"}); got != "did you mean rate? known: rate, seed" {
		t.Errorf("known is %q", got)
	}
	if got := Hint("xyz", []string{"rate"}); got != "" {
		t.Errorf("hint is %q, but nothing is near", got)
	}
}

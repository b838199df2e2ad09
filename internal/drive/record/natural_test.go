package record

import (
	"testing"

	"redline/internal/llm"
)

// TestShort: a reply that ended by itself is of no wrong length.
func TestShort(t *testing.T) {
	for _, tc := range []struct {
		name string
		r    Record
		want bool
	}{
		{"as asked", Record{Outcome: llm.OK, AskedOutput: 5, OutputTokens: 5}, false},
		{"shorter", Record{Outcome: llm.OK, AskedOutput: 5, OutputTokens: 4}, true},
		{"longer", Record{Outcome: llm.OK, AskedOutput: 5, OutputTokens: 6}, true},
		{"ended by itself", Record{Outcome: llm.OK, AskedOutput: 5, OutputTokens: 4, Natural: true}, false},
		{"nothing asked", Record{Outcome: llm.OK, OutputTokens: 4}, false},
		{"failed", Record{Outcome: llm.Reset, AskedOutput: 5, OutputTokens: 4}, false},
	} {
		if got := tc.r.Short(); got != tc.want {
			t.Errorf("%s: short %v, want %v", tc.name, got, tc.want)
		}
	}
}

// TestShift moves what is known and leaves what is not; what is known stays so.
func TestShift(t *testing.T) {
	r := Record{Due: 10, Sent: 20}
	r.Shift(5)
	if r.Due != 15 || r.Sent != 25 || r.First != 0 {
		t.Errorf("due %d, sent %d, first %d; want 15, 25 and none", r.Due, r.Sent, r.First)
	}
	r.Shift(-15)
	if r.Due != 1 || r.Sent != 10 || r.First != 0 {
		t.Errorf("due %d, sent %d, first %d; want 1, 10 and none", r.Due, r.Sent, r.First)
	}
}

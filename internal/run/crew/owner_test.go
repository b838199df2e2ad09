package crew

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
)

// TestNobodyElseIsObeyed: a conductor that was away for so long that another has
// its worker cannot take it back, nor end what it does.
func TestNobodyElseIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{Clock: clock.Virtual()}
		ask := func(q Question) string { return w.Answer(t.Context(), q).Refused }
		if got := ask(Question{From: "one", Clock: true}); !strings.Contains(got, "released") {
			t.Errorf("nobody's worker says %q", got)
		}
		for _, q := range []Question{{Claim: "one"}, {From: "one", Clock: true}, {Claim: "one"}} {
			if got := ask(q); got != "" {
				t.Errorf("%+v: %q", q, got)
			}
		}
		time.Sleep(silence - time.Second)
		if got := ask(Question{Claim: "two"}); got != "it works for one" || w.Free() {
			t.Errorf("a second claim: %q", got)
		}
		time.Sleep(2 * time.Second) // a claim that was refused is no word of its conductor
		if got := ask(Question{Claim: "two"}); got != "" {
			t.Errorf("a claim after a silence: %q", got)
		}
		for _, q := range []Question{{From: "one", Clock: true}, {From: "one", Release: true}, {Clock: true}} {
			if got := ask(q); got != "it works for two" {
				t.Errorf("%+v: %q", q, got)
			}
		}
		if got := ask(Question{From: "two", Release: true}); got != "" || !w.Free() {
			t.Errorf("released: %q, free %v", got, w.Free())
		}
	})
}

// TestIdleWorkersStayClaimed: stages may lie minutes apart.
func TestIdleWorkersStayClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{Clock: clock.Virtual()}
		l := &wire{hello: Hello{ID: "0", Name: "w0"}, worker: w}
		if a := w.Answer(t.Context(), Question{Claim: "one"}); a.Refused != "" {
			t.Fatal(a.Refused)
		}
		c := New("one", []Link{l}, &memory{})
		time.Sleep(10 * silence)
		if w.Free() {
			t.Error("it is free although its conductor is there")
		}
		c.Release()
		if !w.Free() {
			t.Error("it is not free although it was released")
		}
	})
}

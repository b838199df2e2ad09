package validity

import (
	"slices"
	"testing"

	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
)

// Accounts of the same tokens that disagree fail the run where it is known who
// is right, and are listed as unchecked where it is not.
func TestTokenCounts(t *testing.T) {
	t.Parallel()
	// usage, events and tokens by the tokenizer, in 20 replies; spread between
	// replies in percent.
	check := func(usage, events, local, scatter int64) *metric.TokenCheck {
		c := &metric.TokenCheck{Replies: 20, Usage: usage, Local: local, Events: events, EventsCounted: events, LocalByEvent: local}
		if usage > 0 {
			c.ByUsage, c.Scatter = 20, ptr(float64(scatter)/100)
		}
		if usage == events {
			c.EventsAgree = 20
		}
		return c
	}
	for _, tt := range []struct {
		name  string
		check *metric.TokenCheck
		own   bool
		want  string // ok, failed or unchecked
		ttft  bool   // the failure touches ttft
	}{
		{"all agree", check(2000, 2000, 2000, 0), true, "ok", false},
		{"usage 50% more, the model's tokenizer", check(3000, 2000, 2000, 0), true, "failed", true},
		{"usage 50% more, one token an event by any tokenizer", check(3000, 2000, 2050, 0), false, "failed", true},
		{"usage half of what came, the model's tokenizer", check(1000, 2000, 2000, 0), true, "failed", false},
		{"usage half of what came, another tokenizer", check(1000, 2000, 3000, 0), false, "failed", false},
		{"ten tokens an event, the model's tokenizer", check(2000, 200, 2000, 0), true, "ok", false},
		{"ten tokens an event, usage half of them", check(1000, 200, 2000, 0), true, "failed", false},
		{"ten tokens an event and usage one of each", check(200, 200, 2000, 0), true, "failed", false},
		{"the same, another tokenizer", check(200, 200, 2000, 0), false, "unchecked", false},
		{"a token an event by usage, 1.45 by another tokenizer", check(2000, 2000, 2900, 3), false, "unchecked", false},
		{"the same, 1.3: it cuts words otherwise", check(2000, 2000, 2600, 3), false, "ok", false},
		{"three tokens an event, another tokenizer, alike in all replies", check(2000, 700, 2600, 3), false, "unchecked", false},
		{"the same, unlike", check(2000, 700, 2600, 40), false, "failed", false},
		{"noise that does not tokenize back, but events and usage agree", check(2000, 2000, 1500, 0), true, "ok", false},
		{"no usage, the model's tokenizer", check(0, 200, 2000, 0), true, "ok", false},
		{"no usage, a tokenizer that counts 80% less than came", check(0, 2000, 400, 0), true, "failed", false},
		{"no usage, another tokenizer, several tokens an event", check(0, 200, 2000, 0), false, "unchecked", false},
		{"nothing counted", nil, true, "unchecked", false},
	} {
		e := sound()
		e.Summary.Tokens.Check, e.OwnTokenizer = tt.check, tt.own
		got := standingOf(Judge(e), "token counts")
		if got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if tt.want != "failed" {
			continue
		}
		for objective, touched := range map[string]bool{"tpot:p99<50ms": true, "e2e:p99<5s": false, "ttft:p99<500ms": tt.ttft} {
			e.Judged = []slo.Verdict{{Objective: objective, Limit: 500}}
			if got := standingOf(Judge(e), "token counts") == "failed"; got != touched {
				t.Errorf("%s, objective %s: failed %v, want %v", tt.name, objective, got, touched)
			}
		}
	}
}

func standingOf(j Judgement, name string) string {
	if slices.ContainsFunc(j.Unchecked, func(u result.SkippedCheck) bool { return u.Name == name }) {
		return "unchecked"
	}
	for _, c := range j.Checks {
		if c.Name == name && c.OK {
			return "ok"
		} else if c.Name == name {
			return "failed"
		}
	}
	return "not asked"
}

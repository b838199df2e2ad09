package consistency

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"redline/internal/clock"
	"redline/internal/drive/client"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// examine asks a simulated engine in virtual time.
func examine(t *testing.T, spec sim.Spec, o Options) (r *Report) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := &pipe.Network{}
		running := must.Get(simserver.Start(context.WithoutCancel(t.Context()), spec, simserver.ServeOptions{Listen: "sim:80", Clock: clock.Virtual(), Open: network.Open}))(t)
		defer running.Close()
		o.Target, o.Clock, o.Dial = client.Spec{URLs: []string{"http://sim:80"}}, clock.Virtual(), network.Dial
		r = must.Get(Run(t.Context(), o))(t)
	})
	return r
}

// TestConditionsAreNamed: what changes replies is found under its condition, and under
// no other.
func TestConditionsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault, want string
	}{
		{"", ""},
		{"lie-batch:40%", FullBatch},
		{"lie-cache:40%", CacheHit},
		{"lie-preempted", Preemption},
		{"lie:10%", ""},
	} {
		t.Run(c.fault, func(t *testing.T) {
			t.Parallel()
			spec := sim.Spec{NumGPUBlocksOverride: 600}
			o := Options{Prompts: 40, Tokens: 24, Batch: 16, Seed: 3}
			if c.fault != "" {
				spec.Faults = []string{c.fault}
			}
			if c.want == Preemption {
				o.Preempt = 24
			}
			r := examine(t, spec, o)
			var named []string
			for _, one := range r.Conditions {
				if one.Standing == slo.Worse {
					named = append(named, one.Name)
				}
				if one.N != 40 || one.Name == CacheHit && one.Cached != 1 || one.Name == FullBatch && one.Cached != 0 {
					t.Errorf("%+v, want 40 pairs, with the cache where it is meant", one)
				}
			}
			if got := strings.Join(named, ", "); got != c.want {
				t.Errorf("%q changes replies, want %q: %s %v", got, c.want, r.Verdict, r.Notes)
			}
			if noise := r.Base.Differs > 0; noise != (c.fault == "lie:10%") {
				t.Errorf("%d of %d differ alone", r.Base.Differs, r.Base.N)
			}
		})
	}
}

// TestGarbageIsCounted: each kind under its name, and none in what a healthy server says.
func TestGarbageIsCounted(t *testing.T) {
	t.Parallel()
	for fault, want := range map[string]string{"loop:20%": string(llm.RepeatsText), "garbled:20%": string(llm.CutCharacter), "mix:20%": AnothersLabel} {
		r := examine(t, sim.Spec{Faults: []string{fault}}, Options{Prompts: 20, Tokens: 24, Batch: 4, Seed: 5})
		if len(r.Garbage) != 1 || len(r.Garbage[want]) == 0 {
			t.Errorf("%s: %v, want %s alone", fault, r.Garbage, want)
		}
		if mixed := want == AnothersLabel; mixed && r.Standing != slo.Worse {
			t.Errorf("%s: %s", fault, r.Verdict)
		}
	}
}

// What a condition's own interval and the test of all conditions do not agree on is too
// close to call, and a cache that no reply reports was not reached.
func TestOpenConditions(t *testing.T) {
	t.Parallel()
	prompts := newPrompts(1, 50)
	alone, other := make([]reply, len(prompts)), make([]reply, len(prompts))
	for i := range prompts {
		alone[i].text, other[i].text = "the same words", "the same words"
		if i < 5 {
			other[i].text = "other words"
		}
	}
	r := &Report{}
	r.judge(prompts, []string{CacheHit, "b"}, map[string][]reply{Alone: alone, Again: alone, CacheHit: alone, "b": other})
	if b := r.Conditions[1]; b.Interval[0] > 0 != (b.Standing == slo.Undecided) || r.Standing != slo.Undecided {
		t.Errorf("%s: %s; conditions %+v", r.Standing, r.Verdict, r.Conditions)
	}
	if !r.Conditions[0].NotReached || len(r.Notes) != 1 {
		t.Errorf("%+v, notes %q", r.Conditions[0], r.Notes)
	}
}

// Where most replies under a condition failed, nothing is said of it, and the whole is
// open.
func TestFailedConditionsAreNotJudged(t *testing.T) {
	t.Parallel()
	prompts := newPrompts(1, 20)
	alone, batch := make([]reply, len(prompts)), make([]reply, len(prompts))
	for i := range prompts {
		alone[i].cached = 16
		alone[i].text, batch[i].failed = "the same words", "HTTP 429"
	}
	r := &Report{}
	r.judge(prompts, []string{CacheHit, FullBatch}, map[string][]reply{Alone: alone, Again: alone, CacheHit: alone, FullBatch: batch})
	if r.Standing != slo.Undecided || r.Conditions[0].Standing != slo.Same || r.Conditions[1].Standing != slo.NotJudged {
		t.Errorf("%s: %s; conditions %+v", r.Standing, r.Verdict, r.Conditions)
	}
}

package sim

import (
	"slices"
	"testing"
	"time"

	"redline/internal/must"
)

// A gateway that has not noticed yet that an engine was killed sends jobs to it, which
// are cut; after that it sends none, until the engine is back.
func TestFailoverTakesItsTime(t *testing.T) {
	t.Parallel()
	const second = int64(time.Second)
	f := must.Get(New(Spec{Fleet: Fleet{Replicas: 2, Router: RoundRobin, Failover: 2 * time.Second}, Seed: 1}))(t).(*fleet)
	var cut []int64
	emit := func(k Token) {
		if k.Cut {
			cut = append(cut, k.At/second)
		}
	}
	must.Do(t, f.Kill(0, 1, emit))
	for at := range int64(6) {
		if at == 4 {
			must.Do(t, f.Start(1))
		}
		for i := range uint64(2) {
			must.Do(t, f.Submit(at*second, &Job{ID: uint64(at)*2 + i + 1, Prompt: []int32{1, 2, 3}, Output: 1}))
		}
		f.Step(at*second+second/2, emit)
	}
	if !slices.Equal(cut, []int64{0, 1}) || len(f.live) != 0 {
		t.Errorf("cut at %v s, want one in each of the first two; %d jobs are left", cut, len(f.live))
	}
}

// TestEnginesGoAndComeBack drains and kills one engine after another of every kind of
// fleet under load: nothing is lost to a drain, to a kill nothing but what the engine
// had, and no router sends to one that is away.
func TestEnginesGoAndComeBack(t *testing.T) {
	t.Parallel()
	for _, row := range []Fleet{{Replicas: 3, Router: RoundRobin}, {Replicas: 3}, {Replicas: 3, Router: PrefixAware}, {Replicas: 3, Router: Sticky}, {Prefill: 2, Decode: 2, KVTransferRate: 1}} {
		for _, kill := range []bool{false, true} {
			core := must.Get(New(Spec{Fleet: row, Seed: 1}))(t)
			f := core.(*fleet)
			ended, cut, away := map[uint64]bool{}, map[uint64]bool{}, -1
			emit := func(k Token) {
				switch {
				case k.Cut && k.Job.Replica == away:
					cut[k.Job.ID] = true
				case k.Cut:
					t.Errorf("%+v: a job of engine %d is cut, and %d went", row, k.Job.Replica, away)
				case k.Last:
					ended[k.Job.ID] = true
				}
			}
			submitted, now, gone := 0, int64(0), 0
			for at, j := range conversations(13, 12, 30*time.Millisecond) {
				now = at
				core.Step(now, emit)
				j.Output = 10
				switch i := submitted; {
				case i%30 == 10:
					away = i / 30 % row.Engines()
					if kill {
						must.Do(t, f.Kill(now, away, emit))
						gone++
					} else {
						must.Do(t, f.Drain(away, func() { gone++ }))
					}
				case i%30 == 9 && away >= 0 && f.engines[away].isAway:
					if s := f.engines[away].core.Stats(); s.Running+s.Waiting+int(s.KVTokens) != 0 {
						t.Errorf("%+v: an engine that is away has %+v", row, s)
					}
					must.Do(t, f.Start(away))
					if s := f.engines[away].core.Stats(); s.Finished != 0 || f.Start(away) == nil {
						t.Errorf("%+v: a new engine has %+v, and can be started twice", row, s)
					}
				}
				must.Do(t, core.Submit(now, j))
				submitted++
			}
			for next := now; next != Idle; {
				next = core.Step(next, emit)
			}
			if len(ended)+len(cut) != submitted || (len(cut) > 0) != kill || gone == 0 || len(f.live) != 0 {
				t.Errorf("%+v, killed %v: of %d jobs %d ended and %d were cut; %d engines went", row, kill, submitted, len(ended), len(cut), gone)
			}
			for _, r := range []*Router{f.entry, f.decoders} {
				for i, n := range r.load {
					if n != 0 {
						t.Errorf("%+v: engine %d still has %d jobs by its router", row, i, n)
					}
				}
			}
		}
	}
}

// A fleet whose engines are all away serves nobody.
func TestNobodyIsThere(t *testing.T) {
	t.Parallel()
	core := must.Get(New(Spec{Fleet: Fleet{Replicas: 2}}))(t)
	for i := range 2 {
		must.Do(t, core.(Gateway).Drain(i, func() {}))
	}
	must.Do(t, core.Submit(5, &Job{ID: 1, Prompt: []int32{1}, Output: 1}))
	var got []Token
	if next := core.Step(5, func(k Token) { got = append(got, k) }); next != Idle || len(got) != 1 || !got[0].Cut {
		t.Errorf("%+v, and again at %d", got, next)
	}
}

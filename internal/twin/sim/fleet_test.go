package sim

import (
	"iter"
	"strconv"
	"testing"
	"time"

	"redline/internal/must"
)

// conversations are requests of so many sessions in turn, each with a beginning of its
// own that grows.
func conversations(sessions, turns int, every time.Duration) iter.Seq2[int64, *Job] {
	return func(yield func(int64, *Job) bool) {
		for i := range sessions * turns {
			session, turn := i%sessions, i/sessions
			j := &Job{ID: uint64(i + 1), Output: 1 + i%7, Session: strconv.Itoa(session)}
			for k := range 640 * (turn + 1) {
				j.Prompt = append(j.Prompt, int32(session*1_000_000+k))
			}
			if !yield(int64(i)*int64(every), j) {
				return
			}
		}
	}
}

// TestFleet plays conversations against every kind of fleet: all tokens come, in the
// order of time, the parts of the time to first token add up, and no engine is left
// with a job.
func TestFleet(t *testing.T) {
	t.Parallel()
	hits := map[string]int64{}
	for _, row := range []Fleet{
		{Replicas: 4, Router: RoundRobin, GatewayDelay: 3 * time.Millisecond}, {Replicas: 4}, {Replicas: 4, Router: PrefixAware}, {Replicas: 4, Router: Sticky},
		{Prefill: 2, Decode: 2}, {Prefill: 1, Decode: 3, Router: PrefixAware, KVTransferRate: 1},
	} {
		core := must.Get(New(Spec{Fleet: row, Seed: 1}))(t)
		homes, next := map[string]map[int]bool{}, map[uint64]int{}
		last, tokens, used := int64(0), 0, map[int]int{}
		RunOpen(core, conversations(13, 6, 40*time.Millisecond), Watch{
			Refused: func(j *Job, err error) { t.Errorf("%+v: %v", row, err) },
			Token: func(k Token) {
				j := k.Job
				if k.Index != next[j.ID] || k.At < last || k.Last != (k.Index == j.Output-1) {
					t.Fatalf("%+v: token %d of %d at %d after %d, %d expected", row, k.Index, j.Output, k.At, last, next[j.ID])
				}
				next[j.ID]++
				last = k.At
				tokens++
				if k.Index > 0 {
					return
				}
				used[j.Replica]++
				used[j.Prefiller]++
				if homes[j.Session] == nil {
					homes[j.Session] = map[int]bool{}
				}
				homes[j.Session][j.Replica] = true
				if j.Received-j.AtGateway != int64(row.GatewayDelay) || j.Scheduled < j.Received || j.Prefilled <= j.Scheduled ||
					(j.First > j.Prefilled) != row.HasPools() || j.First != k.At {
					t.Errorf("%+v: a job's times are %+v", row, *j)
				}
			}})
		want := 0
		for _, j := range conversations(13, 6, 0) {
			want += j.Output
		}
		if stats := core.Stats(); tokens != want || stats.Running+stats.Waiting != 0 || stats.OutputTokens != int64(want) {
			t.Errorf("%+v: %d tokens of %d came; the engines say %+v", row, tokens, want, stats)
		}
		if len(used) != row.Engines() {
			t.Errorf("%+v: engines used: %v", row, used)
		}
		for session, at := range homes {
			if row.Router == Sticky && len(at) != 1 {
				t.Errorf("session %s went to %v", session, at)
			}
		}
		hits[row.Router+strconv.Itoa(row.Replicas)] = core.Stats().PrefixHits
	}
	if hits["prefix4"] <= hits["round-robin4"] || hits["sticky4"] <= hits["round-robin4"] {
		t.Errorf("tokens found in the caches: %v", hits)
	}
}

// A slow engine's jobs take longer by its factor, and one that is cancelled anywhere
// leaves nothing behind.
func TestFleetSlowAndCancelled(t *testing.T) {
	t.Parallel()
	none := 0.0
	core := must.Get(New(Spec{Fleet: Fleet{Replicas: 2, Router: RoundRobin, SlowReplicas: []string{"1:1.5"}}, Jitter: &none}))(t)
	took := map[int]int64{}
	RunOpen(core, conversations(2, 1, time.Second), Watch{Token: func(k Token) { took[k.Job.Replica] = k.Job.First - k.Job.Received }})
	if ratio := float64(took[1]) / float64(took[0]); ratio < 1.499 || ratio > 1.501 {
		t.Errorf("the slow engine takes %v times as long", ratio)
	}
	for _, after := range []time.Duration{0, 4 * time.Millisecond, 12 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond} {
		core := must.Get(New(Spec{Fleet: Fleet{Prefill: 1, Decode: 1, GatewayDelay: 2 * time.Millisecond, KVTransferRate: 1}}))(t)
		j := &Job{ID: 1, Prompt: make([]int32, 500), Output: 100}
		must.Do(t, core.Submit(0, j))
		core.Step(int64(after), func(Token) {})
		core.Cancel(int64(after), 1)
		next := core.Step(int64(after), func(Token) { t.Error("a token of a job that is gone") })
		for next != Idle {
			next = core.Step(next, func(Token) { t.Error("a token of a job that is gone") })
		}
		if s := core.Stats(); s.Running+s.Waiting != 0 || s.KVTokens != 0 {
			t.Errorf("cancelled after %v: %+v", after, s)
		}
	}
}

func TestFleetRefuses(t *testing.T) {
	t.Parallel()
	for _, f := range []Fleet{{Replicas: -1}, {Prefill: 1}, {Replicas: 2, Prefill: 1, Decode: 1}, {Replicas: 65}, {Replicas: 2, Router: "prefx"},
		{Replicas: 2, SlowReplicas: []string{"2:1.5"}}, {Replicas: 2, SlowReplicas: []string{"1"}}, {Replicas: 2, FailingReplicas: []string{"2:5%"}}, {Replicas: 2, FailingReplicas: []string{"1:0.1"}}, {GatewayDelay: -1}} {
		if err := (Spec{Fleet: f}).Validate(); err == nil {
			t.Errorf("%+v is taken", f)
		}
	}
}

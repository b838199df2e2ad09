package account

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/stats"
)

// served plays a minute of requests on three replicas: pick chooses one for a session,
// slow is the factor of the first one's times, and fails says which requests do, nil for none.
func served(seed uint64, turns int, slow float64, pick func(draw func(n int) int, session, turn int) string, fails func(draw func() float64, session int, replica string) bool) func() iter.Seq2[*record.Record, error] {
	return func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			r := stats.Rand(seed, "served", 0)
			for i := range 600 {
				session := i % (600 / turns)
				at := int64(time.Second) + int64(i)*int64(100*time.Millisecond)
				rec := &record.Record{ID: i, Session: session, Turn: i / (600 / turns), Due: at, Begin: at, Sent: at, Try: 1, Streamed: true, AskedPrompt: 100, Addr: "gateway:80"}
				rec.Served.Replica = pick(r.IntN, session, rec.Turn)
				took := stats.LogNormal(r, 0, 0.3)
				if rec.Served.Replica == "a" {
					took *= slow
				}
				if fails != nil && fails(r.Float64, session, rec.Served.Replica) {
					rec.Fail(&llm.Fault{Outcome: llm.HTTP, Status: 500, At: at + int64(time.Millisecond)})
					if !yield(rec, nil) {
						return
					}
					continue
				}
				for k := range 3 {
					rec.Observe(llm.Event{Kind: llm.Output, At: at + int64(took*float64(k+1)*float64(50*time.Millisecond)), Text: []byte("w")})
				}
				rec.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: 100, OutputTokens: 3}})
				rec.Observe(llm.Event{Kind: llm.End, At: rec.Last})
				rec.Settle()
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
}

func fleetOf(t *testing.T, records func() iter.Seq2[*record.Record, error]) *metric.Fleet {
	t.Helper()
	return must.Get(Summarize(records, Options{Start: int64(time.Second), End: int64(61 * time.Second), AskedRate: 10, Rough: true}))(t).Fleet
}

// TestFleetIsJudged draws replicas by lot, by session, and unfairly: what is even is
// seldom called uneven, also where each session is one draw, and a slow replica is
// named.
func TestFleetIsJudged(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	lot := func(draw func(int) int, _, _ int) string { return names[draw(3)] }
	sticky := func(_ func(int) int, session, _ int) string { return names[stats.Scramble(uint64(session))%3] }
	unfair := func(draw func(int) int, _, _ int) string { return names[max(0, draw(4)-1)] }
	uneven, accused := 0, 0
	for seed := range uint64(40) {
		f := fleetOf(t, served(seed, 1, 1, lot, nil))
		if accused += len(f.Slow); f.Uneven {
			uneven++
		}
	}
	if uneven > 4 || accused > 4 {
		t.Errorf("of 40 even fleets %d are called uneven, and %d replicas slow", uneven, accused)
	}
	f := fleetOf(t, served(1, 6, 1, sticky, nil))
	if f.Turns == nil || f.Turns.Stayed != 1 || f.Turns.Turns != 500 || f.Uneven {
		t.Errorf("sessions that stay: %+v, %+v", f, f.Turns)
	}
	if f := fleetOf(t, served(1, 1, 1, unfair, nil)); !f.Uneven || f.Busiest != "a" || f.Chance > 1e-6 {
		t.Errorf("half for one of three: %+v", f)
	}
	if f := fleetOf(t, served(1, 1, 1.5, lot, nil)); len(f.Slow) != 2 || f.Slow[0].Name != "a" || f.Slow[0].Low > 1.5 || f.Slow[0].High < 1.5 {
		t.Errorf("a slow replica: %+v", f.Slow)
	}
}

// TestFailingReplicaIsNamed: one that fails 8% of its requests and more is named, and none where all
// fail alike, or a session fails wherever it goes.
func TestFailingReplicaIsNamed(t *testing.T) {
	t.Parallel()
	names := []string{"a", "b", "c"}
	lot := func(draw func(int) int, _, _ int) string { return names[draw(3)] }
	sticky := func(_ func(int) int, session, _ int) string { return names[stats.Scramble(uint64(session))%3] }
	for _, row := range []struct {
		what  string
		turns int
		pick  func(func(int) int, int, int) string
		fails func(draw func() float64, session int, replica string) bool
		named bool
	}{
		{"8% of a", 1, lot, func(draw func() float64, _ int, replica string) bool { return replica == "a" && draw() < 0.08 }, true},
		{"20% of a beside 3% of all", 6, sticky, func(draw func() float64, _ int, replica string) bool {
			return draw() < 0.03 || replica == "a" && draw() < 0.2
		}, true},
		{"10% of all", 1, lot, func(draw func() float64, _ int, _ string) bool { return draw() < 0.1 }, false},
		{"all of some sessions", 20, sticky, func(_ func() float64, session int, _ string) bool { return session%9 == 0 }, false},
	} {
		named, accused := 0, 0
		for seed := range uint64(20) {
			for _, r := range fleetOf(t, served(seed, row.turns, 1, row.pick, row.fails)).Failing {
				if row.named && r.Name == "a" {
					named++
				} else {
					accused++
				}
			}
		}
		if accused > 2 || row.named && named < 18 {
			t.Errorf("%s: named in %d of 20 seeds, a healthy one in %d", row.what, named, accused)
		}
	}
}

// What is odd is said: a replica that appears once, requests without a name, no names
// at all, and more names than there can be replicas.
func TestFleetOfOddNames(t *testing.T) {
	t.Parallel()
	i := 0
	once := func(draw func(int) int, _, _ int) string {
		switch i++; {
		case i%600 == 7:
			return "c"
		case i%600 == 8:
			return ""
		}
		return []string{"a", "b"}[draw(2)]
	}
	if f := fleetOf(t, served(1, 1, 1, once, nil)); len(f.Once) != 1 || f.Once[0] != "c" || f.Unnamed != 1 || len(f.Untested) != 1 {
		t.Errorf("%+v", f)
	}
	if f := fleetOf(t, served(1, 1, 1, func(func(int) int, int, int) string { return "" }, nil)); f != nil {
		t.Errorf("a gateway that strips headers: %+v", f)
	}
	many := func(_ func(int) int, session, _ int) string { return fmt.Sprint(session) }
	s := must.Get(Summarize(served(1, 1, 1, many, nil), Options{Start: int64(time.Second), End: int64(61 * time.Second), AskedRate: 10, Rough: true}))(t)
	if len(s.Replicas) != maxReplicas+1 || s.Fleet.Slow != nil {
		t.Errorf("%d groups, %+v", len(s.Replicas), s.Fleet)
	}
}

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
// slow is the factor of the first one's times.
func served(seed uint64, turns int, slow float64, pick func(draw func(n int) int, session, turn int) string) func() iter.Seq2[*record.Record, error] {
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
		f := fleetOf(t, served(seed, 1, 1, lot))
		if accused += len(f.Slow); f.Uneven {
			uneven++
		}
	}
	if uneven > 4 || accused > 4 {
		t.Errorf("of 40 even fleets %d are called uneven, and %d replicas slow", uneven, accused)
	}
	f := fleetOf(t, served(1, 6, 1, sticky))
	if f.Turns == nil || f.Turns.Stayed != 1 || f.Turns.Turns != 500 || f.Uneven {
		t.Errorf("sessions that stay: %+v, %+v", f, f.Turns)
	}
	if f := fleetOf(t, served(1, 1, 1, unfair)); !f.Uneven || f.Busiest != "a" || f.Chance > 1e-6 {
		t.Errorf("half for one of three: %+v", f)
	}
	if f := fleetOf(t, served(1, 1, 1.5, lot)); len(f.Slow) != 2 || f.Slow[0].Name != "a" || f.Slow[0].Low > 1.5 || f.Slow[0].High < 1.5 {
		t.Errorf("a slow replica: %+v", f.Slow)
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
	if f := fleetOf(t, served(1, 1, 1, once)); len(f.Once) != 1 || f.Once[0] != "c" || f.Unnamed != 1 || len(f.Untested) != 1 {
		t.Errorf("%+v", f)
	}
	if f := fleetOf(t, served(1, 1, 1, func(func(int) int, int, int) string { return "" })); f != nil {
		t.Errorf("a gateway that strips headers: %+v", f)
	}
	many := func(_ func(int) int, session, _ int) string { return fmt.Sprint(session) }
	s := must.Get(Summarize(served(1, 1, 1, many), Options{Start: int64(time.Second), End: int64(61 * time.Second), AskedRate: 10, Rough: true}))(t)
	if len(s.Replicas) != maxReplicas+1 || s.Fleet.Slow != nil {
		t.Errorf("%d groups, %+v", len(s.Replicas), s.Fleet)
	}
}

package series

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/judge/account"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
)

const (
	ms      = int64(1e6)
	seconds = int64(1e9)
)

// reply makes the record of a request that was sent when it was due, with its
// first token after first and further ones after each of the gaps.
func reply(due, first int64, prompt int, gaps ...int64) *record.Record {
	r := &record.Record{Due: due, Begin: due, Try: 1, Streamed: true, AskedPrompt: prompt, AskedOutput: len(gaps) + 1, Phase: record.Measure}
	r.Observe(llm.Event{Kind: llm.Sent, At: due})
	at := due + first
	r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
	for _, gap := range gaps {
		at += gap
		r.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
	}
	r.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{PromptTokens: prompt, OutputTokens: len(gaps) + 1}})
	r.Observe(llm.Event{Kind: llm.End, At: at})
	r.Settle()
	return r
}

// steady is a run of requests one after another at even distances, from a second
// on.
func steady(n int, apart int64) []*record.Record {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]*record.Record, n)
	for i := range list {
		gaps := make([]int64, 20)
		for j := range gaps {
			gaps[j] = int64(math.Exp(random.NormFloat64())*10*float64(ms))/1000*1000 + 1000
		}
		list[i] = reply(seconds+int64(i)*apart, int64(math.Exp(random.NormFloat64()/2)*80*float64(ms)), 100+random.IntN(4000), gaps...)
	}
	return list
}

func seriesOf(list []*record.Record, start, end int64) *Series {
	s := New(0, start, end)
	for _, r := range list {
		s.Add(r)
	}
	return s
}

func sum[N int | float64](list []N) (total N) {
	for _, v := range list {
		total += v
	}
	return total
}

// A cache that fills up serves little at first and much later: both are told, and
// the run over time.
func TestCacheHitsOverTime(t *testing.T) {
	t.Parallel()
	list := steady(600, 100*ms) // a minute
	for i, r := range list {
		r.CachedTokens = r.PromptTokens * min(i, 300) / 600
	}
	s := seriesOf(list, seconds, 61*seconds)
	over := s.Over(nil, nil)
	early, late := s.CacheHits(seconds, 13*seconds), s.CacheHits(31*seconds, 61*seconds)
	if early == nil || late == nil || math.Abs(*early-0.1) > 0.01 || math.Abs(*late-0.5) > 0.01 {
		t.Errorf("early %v, late %v, want 0.1 and 0.5", early, late)
	}
	if hits := over.CacheHits; hits == nil || len(hits.At) < 100 || hits.Values[0] > 0.01 || math.Abs(hits.Values[len(hits.Values)-1]-0.5) > 0.01 {
		t.Errorf("over time: %+v, want from 0 to 0.5", hits)
	}
	if s.CacheHits(seconds, seconds+500*ms) != nil {
		t.Error("a share of five requests")
	}
	if cold := seriesOf(steady(600, 100*ms), seconds, 61*seconds); cold.Over(nil, nil).CacheHits != nil || cold.CacheHits(seconds, 61*seconds) != nil {
		t.Error("hits of a server that never speaks of any")
	}
}

// TestNothingIsLost: however long a run is, and however often its bins were
// joined, they add up to what its records hold, in few bins and few bytes.
func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	for _, apart := range []int64{20 * ms, 200 * ms, 7 * seconds} {
		list := steady(2000, apart)
		list[5].Outcome = llm.Timeout
		gaps, busy, tokens := 0, int64(0), 0
		for _, r := range list {
			gaps, busy, tokens = gaps+r.ChunkCount()-1, busy+r.End-r.Sent, tokens+r.ChunkCount()
		}
		out := seriesOf(list, seconds, 1<<60).Over(nil, nil)
		if n := len(out.Due); n > maxBins || n < maxBins/2 || len(out.InFlight) != n || len(out.Output) != n {
			t.Errorf("%d apart: %d bins of requests, %d of those in flight, %d of output", apart, n, len(out.InFlight), len(out.Output))
		}
		if sum(out.Due) != 2000 || sum(out.NotOK) != 1 || sum(out.TTFT.N) != 1999 {
			t.Errorf("%d apart: %d requests due, %d not ok, %d with a ttft", apart, sum(out.Due), sum(out.NotOK), sum(out.TTFT.N))
		}
		counted := 0
		for _, row := range out.Gaps.Counts {
			counted += sum(row)
		}
		if counted != gaps {
			t.Errorf("%d apart: %d gaps of %d are on the map", apart, counted, gaps)
		}
		if got, want := sum(out.Output)*out.BinS, float64(tokens); math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%d apart: %g tokens of %g", apart, got, want)
		}
		if got, want := sum(out.InFlight)*out.BinS, float64(busy)/1e9; math.Abs(got/want-1) > 1e-3 {
			t.Errorf("%d apart: %g s in flight of %g", apart, got, want)
		}
		if data, err := json.Marshal(out); err != nil || len(data) > 33_000 {
			t.Errorf("%d apart: %d bytes, %v", apart, len(data), err)
		}
	}
}

// TestCurvesAreTheFigures: a distribution passes through the percentiles that the
// summary of the same window has.
func TestCurvesAreTheFigures(t *testing.T) {
	t.Parallel()
	list := steady(3000, 100*ms)
	start, end := 31*seconds, 271*seconds
	all := record.FromList(list)
	summary := must.Get(account.Summarize(all, account.Options{Start: start, End: end}))(t)
	d := seriesOf(list, start, end).Distributions()
	for _, c := range []struct {
		name  string
		curve []float64
	}{{"ttft_due", d.TTFT}, {"tpot", d.TPOT}, {"e2e_due", d.E2E}, {"itl", d.ITL}} {
		exact, compared := summary.Latency.Of(c.name), 0
		for i, p := range d.Percent {
			want, shown := exact.P[metric.PercentileKey(p)]
			if p == 100 {
				want, shown = exact.Max, true
			}
			if !shown {
				continue
			}
			if compared++; math.Abs(c.curve[i]/want-1) > 0.01 {
				t.Errorf("%s p%g is %g, and %g on its curve", c.name, p, want, c.curve[i])
			}
		}
		if compared < len(exact.P) {
			t.Errorf("%s: %d points of the curve have a figure to compare, of %d", c.name, compared, len(exact.P))
		}
	}
}

// TestPercentilesByRequests: a bin has the percentiles that its requests allow.
func TestPercentilesByRequests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		requests, atLeast int
		p95, p99, most    bool
	}{{8000, 100, true, true, false}, {2000, 20, true, false, false}, {60, 1, false, false, true}} {
		out := seriesOf(steady(c.requests, 60*seconds/int64(c.requests)), 0, 1<<60).Over(nil, nil).TTFT
		if len(out.P50) != len(out.At) || (len(out.P95) > 0) != c.p95 || (len(out.P99) > 0) != c.p99 || (len(out.Max) > 0) != c.most {
			t.Errorf("%d requests: %d bins, p95 %d, p99 %d, max %d", c.requests, len(out.At), len(out.P95), len(out.P99), len(out.Max))
		}
		if mean := sum(out.N) / len(out.N); mean < c.atLeast {
			t.Errorf("%d requests: %d in a bin", c.requests, mean)
		}
	}
}

// TestAStallIsOnItsPlace: one gap of three seconds stands in the column of its end
// and in the row of its length.
func TestAStallIsOnItsPlace(t *testing.T) {
	t.Parallel()
	list := steady(500, 100*ms)
	list = append(list, reply(20*seconds, 50*ms, 100, 10*ms, 3*seconds, 10*ms))
	g := seriesOf(list, 0, 1<<60).Over(nil, nil).Gaps
	last := g.Counts[len(g.Counts)-1]
	low, high := g.MS[len(g.MS)-2], g.MS[len(g.MS)-1]
	column := int((23.06 - 1) / g.BinS) // the first request is due after a second
	if sum(last) != 1 || last[column] != 1 || low > 3000 || high <= 3000 {
		t.Errorf("the row of %g to %g ms has %v, want one in column %d", low, high, last, column)
	}
}

// TestPrompts: prompts of all lengths are told apart, those of one length are no
// curve.
func TestPrompts(t *testing.T) {
	t.Parallel()
	var list []*record.Record
	for i := range 400 {
		tokens := 100 << (i % 5)
		list = append(list, reply(seconds+int64(i)*50*ms, int64(tokens)*ms/10, tokens))
	}
	p := seriesOf(list, 0, 1<<60).Over(nil, nil).Prompts
	if len(p.N) != 5 {
		t.Fatalf("%d lengths: %v", len(p.N), p.Tokens)
	}
	for i, tokens := range p.Tokens {
		if tokens != float64(int(100)<<i) || p.N[i] != 80 || math.Abs(p.P50[i]/(tokens/10)-1) > 0.01 {
			t.Errorf("%d prompts of %g tokens take %g ms", p.N[i], tokens, p.P50[i])
		}
	}
	if one := seriesOf(list[:1], 0, 1<<60).Over(nil, nil).Prompts; one != nil {
		t.Errorf("one request gives %v", one)
	}
}

// TestWatched: what telemetry saw lies in the bins of its moments, and what it did
// not see is left out.
func TestWatched(t *testing.T) {
	t.Parallel()
	scrapes := []telemetry.Scrape{{At: 0, Reading: &telemetry.Reading{Running: new(9.0)}}} // before the first request
	var boards []telemetry.AcceleratorReading
	for i := range 10 {
		at := seconds + int64(i)*seconds
		scrapes = append(scrapes, telemetry.Scrape{At: at, Reading: &telemetry.Reading{Running: new(float64(i))}}, telemetry.Scrape{At: at + 1, Failed: "busy"})
		boards = append(boards, telemetry.AcceleratorReading{At: at, Devices: []telemetry.DeviceReading{{Watts: new(300.0)}, {Watts: new(200.0)}}},
			telemetry.AcceleratorReading{At: at + 1, Devices: []telemetry.DeviceReading{{Watts: new(300.0)}, {}}})
	}
	out := seriesOf(steady(100, 100*ms), 0, 1<<60).Over(scrapes, boards)
	if out.Waiting != nil || out.KVUsage != nil {
		t.Errorf("nobody told of %v and %v", out.Waiting, out.KVUsage)
	}
	for i, at := range out.Running.At {
		if seen := float64(at) * out.BinS; out.Running.Values[i] != math.Floor(seen) {
			t.Errorf("%g run after %g s", out.Running.Values[i], seen)
		}
	}
	if len(out.Running.At) != 10 || out.Watts.Values[3] != 500 {
		t.Errorf("%d readings of running; %v W", len(out.Running.At), out.Watts.Values)
	}
}

// TestNobodyAsked: a nil series takes records and gives nothing.
func TestNobodyAsked(t *testing.T) {
	t.Parallel()
	var s *Series
	s.Add(steady(1, 0)[0])
	if s.Over(nil, nil) != nil || s.Distributions() != nil || New(0, 0, 1).Over(nil, nil) != nil || New(0, 0, 1).Distributions() != nil {
		t.Error("something came of nothing")
	}
}

// BenchmarkAdd is the cost of a record of a hundred tokens.
func BenchmarkAdd(b *testing.B) {
	gaps := make([]int64, 99)
	for i := range gaps {
		gaps[i] = 10 * ms
	}
	list := make([]*record.Record, 1000)
	for i := range list {
		list[i] = reply(seconds+int64(i)*10*ms, 100*ms, 1000, gaps...)
	}
	s := New(0, 0, 1<<60)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Add(list[i%len(list)])
	}
}

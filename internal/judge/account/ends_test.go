package account

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/holdup"
	"redline/internal/judge/evidence"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/stats"
)

// heldUpAt is a machine whose threads, or which itself, stood still between two
// moments in ms, once for each pair.
func heldUpAt(kind holdup.Kind, pairs ...int64) Machine {
	var list []holdup.Holdup
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, holdup.Holdup{Kind: kind, Start: pairs[i] * ms, End: pairs[i+1] * ms})
	}
	return Machine{Watched: true, Stamps: holdup.NewTimeline(list, holdup.Machine, holdup.Engine),
		Threads: holdup.NewTimeline(list, holdup.Threads, holdup.Machine)}
}

// ranges are the ends of a request's figures in ms, of those that have any.
func ranges(m Machine, r *record.Record) map[string][2]float64 {
	groups := appendGroups(r, nil)
	f := figuresOf(r)
	essence := new(tails).essence(r, groups, false)
	f[stall] = orNaN(essence.Stall)
	q := request{figures: f, ends: m.endsOf(r, f, groups, essence)}
	all := map[string][2]float64{}
	for _, one := range requestFigures {
		if lo, hi := q.at(one.figure, low), q.at(one.figure, high); one.server && (lo != f[one.figure] || hi != f[one.figure]) && !math.IsNaN(lo) {
			all[one.name] = [2]float64{lo / 1e6, hi / 1e6}
		}
	}
	return all
}

func TestEndsOfOneRequest(t *testing.T) {
	t.Parallel()
	quiet := Machine{Watched: true}
	reply := func(change func(*life)) *record.Record {
		l := life{due: 1000, sent: 1000, end: 1160, chunks: []chunk{{at: 1100}, {at: 1120}, {at: 1160}}, usage: llm.Usage{OutputTokens: 3}}
		change(&l)
		r := recordOf(l)
		r.Written = r.Sent
		return r
	}
	as := func(*life) {}
	for _, c := range []struct {
		name    string
		machine Machine
		record  *record.Record
		want    map[string][2]float64
	}{
		{"a quiet machine", quiet, reply(as), map[string][2]float64{}},
		{"sent 5 ms late, which is known", quiet, reply(func(l *life) { l.sent = 1005 }),
			map[string][2]float64{"ttft_due": {95, 100}, "e2e_due": {155, 160}}},
		{"its threads held up while it was silent", heldUpAt(holdup.Threads, 1095, 1101), reply(as), map[string][2]float64{}},
		// The first output may have come at 1096, the rest on time.
		{"a machine that stood still", heldUpAt(holdup.Machine, 1096, 1101), reply(as), map[string][2]float64{
			"ttft": {96, 100}, "ttft_due": {96, 100}, "ttfa": {96, 100}, "tpot": {30, 32}, "decode": {60, 64}}},
		// The last of it may have come at 1150: 40 ms of silence were 30 at least.
		{"a late end", heldUpAt(holdup.Machine, 1150, 1161), reply(as), map[string][2]float64{
			"e2e": {150, 160}, "e2e_due": {150, 160}, "tpot": {25, 30}, "decode": {50, 60}, "stall": {30, 40}}},
		// The second may have come at 1110, so that the third came 50 later.
		{"a late middle", heldUpAt(holdup.Machine, 1110, 1121), reply(as), map[string][2]float64{"stall": {40, 50}}},
		// First and second were read together, since the reader was held up from
		// 1090 on: the first may have come then.
		{"a merged first", heldUpAt(holdup.Threads, 1090, 1125), reply(func(l *life) { l.chunks[0].at, l.coalesced = 1120, 1 }), map[string][2]float64{
			"ttft": {90, 120}, "ttft_due": {90, 120}, "ttfa": {90, 120}, "tpot": {20, 35}, "decode": {40, 70}}},
		{"two that the server wrote together", quiet, reply(func(l *life) { l.chunks[0].at, l.coalesced = 1120, 1 }), map[string][2]float64{}},
		// Nobody watched: the first may have come at any time.
		{"a merged first that nobody watched", Machine{}, reply(func(l *life) { l.chunks[0].at, l.coalesced = 1120, 1 }), map[string][2]float64{
			"ttft": {0, 120}, "ttft_due": {0, 120}, "ttfa": {0, 120}, "tpot": {20, 80}, "decode": {40, 160}}},
		// Of the 40 ms until there was a connection, 30 are this machine's.
		{"held up while a connection was opened", heldUpAt(holdup.Threads, 1005, 1035), func() *record.Record {
			r := reply(func(l *life) { l.sent = 1040 })
			r.Conn = r.Sent
			return r
		}(), map[string][2]float64{"ttft_due": {70, 100}, "e2e_due": {130, 160}}},
		{"held up between the stamp and the write", heldUpAt(holdup.Threads, 999, 1008), func() *record.Record {
			r := reply(as)
			r.Written = 1010 * ms
			return r
		}(), map[string][2]float64{"ttft": {92, 100}, "ttft_due": {92, 100}, "ttfa": {92, 100}, "e2e": {152, 160}, "e2e_due": {152, 160}}},
		{"not sent", heldUpAt(holdup.Machine, 900, 1200), reply(func(l *life) { l.sent = 0 }), map[string][2]float64{}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, ranges(c.machine, c.record)), "%s (-want +got)", c.name)
	}
}

// The k gaps that merged events share are bounded by what any k gaps of that
// length together can be.
func TestBufferedReplies(t *testing.T) {
	t.Parallel()
	// Six events, written by the server in two lumps, 100 ms apart.
	r := recordOf(life{due: 1000, sent: 1000, end: 1200, coalesced: 4, usage: llm.Usage{OutputTokens: 6},
		chunks: []chunk{{at: 1100}, {at: 1100}, {at: 1100}, {at: 1200}, {at: 1200}, {at: 1200}}})
	for _, c := range []struct {
		name    string
		machine Machine
		want    bool
	}{
		{"a quiet machine", Machine{Watched: true}, true},
		{"held up for a fifth of the reply, between the lumps", heldUpAt(holdup.Threads, 1110, 1130), true},
		{"held up for half of the reply, between the lumps", heldUpAt(holdup.Threads, 1110, 1160), false},
		{"held up until each lump", heldUpAt(holdup.Threads, 1050, 1100, 1190, 1200), false},
	} {
		if got := c.machine.isBuffered(r, appendGroups(r, nil)); got != c.want {
			t.Errorf("%s: buffered %v, want %v", c.name, got, c.want)
		}
	}
}

func TestEndsOfGaps(t *testing.T) {
	t.Parallel()
	r := recordOf(life{due: 1000, sent: 1000, end: 1160, chunks: []chunk{{at: 1100}, {at: 1160}, {at: 1160}, {at: 1180}}, coalesced: 1, usage: llm.Usage{OutputTokens: 4}})
	of := func(m Machine, perToken bool, e end) (list []float32) {
		m.gapEnds(r, appendGroups(r, nil), 0, math.MaxInt64, perToken, e, func(_ int64, v float32) { list = append(list, v) })
		return list
	}
	held := heldUpAt(holdup.Threads, 1110, 1165)
	for _, c := range []struct {
		name     string
		machine  Machine
		perToken bool
		end      end
		want     []float32
	}{
		{"tokens, at least", held, true, low, []float32{30, 0, 20}},
		{"tokens, at most", held, true, high, []float32{60, 30, 20}},
		{"events, at least", held, false, low, []float32{30, 0, 20}},
		{"events, at most", held, false, high, []float32{60, 20}},
		{"written together", Machine{Watched: true}, true, low, []float32{30, 30, 20}},
		{"a machine that stood still at the last", heldUpAt(holdup.Machine, 1170, 1181), true, low, []float32{30, 30, 10}},
		{"and before it", heldUpAt(holdup.Machine, 1159, 1161), true, high, []float32{60, 30, 21}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, of(c.machine, c.perToken, c.end)), "%s (-want +got)", c.name)
	}
}

// heldUpOften stands still for 15 ms before every tenth request's first output.
func heldUpOften(n int) func(*record.Record) Machine {
	var list []holdup.Holdup
	for i := range int64(n) {
		if at := 1000 + 100*i; i%10 == 0 {
			list = append(list, holdup.Holdup{Kind: holdup.Machine, Start: (at + 5) * ms, End: (at + 25) * ms})
		}
	}
	m := Machine{Watched: true, Stamps: holdup.NewTimeline(list, holdup.Machine), Threads: holdup.NewTimeline(list, holdup.Machine)}
	return func(*record.Record) Machine { return m }
}

// A verdict takes the end that could hurt it: what the machine may have added
// misses no objective, what it may have hidden meets none.
func TestVerdictsTakeBothEnds(t *testing.T) {
	t.Parallel()
	late := func(i int, l *life) {
		if i%10 == 0 {
			l.chunks[0].at += 15
		}
	}
	for _, c := range []struct {
		name, objective string
		machine         func(*record.Record) Machine
		want            slo.Standing
		note            string
	}{
		{"one in ten late, by the server", "ttft:p99<20ms", nil, slo.Missed, ""},
		{"one in ten late, perhaps by the machine", "ttft:p99<20ms", heldUpOften(1000), slo.Undecided,
			"between 10 and 25 ms: this machine delayed redline; run it on a quieter machine"},
		{"as many late as may be, perhaps by the machine", "ttft:p90<20ms", heldUpOften(1000), slo.Undecided,
			"0 to 100 of 1000 are over it: this machine delayed redline; run it on a quieter machine"},
		{"in time even so", "ttft:p99<40ms", heldUpOften(1000), slo.Met, ""},
		{"late even so", "ttft:p99<4ms", heldUpOften(1000), slo.Missed, ""},
		{"the largest", "ttft:max<20ms", heldUpOften(1000), slo.Undecided,
			"between 10 and 25 ms: this machine delayed redline; run it on a quieter machine"},
		{"good requests", "good:fraction>0.95", heldUpOften(1000), slo.Undecided, "this machine delayed redline; run it on a quieter machine"},
		// A late first output leaves less time for the rest: 2.5 ms a token of
		// 20, perhaps 10.
		{"a pace that may have been slower", "tpot:p99<18ms", heldUpOften(1000), slo.Missed, ""},
		{"and one that was not", "tpot:p99<29ms", heldUpOften(1000), slo.Met, ""},
	} {
		o := window(1000, objectives(t, c.objective, "ttft:p50<20ms")...)
		o.Machine = c.machine
		got := summarizeRecords(t, o, alike(1000, late)).Objectives[0]
		if got.Standing != c.want || got.Note != c.note {
			t.Errorf("%s: %s stands %s (%s), want %s (%s)", c.name, c.objective, got.Standing, got.Note, c.want, c.note)
		}
	}
}

func TestEndsOfFigures(t *testing.T) {
	t.Parallel()
	late := func(i int, l *life) {
		if i%10 == 0 {
			l.chunks[0].at += 15
		}
	}
	o := window(1000)
	o.Machine = heldUpOften(1000)
	l := summarizeRecords(t, o, alike(1000, late)).Latency
	// Nine in ten have their first output after 10 ms, the others after 25, or
	// after 5 where the machine stood still.
	for key, want := range map[string][2]float64{"p50": {10, 10}, "p90": {10, 11.5}, "p95": {10, 25}, "max": {10, 25}} {
		if lowest, highest, _ := l.TTFT.Ends(key); math.Abs(lowest-want[0]) > 1e-3 || math.Abs(highest-want[1]) > 1e-3 {
			t.Errorf("ttft %s lies between %v and %v ms, want %v", key, lowest, highest, want)
		}
	}
	if _, stated := l.TTFT.Low["p50"]; stated || l.TTFT.High != nil || l.E2E.Low != nil {
		t.Errorf("ends are stated that are what was measured: %v, %v, %v", l.TTFT.Low, l.TTFT.High, l.E2E.Low)
	}
}

// The ends of a summary hold every figure of the same requests on a quiet
// machine, however they were held up.
func TestEndsHoldTheTruth(t *testing.T) {
	t.Parallel()
	truth := summarizeRecords(t, window(1000), alike(1000, func(int, *life) {}))
	seen := alike(1000, func(i int, l *life) {
		switch i % 4 {
		case 0: // sent late, and so everything is
			l.sent += 7
			for j := range l.chunks {
				l.chunks[j].at += 7
			}
		case 1: // the machine stood still at the first output
			l.chunks[0].at += 6
		case 2: // the reader was held up: two were read together
			l.chunks[1].at, l.coalesced = l.chunks[2].at, 0
		}
	})
	var list []holdup.Holdup
	for i := range int64(1000) {
		switch at := 1000 + 100*i; i % 4 {
		case 1:
			list = append(list, holdup.Holdup{Kind: holdup.Machine, Start: (at + 9) * ms, End: (at + 16) * ms})
		case 2:
			list = append(list, holdup.Holdup{Kind: holdup.Threads, Start: (at + 29) * ms, End: (at + 51) * ms})
			seen[i].Coalesced = 1
		}
	}
	o := window(1000)
	m := Machine{Watched: true, Stamps: holdup.NewTimeline(list, holdup.Machine), Threads: holdup.NewTimeline(list, holdup.Machine, holdup.Threads)}
	o.Machine = func(*record.Record) Machine { return m }
	got := summarizeRecords(t, o, seen)
	for name, true := range truth.Latency.Each {
		d := got.Latency.Of(name)
		if d == nil || name == "lag" {
			continue
		}
		for _, key := range append(true.Keys(), "max") {
			v, _ := true.Statistic(key)
			lowest, highest, ok := d.Ends(key)
			if !ok || v < lowest*0.99 || v > highest*1.01 {
				own, _ := d.Statistic(key)
				t.Errorf("%s %s: %v ms in truth, measured as %v and said to lie between %v and %v", name, key, v, own, lowest, highest)
			}
		}
	}
}

// Delays that this machine may have hidden come together, and so do the high ends:
// far below a limit, that neither keeps an objective open nor names the machine.
func TestDelaysThatMoveNothingOverTheLimit(t *testing.T) {
	t.Parallel()
	const n = 1500
	var lists [endCount][]evidence.Observation
	for i := range n {
		o := evidence.Observation{At: float32(i) / 5, Weight: 1, Group: evidence.Alone,
			Value: float32(8 * math.Exp(0.05*stats.Rand(uint64(i), "pace", 0).NormFloat64()))}
		if i == 700 {
			o.Value = 40
		}
		for e := range lists {
			lists[e] = append(lists[e], o)
		}
		if i/150%2 == 0 { // half a minute of hold-ups in each minute
			lists[high][i].Value += 1
		}
	}
	lists[high][700].Value = 45
	var all samples
	for e, list := range lists {
		all[e] = evidence.New(list, evidence.Window{Length: n / 5})
	}
	q := evidence.Question{P: 0.95, Limit: 50, Alpha: 0.05}
	if all[high].Met(q) || !all.isMet(q) {
		t.Errorf("met by the high ends alone: %v, in all: %v; want no and yes", all[high].Met(q), all.isMet(q))
	}
	for limit, machine := range map[float64]bool{42: true, 17: false, 50: false} {
		q.Limit = limit
		if limit < 50 && all.isMet(q) {
			t.Errorf("met at %v ms too", limit)
		}
		note := judge{view: view{collector: newCollector(window(n))}}.open(&slo.Verdict{N: n, Unit: "ms", Value: new(8.5), Limit: limit}, all, q)
		if strings.Contains(note, "this machine") != machine {
			t.Errorf("limit %v ms: open since %q", limit, note)
		}
	}
}

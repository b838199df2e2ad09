package holdup

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/must"
)

const ms = int64(time.Millisecond)

func at(kind Kind, start, end int64) Holdup {
	return Holdup{Kind: kind, Start: start * ms, End: end * ms}
}

func TestLateIsTheTimeSinceAHoldupBegan(t *testing.T) {
	t.Parallel()
	line := NewTimeline([]Holdup{at(Threads, 10, 30), at(Threads, 20, 25), at(Machine, 100, 110),
		{Kind: Queue, Start: 200 * ms, End: 210 * ms, Lead: 7 * ms}, at(Engine, 300, 400)}, Threads, Machine, Queue)
	for moment, want := range map[int64]int64{5: 0, 10: 0, 12: 2, 24: 14, 30: 20, 32: 22, 33: 0, 105: 5, 199: 0, 205: 3, 211: 0, 350: 0} {
		if got := line.Late(moment * ms); got != want*ms {
			t.Errorf("at %d ms: late by %v, want %d ms", moment, time.Duration(got), want)
		}
	}
	if got, want := line.Late(30*ms+afterwards), 20*ms+afterwards; got != want {
		t.Errorf("what had gathered is late by %v, want %v", time.Duration(got), time.Duration(want))
	}
	if got := line.MaxLate(0, 150*ms); got != 20*ms {
		t.Errorf("late by %v at most, want 20ms", time.Duration(got))
	}
}

func TestHeldCountsEachMomentOnce(t *testing.T) {
	t.Parallel()
	line := NewTimeline([]Holdup{at(Threads, 10, 20), at(Machine, 15, 25), at(Threads, 40, 50)}, Threads, Machine)
	for _, c := range []struct{ from, to, want int64 }{{0, 5, 0}, {0, 100, 25}, {12, 18, 6}, {18, 45, 12}, {50, 60, 0}, {60, 50, 0}} {
		if got := line.HeldTime(c.from*ms, c.to*ms); got != c.want*ms {
			t.Errorf("from %d to %d ms: held up for %v, want %d ms", c.from, c.to, time.Duration(got), c.want)
		}
	}
	// Work of 4 ms that begins at 8 goes on for 2, waits for 15, and ends before 40.
	if got := line.HeldTimeOf(8*ms, 4*ms, 100*ms); got != 15*ms {
		t.Errorf("held up for %v, want 15ms", time.Duration(got))
	}
	// Work of 20 ms that begins there meets all three.
	if got := line.HeldTimeOf(8*ms, 20*ms, 100*ms); got != 25*ms {
		t.Errorf("held up for %v, want 25ms", time.Duration(got))
	}
	// Of what is known to be over at 18 it can have waited for 8.
	if got := line.HeldTimeOf(8*ms, 4*ms, 10*ms); got != 8*ms {
		t.Errorf("held up for %v, want 8ms", time.Duration(got))
	}
	if got, want := line.Sum(12*ms, 45*ms), (Sum{Times: 2, Total: 18 * time.Millisecond, Max: 10 * time.Millisecond}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestNoTimelineKnowsOfNothing(t *testing.T) {
	t.Parallel()
	var none *Timeline
	if none.Late(5) != 0 || none.MaxLate(0, 5) != 0 || none.HeldTime(0, 5) != 0 || none.HeldTimeOf(0, 5, 9) != 0 || none.Sum(0, 5) != (Sum{}) {
		t.Error("a timeline of nothing knows of a hold-up")
	}
	if NewTimeline([]Holdup{at(Engine, 1, 2)}, Threads) != nil {
		t.Error("a timeline of other kinds is not nil")
	}
}

// What gathered in a hold-up waits for the next one where the time between them
// does not suffice for it; where it does, it does not.
func TestLateChainsOverShortBreaks(t *testing.T) {
	t.Parallel()
	// 40 ms, then 2 ms to run in, then 10 ms.
	chained := NewTimeline([]Holdup{at(Threads, 10, 50), at(Threads, 52, 62)}, Threads)
	if got := chained.Late(62 * ms); got != 52*ms {
		t.Errorf("late by %v, want 52ms", time.Duration(got))
	}
	apart := NewTimeline([]Holdup{at(Threads, 10, 50), at(Threads, 70, 80)}, Threads)
	if got := apart.Late(80 * ms); got != 10*ms {
		t.Errorf("late by %v, want 10ms", time.Duration(got))
	}
	// A thread that waited for a core in the break had no time to run.
	queued := NewTimeline([]Holdup{at(Threads, 10, 50), {Kind: Queue, Start: 50 * ms, End: 70 * ms, Lead: 2 * ms}, at(Threads, 70, 80)}, Threads, Queue)
	if got := queued.Late(80 * ms); got != 70*ms {
		t.Errorf("late by %v, want 70ms", time.Duration(got))
	}
	// Short ones in a row, each after the next look, do not become one long one.
	var row []Holdup
	for i := range int64(100) {
		row = append(row, Holdup{Kind: Threads, Start: 2 * i * ms, End: 2*i*ms + 2*ms, Lead: ms})
	}
	if got := NewTimeline(row, Threads).Late(200 * ms); got > 6*ms {
		t.Errorf("late by %v after hold-ups of 1 ms with 1 ms between them", time.Duration(got))
	}
}

// Hold-ups that end together are one; a row of them, each a little later, is not.
func TestRecorderJoinsWhatEndsTogether(t *testing.T) {
	t.Parallel()
	var r Recorder
	r.Add(Holdup{Kind: Threads, Start: 0, End: Floor - 1})
	r.Add(at(Threads, 10, 20))
	r.Add(Holdup{Kind: Threads, Start: 8 * ms, End: 20*ms + near/2})
	r.Add(at(Machine, 12, 20))
	want := []Holdup{{Kind: Threads, Start: 8 * ms, End: 20*ms + near/2}, at(Machine, 12, 20)}
	expect.Same(t, want, r.Since(0))
	for i := range int64(100) {
		r.Add(Holdup{Kind: Engine, Start: 100*ms + i*near, End: 101*ms + i*near})
	}
	for _, h := range r.Since(2) {
		if h.End-h.Start > ms+2*near {
			t.Errorf("a row of hold-ups of 1 ms became one of %v", time.Duration(h.End-h.Start))
		}
	}
	if r.Len() != len(r.Since(0)) {
		t.Errorf("%d hold-ups, %d given", r.Len(), len(r.Since(0)))
	}
}

func TestHoldupsAreReadBack(t *testing.T) {
	t.Parallel()
	list := []Holdup{at(Threads, 1, 2), at(Machine, 3, 5), at(Engine, 7, 9), {Kind: Queue, Start: ms, End: 11 * ms, Lead: 8 * ms}}
	text := must.Get(json.Marshal(Watch{Watched: true, Holdups: list}))(t)
	var got Watch
	must.Do(t, json.Unmarshal(text, &got))
	expect.Same(t, Watch{Watched: true, Holdups: list}, got)
	for _, bad := range []string{`[0,1]`, `[9,1,2]`, `[0,1,-2]`, `[0,1,2,3,4]`, `"x"`} {
		if json.Unmarshal([]byte(bad), &Holdup{}) == nil {
			t.Errorf("%s was read as a hold-up", bad)
		}
	}
}

// On a machine that is held up most of the time, what was late is what a walk over every
// hold-up before it gives.
func TestLateOverThousandsOfHoldups(t *testing.T) {
	t.Parallel()
	draws := rand.New(rand.NewPCG(1, 2))
	for _, held := range []float64{0.5, 0.9, 0.93} {
		var list []Holdup
		for at := int64(0); len(list) < 1000; {
			length := int64(draws.ExpFloat64() * held * 1e7)
			list = append(list, Holdup{Kind: Threads, Start: at, End: at + length, Lead: int64(draws.Float64() * float64(length) / 2)})
			at += length + int64(draws.ExpFloat64()*(1-held)*1e7)
		}
		line := NewTimeline(list, Threads)
		for range 300 {
			at := int64(draws.Float64() * float64(list[len(list)-1].End))
			want, free, room, until := int64(0), int64(0), afterwards, at
			for _, h := range slices.Backward(list) {
				if h.Start > at {
					continue
				}
				free += max(until-h.End, 0)
				if room += h.room(); free > room {
					break
				}
				until, want = h.sure(), at-h.Start
			}
			if got := line.backlog(at); got != want {
				t.Fatalf("held up %v of the time, at %d: late by %d, want %d", held, at, got, want)
			}
		}
	}
}

func BenchmarkLateHeldUpMostly(b *testing.B) {
	var list []Holdup
	for at := int64(0); at < 70e9; at += 10e6 {
		list = append(list, Holdup{Kind: Threads, Start: at, End: at + 92e5})
	}
	line := NewTimeline(list, Threads)
	for i := 0; b.Loop(); i++ {
		line.Late(int64(i%70000) * 1e6)
	}
}

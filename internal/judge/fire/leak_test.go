package fire

import (
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
)

const second = int64(time.Second)

// readings are scrapes of a gauge of the cache, a second apart from one second on.
func readings(kv ...float64) (list []telemetry.Scrape) {
	for i, v := range kv {
		list = append(list, telemetry.Scrape{At: int64(i+1) * second, Reading: &telemetry.Reading{KVUsage: &v, Config: map[string]string{"num_gpu_blocks": "1000"}}})
	}
	return list
}

func TestLeak(t *testing.T) {
	var l Load // from 6.5 s to 8.5 s, 100 closed
	for i := range 200 {
		r := &record.Record{Sent: 6*second + second/2 + int64(i), End: 8*second + second/2, Outcome: llm.OK, AskedPrompt: 10, OutputTokens: 3}
		if i%2 == 0 {
			r.Outcome = llm.Abandoned
		}
		l.Add(r)
	}
	rest := []float64{0, 0.01, 0, 0.01, 0, 0}
	for name, tt := range map[string]struct {
		after    []float64
		standing result.LeakStanding
		back     float64 // seconds, -1 for never
	}{
		"at rest at once":  {[]float64{0.5, 0.5, 0.01, 0, 0, 0, 0.01}, result.NoLeak, 0},
		"at rest later":    {[]float64{0.5, 0.5, 0.4, 0.3, 0, 0, 0.01, 0, 0}, result.NoLeak, 1.5},
		"never":            {[]float64{0.5, 0.5, 0.05, 0.05, 0.05, 0.05, 0.05}, result.Leaks, -1},
		"too few readings": {[]float64{0.5, 0.5, 0}, result.LeakUnset, -1},
	} {
		got := l.Leak(readings(append(append([]float64{}, rest...), tt.after...)...))
		if got.Standing != tt.standing || got.Closed != 100 || got.Prompt != 1000 || got.Output != 300 {
			t.Errorf("%s: %+v", name, got)
		}
		if tt.standing == result.LeakUnset {
			if got.Note == "" || len(got.Missing) == 0 {
				t.Errorf("%s: does not say why: %+v", name, got)
			}
			continue
		}
		if back := got.Gauges[0].ReturnS; tt.back < 0 != (back == nil) || back != nil && *back != tt.back {
			t.Errorf("%s: back after %v, want %v", name, back, tt.back)
		}
		if tt.standing == result.Leaks && (*got.KVPer1000 < 0.49 || *got.KVPer1000 > 0.51) {
			t.Errorf("%s: %v of the cache per 1,000; 0.05 of it were left by 100", name, *got.KVPer1000)
		}
		if *got.KVBound < *got.KVPer1000+0.01 { // a block of a thousand, ten times
			t.Errorf("%s: the bound %v is not above %v", name, *got.KVBound, *got.KVPer1000)
		}
	}
}

// An adapter that stays with a closed request is a leak; a server without adapters is not
// asked for their gauge.
func TestLeakOfAdapters(t *testing.T) {
	t.Parallel()
	l := Load{start: 5*second + 1, end: 5*second + 2, closed: 10}
	var scrapes []telemetry.Scrape
	for i := range int64(10) {
		scrapes = append(scrapes, telemetry.Scrape{At: (i + 1) * second, Reading: &telemetry.Reading{Running: new(0.0), Adapters: new(float64(i / 5))}})
	}
	if got := l.Leak(scrapes); got.Standing != result.Leaks || got.Gauges[1].Name != "adapters" || *got.FalseAlarm != 2.0/252 {
		t.Errorf("%+v", got)
	}
	for i := range scrapes {
		scrapes[i].Reading.Adapters = nil
	}
	if got := l.Leak(scrapes); got.Standing != result.NoLeak || len(got.Missing) != 3 {
		t.Errorf("without adapters: %+v", got)
	}
}

// TestPoolLeaks: one cycle in five that looks like a leak may be chance, two are not,
// and the interval is of the leak per closed request.
func TestPoolLeaks(t *testing.T) {
	cycle := func(leaks bool, rate float64) *result.Leak {
		l := &result.Leak{Standing: result.NoLeak, Closed: 100, KVPer1000: &rate, KVBound: new(rate + 0.01), FalseAlarm: new(3.0 / 252),
			Gauges: []result.GaugeReturn{{Name: "kv", After: rate / 10, ReturnS: new(1.0)}}}
		if leaks {
			l.Standing, l.Gauges[0].ReturnS = result.Leaks, nil
		}
		return l
	}
	for called, want := range []result.LeakStanding{result.NoLeak, result.NoLeak, result.Leaks, result.Leaks} {
		var list []*result.Leak
		for i := range 5 {
			list = append(list, cycle(i < called, 0.02+0.001*float64(i)))
		}
		got := PoolLeaks(append(list, nil))
		if got.Standing != want || got.CalledIn != called || got.Cycles != 5 || got.Closed != 500 || *got.FalseAlarm > alpha || (got.Gauges[0].ReturnS == nil) != (called > 0) {
			t.Errorf("called in %d: %+v", called, got)
		}
		if i := got.KVInterval; *got.KVPer1000 < i[0] || *got.KVPer1000 > i[1] || i[0] < 0.018 || i[1] > 0.026 {
			t.Errorf("%v in %v", *got.KVPer1000, *i)
		}
	}
	if got := PoolLeaks([]*result.Leak{cycle(true, 1)}); got != nil {
		t.Errorf("one cycle is judged as several: %+v", got)
	}
}

// Whatever redline closed before its end may leave something, and so is in the rate.
func TestTimeLimitsCloseToo(t *testing.T) {
	t.Parallel()
	var l Load
	for i := range 100 {
		r := &record.Record{Sent: 6*second + second/2 + int64(i), End: 8*second + second/2, Outcome: llm.Timeout}
		if i < 2 {
			r.Outcome = llm.Abandoned
		}
		l.Add(r)
	}
	got := l.Leak(readings(0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.05, 0.05, 0.05, 0.05, 0.05))
	if got.Closed != 2 || got.Cut != 98 || *got.KVPer1000 < 0.49 || *got.KVPer1000 > 0.51 {
		t.Errorf("%+v, %v per 1,000: 0.05 of the cache were left by 100", got, *got.KVPer1000)
	}
}

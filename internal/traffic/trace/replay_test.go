package trace

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// fiveRows has requests at 0, 1, 2, 4 and 8 seconds.
const fiveRows = "time,input_tokens,output_tokens\n100,1,1\n101,2,1\n102,3,1\n104,4,1\n108,5,1\n"

func TestReplay(t *testing.T) {
	t.Parallel()
	f := open(t, must.File(t, "five.csv", fiveRows), Options{})
	const s = int64(time.Second)
	for _, c := range []struct {
		name   string
		replay Replay
		times  []int64 // the first seven at most
		rows   []int
	}{
		{"all of it", Replay{}, []int64{0, s, 2 * s, 4 * s, 8 * s}, []int{0, 1, 2, 3, 4}},
		{"four times as fast", Replay{Speedup: 4}, []int64{0, s / 4, s / 2, s, 2 * s}, []int{0, 1, 2, 3, 4}},
		{"half as fast", Replay{Speedup: 0.5}, []int64{0, 2 * s, 4 * s, 8 * s, 16 * s}, []int{0, 1, 2, 3, 4}},
		{"from the first second", Replay{From: time.Second}, []int64{0, s, 3 * s, 7 * s}, []int{1, 2, 3, 4}},
		{"from between two", Replay{From: 1500 * ms}, []int64{s / 2, 5 * s / 2, 13 * s / 2}, []int{2, 3, 4}},
		{"the end is not in it", Replay{From: time.Second, For: 3 * time.Second}, []int64{0, s}, []int{1, 2}},
		{"a slice in a loop", Replay{From: time.Second, For: 3 * time.Second, Loop: true, Speedup: 2},
			[]int64{0, s / 2, 3 * s / 2, 2 * s, 3 * s, 7 * s / 2, 9 * s / 2}, []int{1, 2, 1, 2, 1, 2, 1}},
		{"all in a loop", Replay{Loop: true}, []int64{0, s, 2 * s, 4 * s, 8 * s, 10 * s, 11 * s}, []int{0, 1, 2, 3, 4, 0, 1}},
		{"longer than it is", Replay{From: 2 * time.Second, For: time.Hour}, []int64{0, 2 * s, 6 * s}, []int{2, 3, 4}},
	} {
		var times []int64
		for due := range c.replay.Times(f) {
			if times = append(times, due); len(times) == 7 {
				break
			}
		}
		expect.NoDiff(t, cmp.Diff(c.times, times), "%s: times (-want +got)", c.name)
		var rows []int
		for i := range 7 {
			if row, ok := c.replay.Index(f, i); ok {
				rows = append(rows, row)
			}
		}
		expect.NoDiff(t, cmp.Diff(c.rows, rows), "%s: rows (-want +got)", c.name)
		if err := c.replay.Check(f); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestAReplayThatCannotBe(t *testing.T) {
	t.Parallel()
	timed := open(t, must.File(t, "five.csv", fiveRows), Options{})
	untimed := open(t, must.File(t, "lengths.csv", "input_tokens,output_tokens\n1,2\n"), Options{})
	for _, c := range []struct {
		replay Replay
		file   *File
		want   string
	}{
		{Replay{Speedup: -1}, timed, "speedup: expected a factor from 1e-06 to 1e+06, got -1"},
		{Replay{From: -time.Second}, timed, "from: expected a time of at least 0, got -1s"},
		{Replay{For: -time.Second}, timed, "for: expected a time above 0, got -1s"},
		{Replay{From: 9 * time.Second}, timed, "five.csv: from 9s is past its end at 8s"},
		{Replay{From: 5 * time.Second, For: time.Second}, timed, "five.csv: has no request from 5s for 1s"},
		{Replay{Speedup: 2}, untimed, "lengths.csv: has no timestamps to cut or speed up; give a rate instead"},
	} {
		err := c.replay.Check(c.file)
		if err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %s", c.replay, err, c.want)
		}
	}
	if got := slices.Collect(Replay{Loop: true}.Times(untimed)); got != nil {
		t.Errorf("a trace without times gives %v", got)
	}
	if row, ok := (Replay{Loop: true}).Index(untimed, 5); !ok || row != 0 {
		t.Errorf("row %d (%v), want the first again", row, ok)
	}
	if n := (Replay{From: time.Second, For: 3 * time.Second}).Len(timed); n != 2 {
		t.Errorf("%d requests a round, want 2", n)
	}
}

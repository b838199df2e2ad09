//go:build unix

package truth

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := parse(strings.NewReader(`{"id":"a","conn":"c","arrived_ns":9,"before_ns":[10,30],"after_ns":[11,32]}
{"id":"b","conn":"c","before_ns":[],"after_ns":[]}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []Line{
		{ID: "a", Conn: "c", Arrived: 9, Before: []int64{10, 30}, After: []int64{11, 32}},
		{ID: "b", Conn: "c", Before: []int64{}, After: []int64{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a cut line":     `{"id":"a","before_ns":[1`,
		"unequal counts": `{"id":"a","before_ns":[1,2],"after_ns":[1]}`,
	} {
		if _, err := parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: error %v, want one that names line 1", name, err)
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	const ms = int64(time.Millisecond)
	l := Line{Before: []int64{123 * ms, 141 * ms, 162 * ms}}
	if diff := cmp.Diff([]float64{18, 21}, l.Gaps()); diff != "" {
		t.Error("gaps:", diff)
	}
	if got := l.TPOT(); got != 19.5 {
		t.Errorf("tpot %v, want 19.5", got)
	}
	if got := (Line{Before: []int64{5}}).TPOT(); got != 0 {
		t.Errorf("tpot of one token %v, want 0", got)
	}
}

func TestBusyTime(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]time.Duration{
		"cpu  100 20 3 5000 70 4 5 6 0 0": 1320 * time.Millisecond,
		"cpu  100 20 x 5000 70 4 5 6 0 0": 0,
		"cpu0 100 20 3 5000 70 4 5 6 0 0": 0,
		"cpu  100":                        0,
		"":                                0,
	} {
		if got := busyTime(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

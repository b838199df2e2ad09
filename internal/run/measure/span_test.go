package measure

import (
	"testing"
	"time"

	"redline/internal/drive/record"
	"redline/internal/must"
	"redline/internal/run/assemble"
)

func logOf(list ...*record.Record) assemble.Records { return record.FromList(list) }

func TestWindowOfAKilledRun(t *testing.T) {
	t.Parallel()
	at := func(phase record.Phase, due, end int64) *record.Record {
		return &record.Record{Phase: phase, Due: due, End: end}
	}
	for _, tt := range []struct {
		name       string
		log        assemble.Records
		planned    time.Duration
		mark       int64
		start, end int64
	}{
		{"nothing", logOf(), 0, 0, 0, 0},
		{"in the warm-up", logOf(at(record.Warmup, 1, 5)), 0, 0, 0, 0},
		{"in the warm-up with a mark", logOf(at(record.Warmup, 1, 5)), 0, 9, 0, 0},
		{"with a mark after the last end", logOf(at(record.Measure, 10, 20)), 0, 35, 10, 35},
		{"with a mark before the last end", logOf(at(record.Measure, 10, 20)), 0, 15, 10, 15},
		{"with a mark after the planned end", logOf(at(record.Measure, 10, 20)), 30, 90, 10, 40},
		{"in the window", logOf(at(record.Warmup, 1, 5), at(record.Measure, 12, 40), at(record.Measure, 10, 30)), 0, 0, 10, 40},
		{"in the cool-down", logOf(at(record.Measure, 10, 90), at(record.Cooldown, 60, 95), at(record.Cooldown, 50, 96)), 0, 0, 10, 50},
		{"after the planned end", logOf(at(record.Measure, 10, 90)), 30, 0, 10, 40},
		{"before the planned end", logOf(at(record.Measure, 10, 20)), 30, 0, 10, 20},
	} {
		start, end, _, err := measuredSpan(tt.log, tt.planned, tt.mark)
		must.Do(t, err)
		if start != tt.start || end != tt.end {
			t.Errorf("%s: %d to %d, want %d to %d", tt.name, start, end, tt.start, tt.end)
		}
	}
}

package report

import (
	"fmt"
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// The workers that spoil a run stand first, whatever their number.
func TestTheWorstWorkersAreListed(t *testing.T) {
	t.Parallel()
	r := changed(metSample(), func(r *result.Result) {
		for i := range 20 {
			r.Workers = append(r.Workers, result.Worker{Name: fmt.Sprintf("w%02d", i), Host: "zone-a", Share: 0.05, LagP99MS: new(0.1),
				Client: result.Client{CPUs: 4, CPUShare: 0.25}, Clock: result.WorkerClock{UncertaintyMS: 0.2}})
		}
		r.Workers[7].LagP99MS = new(31.0)
		r.Workers[13].Lost, r.Workers[13].LagP99MS = "nothing heard\x1b[31m from it since 12 s into the run", nil
	})
	text := page100(t, r, TerminalOptions{})
	_, table, found := strings.Cut(text, "workers, the latest")
	if !found {
		t.Fatalf("no table of workers:\n%s", text)
	}
	rows := strings.Split(table, "\n")[1:]
	if first := rows[0] + rows[1]; !strings.Contains(first, "w13") || !strings.Contains(first, "nothing heard") || strings.Contains(first, "\x1b[31m") {
		t.Errorf("the lost worker is not first, or its words reach the terminal as they are: %q", first)
	}
	if !strings.Contains(rows[2], "w07") || !strings.Contains(rows[2], "31.0 ms") || !strings.Contains(rows[2], "25% of 4 cores") {
		t.Errorf("the latest worker is not second: %q", rows[2])
	}
	if n := strings.Count(table, "zone-a"); n != maxWorkers {
		t.Errorf("%d workers are listed, want %d", n, maxWorkers)
	}
}

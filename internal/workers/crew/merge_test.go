package crew

import (
	"slices"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestAnAbsentWorkerMayComeBack: what the others tell is heard, but the time up to
// which everything is known waits for a worker until it is lost.
func TestAnAbsentWorkerMayComeBack(t *testing.T) {
	m := newMerge(2)
	var heard []int
	tell := func(r *record.Record) { heard = append(heard, r.ID) }
	ends := func(worker, id int, seq uint64, at, known int64) {
		rec := record.Record{ID: id, Begin: at, Sent: at, End: at, Outcome: llm.OK}
		must.Do(t, m.add(&Batch{Worker: worker, Seq: seq, Known: known, Lines: rec.AppendLine(nil)}))
		m.release(tell)
	}
	ends(0, 0, 1, 40, 100)
	ends(1, 1, 1, 50, 200)
	if got := m.settledUntil(); got != 100 || !slices.Equal(heard, []int{0, 0, 1, 1}) { // each has begun and ended
		t.Errorf("settled up to %d, heard %v", got, heard)
	}
	m.workers[0].absent = true
	ends(1, 3, 2, 150, 300)
	if got := m.settledUntil(); got != 100 || len(heard) != 6 {
		t.Errorf("while one is absent: settled up to %d, heard %v", got, heard)
	}
	m.workers[0].lost = true
	if got := m.settledUntil(); got != 300 {
		t.Errorf("when it is lost: settled up to %d", got)
	}
	m.workers[0].absent, m.workers[0].lost = false, false
	ends(0, 2, 2, 120, 350)
	ends(1, 5, 3, 390, 400)
	if got := m.settledUntil(); got != 350 || heard[len(heard)-1] != 2 {
		t.Errorf("when it is back: settled up to %d, heard %v", got, heard)
	}
}

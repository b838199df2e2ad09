package store

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestTheLogKnowsWhatIsInFlight: a copy of the log at any moment accounts for
// all that was begun up to its last mark.
func TestTheLogKnowsWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := must.Get((*Hold)(nil).Create(filepath.Join(t.TempDir(), "run"), false))(t)
		l := must.Get(d.StartLog(record.Header{Run: "r"}))(t)
		origin := time.Now().Add(-time.Second)
		now := func() int64 { return int64(time.Since(origin)) }
		note := l.Follow(now)
		const every, takes = 100 * time.Millisecond, 300 * time.Millisecond
		answered := func(id int) bool { return id%3 != 0 } // every third hangs
		for id := range 95 {
			r := &record.Record{ID: id, Try: 1, Due: now(), Begin: now()}
			note(r)
			r.Sent = now()
			note(r)
			if answered(id) {
				time.AfterFunc(takes, func() {
					r.Outcome, r.End = llm.OK, now()
					l.Add(r)
				})
			}
			time.Sleep(every)
		}
		e := must.Get(d.ReadEnding())(t)
		if age := time.Duration(now() - e.Mark); age > time.Second {
			t.Errorf("the last mark is %v old", age)
		}
		ok, unfinished := 0, 0
		for r, err := range d.Records() {
			switch {
			case err != nil:
				t.Fatal(err)
			case r.Due > e.Mark:
			case r.Outcome == llm.OK:
				ok++
			default:
				unfinished++
				if r.End != e.Mark {
					t.Errorf("request %d ends at %d, not at the mark", r.ID, r.End)
				}
			}
		}
		due, hang := 0, 0
		for id := range 95 {
			if at := int64(time.Second) + int64(id)*int64(every); at <= e.Mark {
				due++
				if !answered(id) {
					hang++
				}
			}
		}
		if ok+unfinished != due || unfinished < hang || unfinished > hang+4 {
			t.Errorf("%d ok and %d unfinished, of %d due by the mark, %d of which hang", ok, unfinished, due, hang)
		}
		synctest.Wait() // for those that add their records
		must.Do(t, l.Close())
	})
}

// BenchmarkLog shows what a request costs the log, and what following it adds.
func BenchmarkLog(b *testing.B) {
	for _, follow := range []bool{false, true} {
		name := "ended only"
		if follow {
			name = "followed"
		}
		b.Run(name, func(b *testing.B) {
			d, err := (*Hold)(nil).Create(filepath.Join(b.TempDir(), "run"), false)
			if err != nil {
				b.Fatal(err)
			}
			l, err := d.StartLog(record.Header{})
			if err != nil {
				b.Fatal(err)
			}
			note := func(*record.Record) {}
			if follow {
				note = l.Follow(func() int64 { return 1 })
			}
			b.ReportAllocs()
			id := 0
			for b.Loop() {
				r := &record.Record{ID: id, Outcome: llm.OK, Due: 1, Sent: 2}
				note(r)
				note(r)
				note(r)
				l.Add(r)
				id++
			}
			l.Close()
		})
	}
}

package store

import (
	"os"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/must"
)

// A log that is begun again replaces the one before with its first record, and
// leaves it where none comes.
func TestALogIsReplacedByItsFirstRecord(t *testing.T) {
	t.Parallel()
	h := record.Header{Run: "r", OriginUnixNS: 1}
	dir := &Dir{Path: t.TempDir()}
	must.Do(t, dir.WriteCrew([]byte("{}")))
	log := must.Get(dir.StartLog(h))(t)
	for id := range 3 {
		log.Add(&record.Record{ID: id})
	}
	must.Do(t, log.Close())
	before := must.Read(t, dir.RecordsPath())

	var hold Hold
	defer hold.Release()
	again := must.Get(hold.Open(dir.Path))(t)
	log = again.ReplaceLog(h)
	log.Follow(func() int64 { return 1 })
	must.Do(t, log.Close())
	if after, err := os.ReadFile(dir.RecordsPath()); err != nil || string(after) != string(before) {
		t.Errorf("without a record the log became %q, %v", after, err)
	}
	if n := ids(t, log); n != 3 {
		t.Errorf("%d records are read, of 3", n)
	}

	log = again.ReplaceLog(h)
	for id := range 2 {
		log.Add(&record.Record{ID: id})
	}
	must.Do(t, log.Close())
	if n := ids(t, log); n != 2 {
		t.Errorf("%d records are read, of 2", n)
	}
	if got, err := again.Header(); err != nil || got.Run != "r" {
		t.Errorf("header %+v, %v", got, err)
	}
	if _, ok := ReadCrew(dir.Path); !ok {
		t.Error("the run cannot be resumed again")
	}
}

func ids(t *testing.T, log *Log) (n int) {
	t.Helper()
	for _, err := range log.Records() {
		must.Do(t, err)
		n++
	}
	return n
}

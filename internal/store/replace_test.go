package store

import (
	"os"
	"testing"

	"redline/internal/drive/record"
)

// A log that is begun again replaces the one before with its first record, and
// leaves it where none comes.
func TestALogIsReplacedByItsFirstRecord(t *testing.T) {
	t.Parallel()
	h := record.Header{Run: "r", OriginUnixNS: 1}
	dir := &Dir{Path: t.TempDir()}
	if err := dir.WriteCrew([]byte("{}")); err != nil {
		t.Fatal(err)
	}
	log, err := dir.StartLog(h)
	if err != nil {
		t.Fatal(err)
	}
	for id := range 3 {
		log.Add(&record.Record{ID: id})
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(dir.RecordsPath())
	if err != nil {
		t.Fatal(err)
	}

	var hold Hold
	defer hold.Release()
	again, err := hold.Open(dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	log = again.ReplaceLog(h)
	log.Follow(func() int64 { return 1 })
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
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
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

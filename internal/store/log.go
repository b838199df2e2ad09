package store

import (
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"redline/internal/record"
)

const (
	// flushEvery bounds what a kill can lose.
	flushEvery = 250 * time.Millisecond
	// backlog is how many ended requests may wait for the disk before it
	// holds up the load.
	backlog = 1 << 14
)

// Log appends records to a run's log on a goroutine of its own, so that a slow
// disk does not delay a request.
type Log struct {
	file    *os.File
	w       *record.Writer
	records chan *record.Record
	done    sync.WaitGroup

	mu  sync.Mutex
	err error
}

// StartLog begins the run's record log.
func (d *Dir) StartLog(h record.Header) (*Log, error) {
	path := filepath.Join(d.Path, recordsFile)
	f, err := os.Create(path)
	if err != nil {
		return nil, cause(path, err)
	}
	w, err := record.NewWriter(f, h)
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, cause(path, err)
	}
	l := &Log{file: f, w: w, records: make(chan *record.Record, backlog)}
	l.done.Go(l.drain)
	return l, nil
}

// Add appends a record, which belongs to the log from then on.
func (l *Log) Add(r *record.Record) { l.records <- r }

func (l *Log) drain() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case r, ok := <-l.records:
			if !ok {
				return
			}
			l.note(l.w.Write(r))
		case <-tick.C:
			l.note(l.w.Flush())
		}
	}
}

// note keeps the first error: a full disk must not end the run.
func (l *Log) note(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = cause(l.file.Name(), err)
	}
}

// Err is the first error of the log so far.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close writes what is left. Nothing may be added afterwards.
func (l *Log) Close() error {
	close(l.records)
	l.done.Wait()
	l.note(l.w.Flush())
	l.note(l.file.Close())
	return l.Err()
}

// Records reads the log that was closed, from its start at each call, with
// those records in it that the disk would not take.
func (l *Log) Records() iter.Seq2[*record.Record, error] {
	return readRecords(l.file.Name(), l.w.Unwritten())
}

package trace

import (
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"redline/internal/text"
)

// File is an open trace. Its methods may be called at the same time.
type File struct {
	path, format string
	file         *os.File
	source       source
	n            int
	// times are offsets from the first request in nanoseconds, ascending; nil
	// without times.
	times   []int64
	origin  int64
	timed   bool
	skipped int
	// notes say nothing of any one row; the first bad row is kept apart from
	// them, because it does.
	notes    []string
	firstBad error
	// columns names fields with a role, and idle those without. A fitted workload
	// does not repeat them: names of another's log are none of its business.
	columns []string
	idle    string
}

// source gives rows without their times.
type source interface {
	row(i int) (Row, error)
	rows() iter.Seq2[Row, error]
}

// count takes up a row that the scan let through.
func (f *File) count(e entry) {
	f.n++
	if f.timed = e.timed; e.timed {
		f.times = append(f.times, e.stamp)
	}
}

// finish counts times from the first request and spreads those that are
// coarse.
func (f *File) finish(s *scan, reader lineReader, o Options) {
	f.skipped, f.firstBad = s.skipped, s.firstBad
	f.notes, f.columns, f.idle = reader.notes(), reader.columnsUsed(), reader.idle()
	if len(f.times) > 0 {
		f.origin = f.times[0]
		for i := range f.times {
			f.times[i] -= f.origin
		}
		if quantum := quantum(f.times); quantum > 0 && !o.KeepTimes {
			spreadTimes(f.times, quantum)
			f.notes = append(f.notes, fmt.Sprintf("timestamps come in steps of about %v: requests that share one are spread over the step",
				quantum.Round(100*time.Millisecond)))
		}
	} else {
		f.notes = append(f.notes, "has no timestamps: requests have its lengths, and come at --rate or --concurrency")
	}
	if s.leftOut > 0 {
		f.notes = append(f.notes, fmt.Sprintf("failed requests left out: %s", text.Count(s.leftOut)))
	}
}

// Close lets go of the file.
func (f *File) Close() error { return f.file.Close() }

// Path is the name it was opened by.
func (f *File) Path() string { return f.path }

// Format is the name of its format.
func (f *File) Format() string { return f.format }

// ColumnsUsed lists the columns in use as ROLE=NAME, where the format has columns.
func (f *File) ColumnsUsed() []string { return f.columns }

// UnusedColumns names the columns that have no role, "" where there are none.
func (f *File) UnusedColumns() string { return f.idle }

// Len is the number of rows.
func (f *File) Len() int { return f.n }

// HasTimes says whether rows have times.
func (f *File) HasTimes() bool { return f.timed }

// span is the time from the first request to the last.
func (f *File) span() time.Duration {
	if len(f.times) == 0 {
		return 0
	}
	return time.Duration(f.times[len(f.times)-1])
}

// SkippedRows counts the bad rows that were left out.
func (f *File) SkippedRows() int { return f.skipped }

// Notes are what a reader of the trace's figures should know, a sentence each.
func (f *File) Notes() []string {
	notes := slices.Clone(f.notes)
	if f.idle != "" {
		notes = append(notes, f.idle)
	}
	if f.skipped > 0 {
		notes = append(notes, fmt.Sprintf("bad rows left out: %s, the first: %v", text.Count(f.skipped), f.firstBad))
	}
	return notes
}

// Row gives the i-th row in order of time.
func (f *File) Row(i int) (Row, error) {
	if i < 0 || i >= f.n {
		return Row{}, fmt.Errorf("%s: no row %d, it has %d", f.path, i, f.n)
	}
	row, err := f.source.row(i)
	return f.timeOf(row, i), err
}

// rows gives all rows in order of time. After an error there are no more.
func (f *File) rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		i := 0
		for row, err := range f.source.rows() {
			if !yield(f.timeOf(row, i), err) || err != nil {
				return
			}
			i++
		}
	}
}

func (f *File) timeOf(row Row, i int) Row {
	if i < len(f.times) {
		row.At = time.Duration(f.times[i])
	}
	return row
}

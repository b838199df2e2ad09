package trace

import (
	"io"
	"iter"
	"os"
	"sync"
)

// chunkRows is how many rows are read at once: few enough to parse in a
// fraction of a millisecond, enough to keep the index small.
const chunkRows = 256

// keptChunks is how many chunks are remembered: a replay walks through the
// file, several of its preparations at a time.
const keptChunks = 8

// mark is where a line stands, and the gate's state before it.
type mark struct {
	offset int64
	line   int
	before gate
}

// indexedRows reads rows from a file of one row a line, by an index of where every
// chunkRows-th stands.
type indexedRows struct {
	file  *os.File
	path  string
	skip  bool
	marks []mark
	n     int

	// mu guards what follows; columns has buffers of its own.
	mu      sync.Mutex
	columns *columnReader
	cache   [keptChunks]chunk
	turn    int
}

type chunk struct {
	number int
	rows   []Row
}

// add notes a row of the scan.
func (x *indexedRows) add(_ entry, where mark) {
	if x.n%chunkRows == 0 {
		x.marks = append(x.marks, where)
	}
	x.n++
}

func (x *indexedRows) row(i int) (Row, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	number := i / chunkRows
	for _, c := range x.cache {
		if c.rows != nil && c.number == number {
			return c.rows[i%chunkRows], nil
		}
	}
	rows, err := x.read(number)
	if err != nil {
		return Row{}, err
	}
	x.cache[x.turn] = chunk{number, rows}
	x.turn = (x.turn + 1) % keptChunks
	return rows[i%chunkRows], nil
}

// read parses a chunk again, letting through what the scan let through.
func (x *indexedRows) read(number int) ([]Row, error) {
	from := x.marks[number]
	want := min(chunkRows, x.n-number*chunkRows)
	rows := make([]Row, 0, want)
	size := int64(1 << 62)
	if number+1 < len(x.marks) {
		size = x.marks[number+1].offset - from.offset
	}
	lines := newLines(io.NewSectionReader(x.file, from.offset, size), size)
	lines.number = from.line - 1
	g := from.before
	for len(rows) < want {
		line, _, err := lines.next()
		if err != nil {
			return nil, fault(at(x.path, lines.number), "the file changed while it was in use")
		}
		e, err := x.columns.parse(line)
		if err == nil {
			err = g.pass(e, true)
		}
		if err == errLeftOut || (err != nil && x.skip) {
			continue
		}
		if err != nil {
			return nil, fault(at(x.path, lines.number), "the file changed while it was in use: %v", err)
		}
		e.row.Line = lines.number
		rows = append(rows, e.row)
	}
	return rows, nil
}

func (x *indexedRows) rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for number := range x.marks {
			x.mu.Lock()
			rows, err := x.read(number)
			x.mu.Unlock()
			if err != nil {
				yield(Row{}, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

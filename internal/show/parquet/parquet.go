// Package parquet writes a table as an Apache Parquet file: columns of numbers
// and texts, any of which may be unknown. It writes the plainest form that every
// reader knows (one gzipped page of PLAIN values for each column of a row group) and
// reads nothing.
package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// Column is one column of a table. Of gives its value in a row, and false where
// that is not known. A value is an int, a float64 or a string: of one type in every
// row, known or not, and in row -1, which is asked for the type alone.
type Column struct {
	Name string
	Of   func(row int) (value any, known bool)
}

// groupRows is how many rows share a row group: readers hold one at a time.
const groupRows = 100_000

// Numbers of the format (parquet.thrift).
const (
	typeInt64, typeDouble, typeBytes = 2, 5, 6

	optional, utf8   = 1, 0
	plain, levelsRLE = 0, 3
	codecGzip        = 2
	magic            = "PAR1"
)

// chunk is where the values of one column of a row group are.
type chunk struct {
	offset, size, whole int64 // whole is the size before compression
}

// group is a row group.
type group struct {
	rows   int
	chunks []chunk
}

// file counts what is written, since a footer names places by their offset.
type file struct {
	w    io.Writer
	at   int64
	fail error
}

func (f *file) write(b []byte) {
	if f.fail != nil {
		return
	}
	_, f.fail = f.w.Write(b)
	f.at += int64(len(b))
}

// Write writes a table of so many rows.
func Write(w io.Writer, rows int, columns []Column) error {
	types, err := typesOf(columns)
	if err != nil {
		return err
	}
	f := &file{w: w}
	f.write([]byte(magic))
	var groups []group
	for from := 0; from < rows; from += groupRows {
		g := group{rows: min(groupRows, rows-from)}
		for i, c := range columns {
			written, err := f.page(c, types[i], from, g.rows)
			if err != nil {
				return err
			}
			g.chunks = append(g.chunks, written)
		}
		groups = append(groups, g)
	}
	footer := footer(rows, columns, types, groups)
	f.write(footer)
	f.write(binary.LittleEndian.AppendUint32(nil, uint32(len(footer))))
	f.write([]byte(magic))
	return f.fail
}

// typesOf asks no row of the table, so that a column has the same type whatever is
// in it.
func typesOf(columns []Column) ([]int, error) {
	types := make([]int, len(columns))
	for i, c := range columns {
		switch v, _ := c.Of(-1); v.(type) {
		case int:
			types[i] = typeInt64
		case float64:
			types[i] = typeDouble
		case string:
			types[i] = typeBytes
		default:
			return nil, fmt.Errorf("column %s is neither a number nor a text", c.Name)
		}
	}
	return types, nil
}

// page writes one column of a row group: which values are known, then those.
func (f *file) page(c Column, kind, from, rows int) (chunk, error) {
	known, values := make([]bool, rows), []byte(nil)
	for i := range rows {
		v, ok := c.Of(from + i)
		if known[i] = ok; !ok {
			continue
		}
		switch v := v.(type) {
		case int:
			values = binary.LittleEndian.AppendUint64(values, uint64(v))
		case float64:
			values = binary.LittleEndian.AppendUint64(values, math.Float64bits(v))
		case string:
			values = append(binary.LittleEndian.AppendUint32(values, uint32(len(v))), v...)
		}
	}
	body := append(levels(known), values...)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return chunk{}, err
	}
	if err := z.Close(); err != nil {
		return chunk{}, err
	}
	header := pageHeader(rows, len(body), packed.Len())
	at := f.at
	f.write(header)
	f.write(packed.Bytes())
	return chunk{offset: at, size: f.at - at, whole: int64(len(header) + len(body))}, f.fail
}

// levels says which values are known: runs of the same answer behind their length.
func levels(known []bool) []byte {
	var runs []byte
	for i := 0; i < len(known); {
		end := i
		for end < len(known) && known[end] == known[i] {
			end++
		}
		runs = binary.AppendUvarint(runs, uint64(end-i)<<1)
		if known[i] {
			runs = append(runs, 1)
		} else {
			runs = append(runs, 0)
		}
		i = end
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(runs))), runs...)
}

func pageHeader(rows, whole, packed int) []byte {
	var t compact
	t.int32(1, 0) // a data page
	t.int32(2, whole)
	t.int32(3, packed)
	t.open(5)
	t.int32(1, rows)
	t.int32(2, plain)
	t.int32(3, levelsRLE)
	t.int32(4, levelsRLE)
	t.endStruct()
	return t.end()
}

// footer is the file's metadata: its columns, and where each row group has them.
func footer(rows int, columns []Column, types []int, groups []group) []byte {
	var t compact
	t.int32(1, 1) // the format's version
	t.list(2, len(columns)+1, structType)
	t.item()
	t.text(4, "schema")
	t.int32(5, len(columns))
	t.endStruct()
	for i, c := range columns {
		t.item()
		t.int32(1, types[i])
		t.int32(3, optional)
		t.text(4, c.Name)
		if types[i] == typeBytes {
			t.int32(6, utf8)
		}
		t.endStruct()
	}
	t.int64(3, int64(rows))
	t.list(4, len(groups), structType)
	for _, g := range groups {
		t.item()
		t.group(g, columns, types)
		t.endStruct()
	}
	t.text(6, "redline version 1 (build 1)")
	return t.end()
}

func (t *compact) group(g group, columns []Column, types []int) {
	total := int64(0)
	t.list(1, len(columns), structType)
	for i, c := range g.chunks {
		total += c.whole
		t.item()
		t.int64(2, c.offset)
		t.open(3)
		t.int32(1, types[i])
		t.list(2, 2, int32Type)
		t.varint(plain)
		t.varint(levelsRLE)
		t.list(3, 1, bytesType)
		t.bytes(columns[i].Name)
		t.int32(4, codecGzip)
		t.int64(5, int64(g.rows))
		t.int64(6, c.whole)
		t.int64(7, c.size)
		t.int64(9, c.offset)
		t.endStruct()
		t.endStruct()
	}
	t.int64(2, total)
	t.int64(3, int64(g.rows))
}

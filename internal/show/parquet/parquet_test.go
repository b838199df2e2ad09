package parquet

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/must"
	"redline/internal/oracle"
)

// table is what a test writes: nil is not known.
type table struct {
	names []string
	empty []any // a value of each column's type
	rows  [][]any
}

func (t *table) columns() []Column {
	var list []Column
	for i, name := range t.names {
		list = append(list, Column{name, func(row int) (any, bool) {
			if row < 0 || t.rows[row][i] == nil {
				return t.empty[i], false
			}
			return t.rows[row][i], true
		}})
	}
	return list
}

// thrift reads a struct of the compact protocol as its fields by number.
type thrift struct {
	b  []byte
	at int
}

func (t *thrift) uvarint() uint64 {
	v, n := binary.Uvarint(t.b[t.at:])
	t.at += n
	return v
}

func (t *thrift) value(kind byte) any {
	switch kind {
	case int32Type, int64Type:
		v, n := binary.Varint(t.b[t.at:])
		t.at += n
		return int(v)
	case bytesType:
		n := int(t.uvarint())
		t.at += n
		return string(t.b[t.at-n : t.at])
	case listType:
		head := t.b[t.at]
		t.at++
		n := int(head >> 4)
		if n == 15 {
			n = int(t.uvarint())
		}
		list := []any{}
		for range n {
			list = append(list, t.value(head&15))
		}
		return list
	case structType:
		fields, id := map[int]any{}, 0
		for {
			head := t.b[t.at]
			t.at++
			if head == 0 {
				return fields
			}
			id += int(head >> 4)
			fields[id] = t.value(head & 15)
		}
	}
	panic(fmt.Sprintf("type %d", kind))
}

// read reads a file as the format's description says, with no code of the writer.
func read(t interface{ Fatal(...any) }, file []byte) *table {
	if string(file[:4]) != "PAR1" || string(file[len(file)-4:]) != "PAR1" {
		t.Fatal("no magic number")
	}
	size := int(binary.LittleEndian.Uint32(file[len(file)-8:]))
	meta := (&thrift{b: file[len(file)-8-size : len(file)-8]}).value(structType).(map[int]any)
	got := &table{}
	for _, e := range meta[2].([]any)[1:] {
		element := e.(map[int]any)
		got.names = append(got.names, element[4].(string))
		got.empty = append(got.empty, map[int]any{typeInt64: 0, typeDouble: 0.0, typeBytes: ""}[element[1].(int)])
	}
	got.rows = make([][]any, meta[3].(int))
	row := 0
	for _, g := range meta[4].([]any) {
		of := g.(map[int]any)
		for i, c := range of[1].([]any) {
			chunk := c.(map[int]any)[3].(map[int]any)
			for j, v := range readPage(t, file[chunk[9].(int):], chunk[7].(int), of[3].(int), got.empty[i]) {
				got.rows[row+j] = append(got.rows[row+j], v)
			}
		}
		row += of[3].(int)
	}
	return got
}

func readPage(t interface{ Fatal(...any) }, b []byte, size, rows int, empty any) []any {
	r := &thrift{b: b}
	header := r.value(structType).(map[int]any)
	if r.at+header[3].(int) != size || header[5].(map[int]any)[1] != rows {
		t.Fatal("the page is not as long as its chunk")
	}
	z, err := gzip.NewReader(bytes.NewReader(b[r.at:size]))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil || len(body) != header[2] {
		t.Fatal("page of", len(body), "bytes, want", header[2], err)
	}
	levels := int(binary.LittleEndian.Uint32(body))
	known, values := &thrift{b: body[4 : 4+levels]}, body[4+levels:]
	var list []any
	for known.at < levels {
		n := int(known.uvarint() >> 1)
		known.at++
		for range n {
			var v any
			if known.b[known.at-1] == 1 {
				switch empty.(type) {
				case int:
					v, values = int(binary.LittleEndian.Uint64(values)), values[8:]
				case float64:
					v, values = math.Float64frombits(binary.LittleEndian.Uint64(values)), values[8:]
				case string:
					n := binary.LittleEndian.Uint32(values)
					v, values = string(values[4:4+n]), values[4+n:]
				}
			}
			list = append(list, v)
		}
	}
	return list
}

// Whatever is written is read again, by the format's description.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := &table{}
		generators := []*rapid.Generator[any]{rapid.Int().AsAny(), rapid.Float64().AsAny(), rapid.String().AsAny()}
		kinds := rapid.SliceOfN(rapid.IntRange(0, 2), 1, 20).Draw(t, "kinds")
		for i, k := range kinds {
			want.names, want.empty = append(want.names, fmt.Sprint("c", i)), append(want.empty, []any{0, 0.0, ""}[k])
		}
		want.rows = make([][]any, rapid.IntRange(0, 30).Draw(t, "rows"))
		for i := range want.rows {
			for _, k := range kinds {
				var v any
				if rapid.Bool().Draw(t, "known") {
					v = generators[k].Draw(t, "v")
				}
				want.rows[i] = append(want.rows[i], v)
			}
		}
		var file bytes.Buffer
		must.Do(t, Write(&file, len(want.rows), want.columns()))
		if diff := cmp.Diff(want, read(t, file.Bytes()), cmp.AllowUnexported(table{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// pandas and DuckDB read a table of several row groups, cell by cell as it is.
func TestPandasAndDuckDBRead(t *testing.T) {
	t.Parallel()
	python := oracle.Python(t, filepath.Join("testdata", "requirements.txt"))
	for _, rows := range []int{0, 1, 2*groupRows + 1} {
		r := rand.New(rand.NewPCG(1, uint64(rows)))
		tt := &table{names: []string{"id", "share", "said", "never"}, empty: []any{0, 0.0, "", 0.0}, rows: make([][]any, rows)}
		var lines bytes.Buffer
		for i := range tt.rows {
			tt.rows[i] = []any{i - 5, nil, []any{"", "ä€😀", "a\nb\x00c", nil}[r.IntN(4)], nil}
			if i%7 > 2 {
				tt.rows[i][1] = r.NormFloat64() * 1e6
			}
			line := map[string]any{}
			for j, v := range tt.rows[i] {
				if v != nil {
					line[tt.names[j]] = v
				}
			}
			must.Do(t, json.NewEncoder(&lines).Encode(line))
		}
		var file bytes.Buffer
		must.Do(t, Write(&file, rows, tt.columns()))
		dir := t.TempDir()
		parquet, jsonl := filepath.Join(dir, "t.parquet"), filepath.Join(dir, "t.jsonl")
		must.Do(t, errors.Join(os.WriteFile(parquet, file.Bytes(), 0o644), os.WriteFile(jsonl, lines.Bytes(), 0o644)))
		out, err := exec.Command(python, "testdata/judge.py", parquet, jsonl, "id:int64", "share:double", "said:string", "never:double").CombinedOutput()
		want := fmt.Sprintf("%d rows in %d groups\n", rows, (rows+groupRows-1)/groupRows)
		if err != nil || string(out) != want {
			t.Errorf("%d rows: %v: %s", rows, err, out)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestMistakes(t *testing.T) {
	one := Column{"a", func(int) (any, bool) { return 1, true }}
	if err := Write(full{}, 3, []Column{one}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("to a full disk: %v", err)
	}
	if err := Write(io.Discard, 3, []Column{one, {"b", func(int) (any, bool) { return true, true }}}); err == nil || !strings.Contains(err.Error(), "column b") {
		t.Errorf("a column of no known type: %v", err)
	}
}

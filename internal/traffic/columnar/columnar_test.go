package columnar

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// rowsOf reads lines of JSON.
func rowsOf(t *testing.T, lines []byte) (rows []any) {
	for line := range bytes.Lines(lines) {
		var row any
		must.Do(t, json.Unmarshal(line, &row))
		rows = append(rows, row)
	}
	return rows
}

func eachRow(data []byte) (lines []byte, err error) {
	err = EachRow(bytes.NewReader(data), int64(len(data)), func(row []byte) error {
		lines = append(append(lines, row...), '\n')
		return nil
	})
	return lines, err
}

// TestArrowFiles reads what Arrow wrote (pyarrow 26, pages of version 1 in snappy and
// of version 2 in zstd, dictionaries, several row groups, lists in lists, structs
// and nulls) and compares it with the same rows as JSON, which Arrow did not write.
func TestArrowFiles(t *testing.T) {
	want := rowsOf(t, must.Read(t, filepath.Join("testdata", "rows.jsonl")))
	for _, name := range []string{"snappy.parquet", "zstd_v2.parquet"} {
		lines := must.Get(eachRow(must.Read(t, filepath.Join("testdata", name))))(t)
		expect.NoDiff(t, cmp.Diff(want, rowsOf(t, lines)), "%s (-want +got)", name)
	}
	_, err := eachRow(must.Read(t, filepath.Join("testdata", "brotli.parquet")))
	if err == nil || !strings.Contains(err.Error(), "column question: is compressed by BROTLI, which is not read") {
		t.Errorf("a codec that is not known: %v", err)
	}
}

// FuzzEachRow: whatever a file holds, reading it ends with rows of JSON or an error.
func FuzzEachRow(f *testing.F) {
	whole := must.Read(f, filepath.Join("testdata", "snappy.parquet"))
	for at := 0; at < len(whole); at += 397 {
		f.Add(append(bytes.Clone(whole[:at]), whole[len(whole)-8:]...))
		broken := bytes.Clone(whole)
		broken[at] ^= 0x55
		f.Add(broken)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := eachRow(data)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %q", err)
		}
		rowsOf(t, lines)
	})
}

package trace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
)

// FuzzOpen reads any bytes as any format: the first byte picks it. Whatever is
// accepted must be consistent, whatever is refused must be one line.
func FuzzOpen(f *testing.F) {
	files := must.Get(filepath.Glob("testdata/*.*"))(f)
	for _, file := range files {
		data := must.Read(f, file)
		name, _ := Recognize(data)
		f.Add(append([]byte{byte(max(slices.Index(Formats(), name), 0))}, data...))
	}
	path := filepath.Join(f.TempDir(), "fuzzed")
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		names := Formats()
		o := Options{Format: names[int(data[0]&0x7f)%len(names)], SkipBadRows: data[0] >= 0x80, Salt: 1}
		Recognize(data[1:])
		own := fmt.Sprint(path, os.Getpid())
		must.Write(t, own, data[1:])
		file, err := Open(own, o)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %q", err)
			}
			return
		}
		defer file.Close()
		checkRows(t, file)
		checkFit(t, file)
	})
}

// checkRows holds every row of an accepted file against what rows are.
func checkRows(t *testing.T, file *File) {
	n, last := 0, Row{}
	for row, err := range file.rows() {
		must.Do(t, err)
		if row.At < last.At || row.Prompt < 0 || row.Output < 0 || row.Prompt > maxTokens || row.Output > maxTokens || row.Line < 1 {
			t.Fatalf("row %d is %+v after %+v", n, row, last)
		}
		last = row
		n++
	}
	if n != file.Len() || n == 0 || last.At != file.span() {
		t.Fatalf("%d rows until %v, want %d until %v", n, last.At, file.Len(), file.span())
	}
}

// checkFit fits a file and sends the workload through its document.
func checkFit(t *testing.T, file *File) {
	w, err := Fit(FitOptions{}, file)
	if err != nil {
		return
	}
	must.Do(t, w.validate())
	if w.Arrivals != nil && len(w.Arrivals.Rates) > 200 {
		return // weeks of idle minutes take long and show nothing new
	}
	var b bytes.Buffer
	must.Do(t, w.Write(&b))
	if _, err := read("fitted", b.Bytes()); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
}

// FuzzRead reads any bytes as a workload: what is accepted can be used and
// written again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("schema: redline/workload/1\npairs: {independent: true}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := read("w.yaml", data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than one line: %q", err)
			}
			return
		}
		var b bytes.Buffer
		must.Do(t, w.Write(&b))
		if _, err := read("w.yaml", b.Bytes()); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	})
}

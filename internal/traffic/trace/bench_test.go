package trace

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"redline/internal/must"
)

// writeLong writes a log of n rows in the shape of a format.
func writeLong(t testing.TB, name string, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	file := must.Get(os.Create(path))(t)
	defer file.Close()
	w := bufio.NewWriter(file)
	start := time.Date(2024, 2, 1, 9, 0, 0, 0, time.UTC)
	if name == "azure.csv" {
		w.WriteString(header)
	}
	for i := range n {
		at, prompt, output := start.Add(time.Duration(i)*37*time.Millisecond), 1+i*7919%4000, 1+i*104729%700
		switch name {
		case "azure.csv":
			fmt.Fprintf(w, "%s,%d,%d\n", at.Format("2006-01-02 15:04:05.0000000"), prompt, output)
		case "mooncake.jsonl":
			fmt.Fprintf(w, `{"timestamp": %d, "input_length": 12035, "output_length": %d, "hash_ids": [0`, i*37, output)
			for b := range 23 {
				fmt.Fprintf(w, ", %d", i*20+b)
			}
			w.WriteString("]}\n")
		case "litellm.jsonl":
			fmt.Fprintf(w, `{"id":"r%d","call_type":"acompletion","status":"success","startTime":%d.%09d,"prompt_tokens":%d,"completion_tokens":%d,"model_group":"small","end_user":"user-%d","session_id":"session-%d"}`+"\n",
				i, at.Unix(), at.Nanosecond(), prompt, output, i%500, i/3)
		}
	}
	must.Do(t, w.Flush())
	return path
}

// heap is what is in use after a collection.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestMemoryIsFlat runs alone, before the tests that run at the same time.
func TestMemoryIsFlat(t *testing.T) {
	const rows = 30_000
	for name, most := range map[string]float64{"azure.csv": 20, "mooncake.jsonl": 20, "litellm.jsonl": 120} {
		path := writeLong(t, name, rows)
		before := heap()
		f := open(t, path, Options{})
		must.Get(f.Row(rows / 2))(t)
		held := float64(int64(heap()-before)) / rows
		t.Logf("%s: %.1f bytes a row", name, held)
		if held > most {
			t.Errorf("%s: %.1f bytes a row are held, want at most %.0f", name, held, most)
		}
		runtime.KeepAlive(f)
	}
}

// BenchmarkMillionRows opens, summarises and fits a long trace. MB/peak is
// what the process took from the system, the log's making left out.
func BenchmarkMillionRows(b *testing.B) {
	const rows = 1_000_000
	for _, name := range []string{"azure.csv", "mooncake.jsonl", "litellm.jsonl"} {
		b.Run(name, func(b *testing.B) {
			path := writeLong(b, name, rows)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var opening, fitting time.Duration
			for b.Loop() {
				begin := time.Now()
				f, err := Open(path, Options{})
				if err != nil {
					b.Fatal(err)
				}
				opening += time.Since(begin)
				begin = time.Now()
				if _, err := Fit(FitOptions{}, f); err != nil {
					b.Fatal(err)
				}
				fitting += time.Since(begin)
				f.Close()
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.Sys-min(before.Sys, after.Sys))/(1<<20), "MB/grown")
			b.ReportMetric(float64(after.Sys)/(1<<20), "MB/peak")
			b.ReportMetric(rows*float64(b.N)/opening.Seconds(), "rows/s/open")
			b.ReportMetric(rows*float64(b.N)/fitting.Seconds(), "rows/s/fit")
		})
	}
}

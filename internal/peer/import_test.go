package peer

import (
	"math"
	"strings"
	"testing"
)

// Every file that this package writes is read again, with the figures that were in
// it.
func TestFilesAreReadAgain(t *testing.T) {
	for _, c := range []struct {
		line    string
		file    int
		singles bool
	}{
		{"vllm bench serve --save-result --save-detailed", 0, true},
		{"vllm bench serve --save-result", 0, false},
		{"sglang.bench_serving --output-details", 0, true},
		{"sglang.bench_serving", 0, false},
		{"aiperf profile", 0, false},
		{"aiperf profile", 2, true},
		{"genai-perf profile", 0, false},
		{"genai-perf profile", 2, true},
		{"guidellm benchmark", 0, true},
		{"inference-perf --report.request_lifecycle.per_request true", 0, true},
		{"inference-perf", 1, false},
		{"token_benchmark_ray.py --results-dir d", 0, false},
		{"token_benchmark_ray.py --results-dir d", 1, true},
	} {
		v := values(t, c.line)
		files, err := v.peer.Files(v, []*Run{sample()})
		if err != nil {
			t.Fatal(err)
		}
		runs, err := Import(files[c.file].Content)
		if err != nil {
			t.Errorf("%s: %s: %v", c.line, files[c.file].Path, err)
			continue
		}
		r := runs[0]
		if (r.Figures == nil) != c.singles || r.Source != v.peer.Name {
			t.Errorf("%s: %s of %s has single requests: %t", c.line, files[c.file].Path, r.Source, r.Figures == nil)
			continue
		}
		got := 1000 * r.each(ttft).mean()
		if !c.singles {
			got = r.Figures.TTFT.Mean
		}
		if math.Abs(got-300) > 0.01 {
			t.Errorf("%s: %s has a mean ttft of %v ms, want 300", c.line, files[c.file].Path, got)
		}
	}
}

func TestForeignFilesAreNamed(t *testing.T) {
	for content, want := range map[string]string{
		`{"a":1,"b":2}`: "it has the keys a, b; known are vLLM",
		``:              "holds no result",
		`[]`:            "holds no result",
		`{"a":`:         "not JSON",
	} {
		if _, err := Import([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}

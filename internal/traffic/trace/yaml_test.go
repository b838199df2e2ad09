package trace

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestWorkloadsSurviveTheirDocument(t *testing.T) {
	t.Parallel()
	long, _ := fitLog(t, FitOptions{}, writeLog(t, modulatedArrivals(2, 9, 20*time.Second, 10*time.Minute)))
	short, _ := fitLog(t, FitOptions{Independent: true, KeepNames: true}, "testdata/litellm.jsonl")
	blocks, _ := fitLog(t, FitOptions{}, "testdata/mooncake.jsonl")
	for name, want := range map[string]*FittedWorkload{"long": long, "short": short, "blocks": blocks} {
		var b bytes.Buffer
		must.Do(t, want.Write(&b))
		if !IsFitted(b.Bytes()) {
			t.Errorf("%s: not recognized as a workload", name)
		}
		got, err := read("w.yaml", b.Bytes())
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// small is a workload as a person would write it.
const small = `schema: redline/workload/1
source: {formats: [azure], requests: 3}
prompt_tokens:
  percentiles: {p50: 10, p90: 10, p95: 10, p99: 10, max: 10, mean: 10}
  buckets: []
  curve: {at: [0, 1], value: [10, 20]}
output_tokens:
  percentiles: {p50: 10, p90: 10, p95: 10, p99: 10, max: 10, mean: 10}
  buckets: []
  curve: {at: [0, 1], value: [10, 20]}
pairs:
  independent: true
  bins: []
arrivals:
  per_minute: [60, 120]
  chance: 1
  evenness: 1
  bursts:
  - parts: 6
    crowding: 0.1
tenants:
- {name: a, share: 0.5}
`

func TestAWorkloadWrittenByHandIsReadStrictly(t *testing.T) {
	t.Parallel()
	if w, err := read("w.yaml", []byte(small)); err != nil || w.Times(1) == nil {
		t.Fatalf("the good one: %v", err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"empty", small, "", "w.yaml: is empty, expected a workload that redline workload fit wrote"},
		{"another schema", "workload/1", "workload/2", `w.yaml:1: schema: is "redline/workload/2", expected "redline/workload/1"`},
		{"unknown key", "chance: 1", "chanse: 1", `w.yaml:16: arrivals.chanse: unknown key, did you mean chance?`},
		{"text for a number", "chance: 1", "chance: much", `w.yaml:16: arrivals.chance: expected a number, got "much"`},
		{"chance above 1", "chance: 1", "chance: 2", "w.yaml:16: arrivals.chance: must be 0 to 1, got 2"},
		{"evenness below 1", "evenness: 1", "evenness: 0", "w.yaml:17: arrivals.evenness: must be 1 to 1000, got 0"},
		{"a rate below 0", "[60, 120]", "[60, -1]", "w.yaml:15: arrivals.per_minute[1]: must be 0 to 60,000,000 requests a minute, got -1"},
		{"no rate", "[60, 120]", "[]", "w.yaml:15: arrivals.per_minute: must be 1 to 100,000 rates, got 0"},
		{"only idle", "[60, 120]", "[0, 0]", "w.yaml:15: arrivals.per_minute: all are 0; at least one must be above 0"},
		{"parts", "parts: 6", "parts: 0", "w.yaml:19: arrivals.bursts[0].parts: must be 1 to 1000, got 0"},
		{"crowding", "crowding: 0.1", "crowding: 1.1", "w.yaml:20: arrivals.bursts[0].crowding: must be 0 to 1, got 1.1"},
		{"a falling curve", "value: [10, 20]", "value: [10, 5]", "w.yaml:6: prompt_tokens.curve.value[1]: expected shares and values in ascending order"},
		{"a negative length", "value: [10, 20]", "value: [-1, 5]", "w.yaml:6: prompt_tokens.curve.value[0]: must be 0 to 10000000, got -1"},
		{"an open curve", "at: [0, 1]", "at: [0, 0.9]", "w.yaml:6: prompt_tokens.curve.at: expected shares from 0 to 1, got 0 to 0.9"},
		{"a short curve", "at: [0, 1]", "at: [0]", "w.yaml:6: prompt_tokens.curve: expected at least two shares in at and as many in value, got 1 and 2"},
		{"no pairs", "independent: true", "independent: false", "w.yaml:13: pairs.bins: none given; expected some, or independent: true"},
		{"pairs that do not sum", "bins: []", "bins: [{share: 0.5, prompt: {at: [0, 1], value: [1, 2]}, output: {at: [0, 1], value: [1, 2]}}]", "w.yaml:13: pairs.bins: the shares sum to 0.5000, expected 1"},
		{"too much", "share: 0.5", "share: 1.5", "w.yaml:22: tenants[0].share: must be 0 to 1, got 1.5"},
		{"not YAML", "source:", "source: [", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := read("w.yaml", []byte(strings.Replace(small, c.old, c.new, 1)))
			if err == nil {
				t.Fatal("no error")
			}
			if c.want != "" && err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
		})
	}
}

func TestMonthsOfMinutesAreReadInTime(t *testing.T) {
	t.Parallel()
	w := must.Get(read("w.yaml", []byte(small)))(t)
	w.Arrivals.Rates = make([]float64, 5_000)
	for i := range w.Arrivals.Rates {
		w.Arrivals.Rates[i] = float64(i%97) + 0.125
	}
	var b bytes.Buffer
	must.Do(t, w.Write(&b))
	got, err := read("w.yaml", b.Bytes())
	if diff := cmp.Diff(w, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestADocumentThatIsFarTooLong(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/zero"); err == nil {
		if _, err := ReadFile("/dev/zero"); err == nil || !strings.Contains(err.Error(), "more than the 8,388,608 bytes") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := read("w.yaml", make([]byte, maxDocument+1)); err == nil || !strings.Contains(err.Error(), "more than the 8,388,608 bytes") {
		t.Errorf("got %v", err)
	}
}

func TestTheSummaryOfAFitIsThatOfItsLog(t *testing.T) {
	t.Parallel()
	w, log := fitLog(t, FitOptions{}, writeLog(t, modulatedArrivals(2, 9, 20*time.Second, 10*time.Minute)))
	got := w.summary()
	want := *log
	want.Format, want.Rate = "workload", got.Rate
	want.PromptHistogram, want.OutputHistogram = w.Prompt.Buckets, w.Output.Buckets
	expect.NoDiff(t, cmp.Diff(&want, got), "summary (-log +fit)")
	if rate := *got.Rate / *log.Rate; rate < 0.95 || rate > 1.05 {
		t.Errorf("rate %.3f, want the log's %.3f", *got.Rate, *log.Rate)
	}
}

// traces gives a public trace, from where REDLINE_TRACES says.
func traces(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("REDLINE_TRACES")
	if dir == "" {
		t.Skip("set REDLINE_TRACES to a directory with the public traces")
	}
	path := dir + "/" + name
	if _, err := os.Stat(path); err != nil {
		t.Skip(err)
	}
	return path
}

package search

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"redline/internal/slo"
	"redline/internal/stats"
)

// truth is the limit of one engine under one objective, from many virtual runs
// of the sustained length at each of several rates.
type truth struct {
	Engine    string    `json:"engine"`
	Objective string    `json:"objective"`
	Runs      int       `json:"runs_per_rate"`
	Rates     []float64 `json:"rates"`
	Shares    []float64 `json:"shares"`          // mean over the runs
	Errors    []float64 `json:"standard_errors"` // of those means
	Limit     float64   `json:"limit"`
}

// truthFile holds the truths. It is made by
//
//	REDLINE_TRUTH=200 go test -run TestMeasureTruth -timeout 1h ./internal/search/
const truthFile = "testdata/truth.json"

// toMeasure is where the limits were found to lie, with rates on both sides.
var toMeasure = []struct {
	engine, objective string
	rates             []float64
}{
	{"M/D/1", "ttft:p99<500ms", []float64{44, 44.5, 45, 45.5, 46}},
	{"8B", "tpot:p99<30ms", []float64{20, 20.4, 20.8, 21.2, 21.7}},
	{"8B", "ttft:p99<500ms", []float64{24, 24.3, 24.6, 24.9, 25.3}},
	{"70B", "ttft:p99<500ms", []float64{9.6, 10, 10.4, 10.8, 11.3}},
	{"70B", "ttft:p99<2s", []float64{12.8, 13, 13.1, 13.2, 13.3, 13.5}},
	{"70B", "e2e:p95<30s", []float64{9.2, 9.6, 10, 10.5}},
	{"70B", "tpot:p99<60ms", []float64{9.4, 9.8, 10.1, 10.4, 10.8}},
}

// TestMeasureTruth measures the limits that the file does not hold yet.
func TestMeasureTruth(t *testing.T) {
	runs := count(t, "REDLINE_TRUTH")
	if runs == 0 {
		t.Skip("set REDLINE_TRUTH=200 to measure the true limits (minutes)")
	}
	known := readTruths(t)
	var truths []truth
	for _, m := range toMeasure {
		same := func(one truth) bool {
			return one.Engine == m.engine && one.Objective == m.objective && one.Runs == runs && slices.Equal(one.Rates, m.rates)
		}
		if i := slices.IndexFunc(known, same); i >= 0 {
			truths = append(truths, known[i])
			continue
		}
		objective := parse(t, m.objective)
		one := truth{Engine: m.engine, Objective: m.objective, Runs: runs, Rates: m.rates}
		for _, rate := range m.rates {
			shares := manyRuns(t, engineNamed(t, m.engine), objective, rate, runs)
			one.Shares = append(one.Shares, stats.Mean(shares))
			one.Errors = append(one.Errors, math.Sqrt(stats.Variance(shares)/float64(runs)))
		}
		one.Limit = crossing(one.Rates, one.Shares, allowed(objective))
		t.Logf("%+v", one)
		truths = append(truths, one)
	}
	text, err := json.MarshalIndent(truths, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(truthFile, append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// manyRuns gives the shares of violations of sustained runs with seeds that no
// search uses.
func manyRuns(t *testing.T, e engine, o slo.Objective, rate float64, runs int) []float64 {
	shares := make([]float64, runs)
	parts := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() {
			for i := part; i < runs; i += parts {
				n, broken := e.level(t, uint64(1_000_000+i), rate, 300*time.Second).violations(o)
				shares[i] = float64(broken) / float64(n)
			}
		})
	}
	all.Wait()
	return shares
}

// crossing is the rate at which the logit of the share, interpolated linearly
// in the logarithm of the rate, reaches what is allowed.
func crossing(rates, shares []float64, q float64) float64 {
	for i := 1; i < len(rates); i++ {
		if shares[i-1] <= q && shares[i] > q {
			a, b := logit(max(shares[i-1], 1e-9)), logit(shares[i])
			return math.Exp(math.Log(rates[i-1]) + (logit(q)-a)/(b-a)*math.Log(rates[i]/rates[i-1]))
		}
	}
	return math.NaN()
}

// count reads a number from the environment, 0 where it is not set.
func count(t testing.TB, name string) int {
	n := 0
	if text := os.Getenv(name); text != "" {
		if _, err := fmt.Sscan(text, &n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	return n
}

func parse(t testing.TB, text string) slo.Objective {
	t.Helper()
	o, err := slo.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func engineNamed(t testing.TB, name string) engine {
	t.Helper()
	for _, e := range engines {
		if e.name == name {
			return e
		}
	}
	t.Fatalf("no engine %q", name)
	return engine{}
}

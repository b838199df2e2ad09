package search

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/stats"
)

// truth is the limit of one engine under one objective: the rate at which half
// of many virtual runs of the sustained length meet it. Of several, with commas
// between them, the last is the one that binds.
type truth struct {
	Engine    string    `json:"engine"`
	Objective string    `json:"objective"`
	Seconds   float64   `json:"sustained_s"`
	Runs      int       `json:"runs_per_rate"`
	Rates     []float64 `json:"rates"`
	Met       []float64 `json:"met"`    // share of the runs
	Shares    []float64 `json:"shares"` // of requests beyond the limit, mean over the runs
	Limit     float64   `json:"limit"`
}

// truthFile holds the truths. It is made by
//
//	REDLINE_TRUTH=300 go test -run TestMeasureTruth -timeout 1h ./internal/answer/search/
//
// REDLINE_TRUTH_ONLY keeps to rows whose name contains it.
const truthFile = "testdata/truth.json"

// toMeasure is where the limits were found to lie, with rates on both sides.
var toMeasure = []struct {
	engine, objective string
	rates             []float64
}{
	{"M/D/1", "ttft:p99<500ms", []float64{44.8, 45.4, 46, 46.6, 47.2}},
	{"8B", "tpot:p99<30ms", []float64{20.8, 21.2, 21.6, 22, 22.4}},
	{"8B", "ttft:p99<500ms, tpot:p95<20ms", []float64{18, 18.5, 19, 19.5, 20}},
	{"8B", "ttft:p99<500ms", []float64{25.4, 25.8, 26.2, 26.6, 27}},
	{"70B", "ttft:p99<500ms", []float64{9.6, 10, 10.4, 10.8, 11.3}},
	{"70B", "ttft:p99<2s", []float64{13.2, 13.5, 13.8, 14.1, 14.4}},
	{"70B", "e2e:p95<30s", []float64{9.4, 9.7, 10, 10.3, 10.6}},
	{"70B", "tpot:p99<60ms", []float64{9.8, 10.1, 10.4, 10.7, 11}},
	{"32B", "ttft:p99<500ms", []float64{3.2, 3.6, 4, 4.4, 4.8}},
	{"32B", "tpot:p95<50ms", []float64{5.4, 5.7, 6, 6.3, 6.6}},
	{"405B", "ttft:p99<2s", []float64{4, 4.3, 4.6, 4.9, 5.2}},
	{"70B long", "ttft:p99<1s", []float64{4, 4.3, 4.6, 4.9, 5.2}},
	{"70B long", "tpot:p95<40ms", []float64{3.3, 3.6, 3.9, 4.2, 4.5}},
	{"32B long", "tpot:p95<40ms", []float64{1.7, 1.9, 2.1, 2.3, 2.5}},
	{"32B talks", "ttft:p99<1s", []float64{0.4, 0.55, 0.7, 0.8, 0.9, 1}},
	{"8B talks", "ttft:p99<500ms", []float64{3.1, 3.3, 3.5, 3.7}},
	{"32B", "e2e:p90<20s", []float64{5, 5.3, 5.6, 6}},
	{"32B", "tpot:p50<35ms", []float64{5, 5.3, 5.6, 6}},
	{"32B", "ttft:p95<500ms, tpot:p95<50ms, good:fraction>0.95", []float64{5, 5.3, 5.6, 5.9, 6.2}},
	{"8B few", "ttft:p99<1s", []float64{9.2, 9.7, 10.2, 10.7}},
	{"32B papers", "ttft:p95<1s", []float64{0.9, 1, 1.1, 1.2, 1.3}},
	{"32B stalls", "ttft:p95<500ms", []float64{5, 5.4, 5.8, 6.2}},
	{"14B talks", "ttft:p99<1s", []float64{0.26, 0.3, 0.34, 0.38, 0.42}},
	{"72B", "e2e:p90<25s", []float64{2.4, 2.65, 2.9, 3.1}},
	{"14B few", "ttft:p99<2s", []float64{0.7, 0.77, 0.84, 0.9}},
	{"72B papers", "ttft:p95<2s", []float64{0.8, 0.9, 1, 1.1}},
	{"72B stalls", "ttft:p95<1s", []float64{2.8, 3.1, 3.4, 3.7}},
	{"27B papers", "ttft:p95<800ms", []float64{1.2, 1.4, 1.6, 1.8, 2}},
	{"7B stalls", "ttft:p95<400ms", []float64{3.5, 4, 4.5, 5, 5.5}},
	{"72B", "ttft:p99<2s", []float64{4.6, 4.8, 5, 5.2, 5.4}},
	{"14B", "ttft:p99<1s", []float64{3, 3.3, 3.6, 3.9}},
	{"14B", "tpot:p95<75ms", []float64{2.2, 2.5, 2.8, 3.1}},
	{"72B", "ttft:p99<1s", []float64{1.6, 2, 2.4, 2.8, 3.2}},
	{"14B", "ttft:p95<1s, tpot:p95<75ms, good:fraction>0.95", []float64{2, 2.3, 2.6, 2.9}},
	{"72B", "ttft:p95<1s, tpot:p95<60ms, good:fraction>0.95", []float64{2, 2.3, 2.6, 2.9, 3.2}},
	{"72B", "tpot:p95<60ms", []float64{2.4, 2.7, 3, 3.3}},
	{"14B long", "tpot:p95<50ms", []float64{1.2, 1.5, 1.8, 2.1}},
	{"8B long", "ttft:p99<500ms", []float64{2, 2.3, 2.6, 2.9, 3.2}},
	{"8B agents", "ttft:p95<1s", []float64{24, 25, 26, 27, 28, 30}},
	{"70B agents", "tpot:p95<50ms", []float64{22, 23, 24, 25, 26}},
	{"32B agents", "e2e:p90<15s", []float64{7, 8, 9, 10, 11, 12}},
	{"14B agents", "e2e:p90<20s", []float64{9, 10, 11, 12, 13}},
	{"27B agents", "tpot:p95<50ms", []float64{27, 28, 29, 30, 31, 32}},
	{"8B coding", "tpot:p95<40ms, ttft:p95<2s", []float64{4, 5, 6, 7, 8}},
	{"32B agents", "job:p90<7m", []float64{6, 8, 10, 12, 14}},
}

// TestMeasureTruth measures the limits that the file does not hold yet.
func TestMeasureTruth(t *testing.T) {
	runs := count(t, "REDLINE_TRUTH")
	if runs == 0 {
		t.Skip("set REDLINE_TRUTH=300 to measure the true limits (minutes)")
	}
	known := readTruths(t)
	var truths []truth
	for _, m := range toMeasure {
		objectives := parseAll(t, m.objective)
		length := Spec{}.forJobs(objectives).Complete().Sustained
		same := func(one truth) bool {
			return one.Engine == m.engine && one.Objective == m.objective && one.Seconds == length.Seconds() &&
				one.Runs == runs && slices.Equal(one.Rates, m.rates)
		}
		if i := slices.IndexFunc(known, same); i >= 0 {
			truths = append(truths, known[i])
			continue
		}
		if !strings.Contains(m.engine+" "+m.objective, os.Getenv("REDLINE_TRUTH_ONLY")) {
			continue
		}
		one := truth{Engine: m.engine, Objective: m.objective, Seconds: length.Seconds(), Runs: runs, Rates: m.rates}
		for _, rate := range m.rates {
			shares := manyRuns(t, engineNamed(t, m.engine), objectives, rate, length, runs)
			met := 0
			for _, share := range shares {
				if share <= allowedShare(objectives[len(objectives)-1]) {
					met++
				}
			}
			one.Met = append(one.Met, float64(met)/float64(runs))
			one.Shares = append(one.Shares, stats.Mean(shares))
		}
		one.Limit = one.limit(t)
		t.Logf("%+v", one)
		truths = append(truths, one)
	}
	text := must.Get(json.MarshalIndent(truths, "", "  "))(t)
	must.Write(t, truthFile, append(text, '\n'))
}

// limit is the crossing, and of agents the largest whole number that it allows.
func (one truth) limit(t testing.TB) float64 {
	if limit := crossingRate(one.Rates, one.Met); engineNamed(t, one.Engine).lanes == nil {
		return limit
	} else {
		return math.Floor(limit)
	}
}

// manyRuns gives the shares of violations of runs with seeds that no search
// uses, each with the warm-up and drain of any run.
func manyRuns(t *testing.T, e engine, objectives []slo.Objective, rate float64, length time.Duration, runs int) []float64 {
	shares := make([]float64, runs)
	parts := runtime.GOMAXPROCS(0)
	var all sync.WaitGroup
	for part := range parts {
		all.Go(func() {
			for i := part; i < runs; i += parts {
				g := e.run(t, uint64(1_000_000+i), rate, length)
				if objectives[0].AboutJobs() {
					shares[i] = g.point(t, rate, objectives).Objectives[0].Beyond[0]
					continue
				}
				n, broken := g.violations(objectives)
				shares[i] = float64(broken) / float64(n)
			}
		})
	}
	all.Wait()
	return shares
}

// crossingRate is the rate at which half of the runs meet the objective, between
// the last rate at which at least half do and the next, linearly in the
// logarithm of the rate.
func crossingRate(rates, met []float64) float64 {
	for i := len(rates) - 1; i > 0; i-- {
		if met[i-1] >= 0.5 && met[i] < 0.5 {
			return math.Exp(math.Log(rates[i-1]) + (met[i-1]-0.5)/(met[i-1]-met[i])*math.Log(rates[i]/rates[i-1]))
		}
	}
	return math.NaN()
}

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
	o := must.Get(slo.Parse(text))(t)
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

func parseAll(t testing.TB, texts string) (list []slo.Objective) {
	for text := range strings.SplitSeq(texts, ", ") {
		list = append(list, parse(t, text))
	}
	return list
}

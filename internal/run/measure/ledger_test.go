package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"redline/docs/pages"
	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// ledgerCase is a load whose truth the simulated engine writes down.
type ledgerCase struct {
	name, rate, api string
	delay           time.Duration
}

// What an engine says of a request is where it really was: from its arrival to its first
// write by the engine's own log of the truth, and on the way for as long as the
// distance is. make ledger writes how far off it is.
func TestLedgerHoldsTheTruth(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| engine | load | distance | requests | mean ttft | in the engine, told | true | on the way: upload, network and what is left over | true | largest error of one request |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, tt := range []ledgerCase{
		{"vLLM", "2", "", 0}, {"vLLM", "20", "", 5 * time.Millisecond}, {"SGLang", "20", "sglang-generate", 20 * time.Millisecond},
	} {
		l, engine, worst := tt.play(t)
		told, way := mean(l, "queue")+mean(l, "prefill"), l.RestMS+mean(l, "network")+mean(l, "upload")
		trip := 2 * float64(tt.delay) / 1e6
		if off := math.Abs(told - engine); off > max(1, 0.05*engine) {
			t.Errorf("%s at %s/s: %v ms stated, %v in the engine", tt.name, tt.rate, told, engine)
		}
		if off := math.Abs(way - trip); off > max(1, 0.05*trip) || worst > 1 {
			t.Errorf("%s at %s/s: %v ms left over, want %v; one request is off by %v", tt.name, tt.rate, way, trip, worst)
		}
		fmt.Fprintf(&b, "| %s | %s requests/s | %v each way | %d | %.2f ms | %.2f ms | %.2f ms | %.2f ms | %.2f ms | %.3f ms |\n", tt.name, tt.rate, tt.delay, l.N, l.WholeMS, told, engine, way, trip, worst)
	}
	if os.Getenv("REDLINE_LEDGER") != "" {
		expect.OK(t, pages.Write("GATEWAYS.md", "ledger", b.String()))
	}
}

func mean(l *metric.Ledger, part string) float64 {
	if e := l.Part(part); e != nil {
		return e.MeanMS
	}
	return 0
}

// play gives the ledger, the true mean time in the engine, and by how much one request is
// off at most.
func (tt ledgerCase) play(t *testing.T) (l *metric.Ledger, engine, worst float64) {
	dir := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		var net pipe.Network
		running := must.Get(simserver.Start(t.Context(), sim.Spec{NetDelay: tt.delay}, simserver.ServeOptions{Clock: clock.Virtual(), Open: net.Open, Listen: "127.0.0.1:0", Truth: &log}))(t)
		cfg := must.Get(config.Resolve(config.Input{Seed: 5, LookupEnv: func(string) (string, bool) { return "", false }, Flags: map[string][]string{
			"url": {running.URL()}, "api": slices.DeleteFunc([]string{tt.api}, func(s string) bool { return s == "" }), "rate": {tt.rate}, "duration": {"20s"}, "warmup": {"0s"}, "workload": {"in=lognormal(800,1,50..4000) out=fixed(20)"},
			"extra-body": {`{"include_metrics":true}`}, "out": {dir}}}))(t)
		res, _ := must.Get2(Run(t.Context(), Options{Config: cfg, Clock: clock.Virtual(), Dial: net.Dial, Open: net.Open}))(t)
		l = res.Points[0].Ledger
		expect.OK(t, running.Close())
	})
	stay := map[string]float64{}
	for d := json.NewDecoder(&log); d.More(); {
		var line struct {
			ID      string  `json:"id"`
			Arrived int64   `json:"arrived_ns"`
			Before  []int64 `json:"before_ns"`
		}
		must.Do(t, d.Decode(&line))
		if len(line.Before) > 0 {
			stay[line.ID[strings.LastIndexByte(line.ID, '-')+1:]] = float64(line.Before[0]-line.Arrived) / 1e6
		}
	}
	records, n := must.Get(store.Open(dir))(t).Records(), 0
	for r, err := range records {
		expect.OK(t, err)
		if r.Outcome == llm.OK && r.Phase == "measure" {
			in := stay[fmt.Sprintf("%012d", r.ID)]
			told := float64(r.ServerTiming.Queue+r.ServerTiming.Prefill) / 1e6
			engine, n, worst = engine+in, n+1, max(worst, math.Abs(told-in))
		}
	}
	return l, engine / float64(max(n, 1)), worst
}

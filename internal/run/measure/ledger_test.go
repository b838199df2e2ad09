package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
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
	"redline/internal/drive/record"
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
	fleet           sim.Fleet
}

// Of llama-3.1-8b, a token takes 32 layers × 8 heads × 128 × 2 (keys and values) × 2 bytes of the cache; a pool
// hands them over at the rate of the fleet, after a millisecond.
const (
	kvBytesPerToken = 32 * 8 * 128 * 2 * 2
	handOver        = time.Millisecond
)

// What an engine and its gateway say of a request is where it really was: from its arrival to its first
// write by the engine's own log of the truth, in the gateway and between pools for as long as these take by
// their settings, and on the way for as long as the
// distance is. make gateways writes how far off it is.
func TestLedgerHoldsTheTruth(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| engine | load | requests | mean ttft | part | told | true | largest error of one request |\n|---|---|---|---|---|---|---|---|\n")
	for _, tt := range []ledgerCase{
		{"vLLM", "2", "", 0, sim.Fleet{}}, {"vLLM", "20", "", 5 * time.Millisecond, sim.Fleet{}}, {"SGLang", "20", "sglang-generate", 20 * time.Millisecond, sim.Fleet{}},
		{"two replicas behind a gateway", "20", "", 5 * time.Millisecond, sim.Fleet{Replicas: 2, GatewayDelay: 3 * time.Millisecond}},
		{"a pool that prefills and one that decodes", "10", "", 0, sim.Fleet{Prefill: 1, Decode: 1, GatewayDelay: 3 * time.Millisecond, KVTransferRate: 10}},
	} {
		l, parts := tt.play(t)
		if tt.delay > 0 {
			tt.name += fmt.Sprintf(", %v away", tt.delay)
		}
		for _, p := range parts {
			if limit := max(1, 0.05*p.truth); math.Abs(p.told-p.truth) > limit || p.worst > limit {
				t.Errorf("%s at %s/s: %s: %v ms stated, %v true; one request is off by %v", tt.name, tt.rate, p.name, p.told, p.truth, p.worst)
			}
			fmt.Fprintf(&b, "| %s | %s requests/s | %d | %.2f ms | %s | %.2f ms | %.2f ms | %.3f ms |\n", tt.name, tt.rate, l.N, l.WholeMS, p.name, p.told, p.truth, p.worst)
		}
	}
	if os.Getenv("REDLINE_LEDGER") != "" {
		expect.OK(t, pages.Write("GATEWAYS.md", "ledger", b.String()))
	}
}

// partTruth is a part of the ledger, on average as it is told and as it is, and by how much one
// request is off at most.
type partTruth struct {
	name               string
	told, truth, worst float64
	of                 []string // the parts of the ledger
	measured           func(*record.Record) int64
	true               func(r *record.Record, stay float64) float64
}

// play runs the load and holds each part against the truth.
func (tt ledgerCase) play(t *testing.T) (l *metric.Ledger, parts []partTruth) {
	dir := filepath.Join(t.TempDir(), "run")
	var log bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		var net pipe.Network
		running := must.Get(simserver.Start(t.Context(), sim.Spec{NetDelay: tt.delay, Fleet: tt.fleet}, simserver.ServeOptions{Clock: clock.Virtual(), Open: net.Open, Listen: "127.0.0.1:0", Truth: &log}))(t)
		cfg := must.Get(config.Resolve(config.Input{Seed: 5, LookupEnv: func(string) (string, bool) { return "", false }, Flags: map[string][]string{
			"url": {running.URL()}, "api": slices.DeleteFunc([]string{tt.api}, func(s string) bool { return s == "" }), "rate": {tt.rate}, "duration": {"20s"}, "warmup": {"0s"}, "workload": {"in=lognormal(800,1,50..4000) out=fixed(20)"},
			"extra-body": {`{"include_metrics":true}`}, "out": {dir}}}))(t)
		res, _ := must.Get2(Run(t.Context(), Options{Config: cfg, Clock: clock.Virtual(), Dial: net.Dial, Open: net.Open}))(t)
		l = res.Points[0].Ledger
		expect.OK(t, running.Close())
	})
	return l, tt.compare(t, l, stays(t, &log), must.Get(store.Open(dir))(t).Records())
}

// stays are the times in ms from the arrival of each request to the first write of its answer.
func stays(t *testing.T, log io.Reader) map[string]float64 {
	stay := map[string]float64{}
	for d := json.NewDecoder(log); d.More(); {
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
	return stay
}

func (tt ledgerCase) compare(t *testing.T, l *metric.Ledger, stay map[string]float64, records iter.Seq2[*record.Record, error]) []partTruth {
	gateway := float64(tt.fleet.GatewayDelay) / 1e6
	transfer := func(r *record.Record) float64 {
		if !tt.fleet.HasPools() {
			return 0
		}
		return float64(handOver)/1e6 + float64(r.PromptTokens*kvBytesPerToken)/tt.fleet.KVTransferRate/1e6
	}
	parts := []partTruth{
		{name: "queue and prefill", of: []string{"queue", "prefill"}, measured: func(r *record.Record) int64 { return r.ServerTiming.Queue + r.ServerTiming.Prefill },
			true: func(r *record.Record, stay float64) float64 { return stay - gateway - transfer(r) }},
		{name: "upload, network and what is left over", of: []string{"upload", "network", metric.Rest}, measured: func(r *record.Record) int64 {
			s := r.ServerTiming
			return r.First - r.Sent - s.Gateway - s.FrontEnd - s.Queue - s.Prefill - s.Transfer
		}, true: func(*record.Record, float64) float64 { return 2 * float64(tt.delay) / 1e6 }},
	}
	if tt.fleet.IsGateway() {
		parts = append(parts, partTruth{name: "gateway", of: []string{"gateway"}, measured: func(r *record.Record) int64 { return r.ServerTiming.Gateway },
			true: func(*record.Record, float64) float64 { return gateway }})
	}
	if tt.fleet.HasPools() {
		parts = append(parts, partTruth{name: "KV transfer", of: []string{"transfer"}, measured: func(r *record.Record) int64 { return r.ServerTiming.Transfer },
			true: func(r *record.Record, _ float64) float64 { return transfer(r) }})
	}
	for r, err := range records {
		expect.OK(t, err)
		if r.Outcome != llm.OK || r.Phase != record.Measure {
			continue
		}
		for i := range parts {
			p := &parts[i]
			truth := p.true(r, stay[fmt.Sprintf("%012d", r.ID)])
			p.truth += truth / float64(l.N)
			p.worst = max(p.worst, math.Abs(float64(p.measured(r))/1e6-truth))
		}
	}
	for i := range parts {
		for _, e := range l.All() {
			if slices.Contains(parts[i].of, e.Name) {
				parts[i].told += e.MeanMS
			}
		}
	}
	return parts
}

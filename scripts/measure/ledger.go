//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/stats"
)

// The simulated gateway of these measurements, and what its pools take to hand a prompt over: the
// cache of llama-3.1-8b has 131,072 bytes for each token.
const (
	gatewayMS       = 3.0
	handOverMS      = 1.0
	transferGBps    = 10
	kvBytesPerToken = 32 * 8 * 128 * 2 * 2
)

// ledger shows over sockets how near the parts of the first token are to the truth, and how
// often compare finds what a gateway takes.
func ledger(h *harness) func() error {
	duration := h.Duration("duration", 20*time.Second, "how long each load lasts")
	compares := h.Int("compares", 8, "comparisons of a server with the same behind a gateway")
	lanes := h.Int("lanes", 1, "comparisons at a time, each with servers of its own: one for every four cores")
	return func() error {
		var b strings.Builder
		b.WriteString("| fleet | part | requests | told, mean | true, mean | error, median | 95 of 100 within |\n|---|---|---|---|---|---|---|\n")
		for _, fleet := range []struct {
			name  string
			pools bool
			flags []string
		}{
			{"two replicas", false, []string{"--replicas", "2"}},
			{"a pool that prefills and one that decodes", true, []string{"--prefill", "1", "--decode", "1", "--kv-transfer-rate", fmt.Sprint(transferGBps)}},
		} {
			server, err := h.simulateTruth(place{}, append(fleet.flags, "--gateway-delay", fmt.Sprint(gatewayMS, "ms"))...)
			if err != nil {
				return err
			}
			f, err := h.drive("--url", server.url, "--rate", "10", "--duration", duration.String(), "--warmup", "2s", "--workload", "in=lognormal(800,1,50..4000) out=fixed(20)")
			if err != nil {
				server.kill()
				return err
			}
			truth, err := server.stop()
			if err != nil {
				return err
			}
			parts := ledgerParts(fleet.pools)
			if err := joinTruth(f.dir, truth, func(r *record.Record, t reply, _ int64) {
				for i := range parts {
					if r.Phase == record.Measure {
						parts[i].add(r, t)
					}
				}
			}); err != nil {
				return err
			}
			for _, p := range parts {
				fmt.Fprintf(&b, "| %s | %s\n", fleet.name, p.row())
			}
		}
		if err := h.writePart("ledger-sockets", b.String()); err != nil || *compares == 0 {
			return err
		}
		return h.overhead(*compares, max(1, *lanes))
	}
}

// ledgerPart is a part of the first token, as it is told and as it is, in ms.
type ledgerPart struct {
	name        string
	told, truth func(*record.Record, reply) float64
	tolds, off  []float64
}

func ledgerParts(pools bool) []ledgerPart {
	transfer := func(r *record.Record) float64 {
		if !pools {
			return 0
		}
		return handOverMS + float64(r.PromptTokens*kvBytesPerToken)/transferGBps/1e6
	}
	stay := func(t reply) float64 { return float64(t.Before[0]-t.Arrived) / 1e6 }
	told := func(of ...func(*record.Record) int64) func(*record.Record, reply) float64 {
		return func(r *record.Record, _ reply) (ms float64) {
			for _, one := range of {
				ms += float64(one(r)) / 1e6
			}
			return ms
		}
	}
	gateway := func(r *record.Record) int64 { return r.ServerTiming.Gateway }
	handed := func(r *record.Record) int64 { return r.ServerTiming.Transfer }
	engine := func(r *record.Record) int64 {
		t := r.ServerTiming
		return t.FrontEnd + t.Queue + t.Prefill + t.Write
	}
	list := []ledgerPart{
		{name: "gateway", told: told(gateway), truth: func(*record.Record, reply) float64 { return gatewayMS }},
		{name: "front end, queue, prefill and first write", told: told(engine), truth: func(r *record.Record, t reply) float64 { return stay(t) - gatewayMS - transfer(r) }},
		{name: "upload, network and what is left over", told: func(r *record.Record, t reply) float64 {
			return float64(r.First-r.Sent)/1e6 - told(gateway, engine, handed)(r, t)
		}, truth: func(r *record.Record, t reply) float64 { return float64(r.First-r.Sent)/1e6 - stay(t) }},
	}
	if pools {
		list = append(list, ledgerPart{name: "KV transfer", told: told(handed), truth: func(r *record.Record, _ reply) float64 { return transfer(r) }})
	}
	return list
}

func (p *ledgerPart) add(r *record.Record, t reply) {
	told := p.told(r, t)
	p.tolds, p.off = append(p.tolds, told), append(p.off, told-p.truth(r, t))
}

func (p *ledgerPart) row() string {
	sizes := make([]float64, len(p.off))
	for i, off := range p.off {
		sizes[i] = math.Abs(off)
	}
	slices.Sort(sizes)
	told := stats.Mean(p.tolds)
	return fmt.Sprintf("%s | %d | %.2f ms | %.2f ms | %+.2f ms | %.2f ms |", p.name, len(p.off), told, told-stats.Mean(p.off), stats.Median(p.off), stats.Quantile(sizes, 0.95))
}

// overhead compares a server with the same behind a gateway, again and again.
func (h *harness) overhead(compares, lanes int) error {
	runs, errs := make([]*outcome, compares), make([]error, lanes)
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() { errs[lane] = h.compareGateways(runs, lane, lanes) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	ways := []struct {
		name string
		is   func(result.Difference) bool
	}{
		{"outside the engine, median of the same requests", func(d result.Difference) bool { return d.Paired && d.Name == "outside" }},
		{"ttft, median of the same requests", func(d result.Difference) bool { return d.Paired && d.Name == "ttft" }},
		{"ttft from due, difference of means", func(d result.Difference) bool { return d.Name == "ttft_due" }},
	}
	found, widths := make([]int, len(ways)), make([][]float64, len(ways))
	for _, f := range runs {
		h.demandValid(f.Result, "compare")
		for i, way := range ways {
			at := slices.IndexFunc(f.Comparison.Differences, way.is)
			if at < 0 || f.Comparison.Differences[at].Interval == nil {
				continue
			}
			lo, hi := f.Comparison.Differences[at].Interval[0], f.Comparison.Differences[at].Interval[1]
			widths[i] = append(widths[i], (hi-lo)/2)
			found[i] += count(lo <= gatewayMS && gatewayMS <= hi)
		}
	}
	body := "| B − A | comparisons | interval has 3 ms | half-width, median | largest |\n|---|---|---|---|---|\n"
	for i, way := range ways {
		if len(widths[i]) > 0 {
			body += fmt.Sprintf("| %s | %d | %d | %.2f ms | %.2f ms |\n", way.name, len(widths[i]), found[i], stats.Median(widths[i]), slices.Max(widths[i]))
		}
	}
	return h.writePart("overhead-sockets", body)
}

// compareGateways makes comparisons, every step-th from the first on, with servers of
// its own.
func (h *harness) compareGateways(runs []*outcome, first, step int) error {
	var urls [2]string
	for i, flags := range [][]string{{"--replicas", "1"}, {"--replicas", "1", "--gateway-delay", fmt.Sprint(gatewayMS, "ms"), "--seed", "2"}} {
		server, err := h.simulate(place{}, flags...)
		if err != nil {
			return err
		}
		defer server.kill()
		urls[i] = server.url
	}
	for i := first; i < len(runs); i += step {
		out := filepath.Join(h.work, fmt.Sprint("compare", i))
		if _, err := h.finish(place{}, "compare", urls[0], urls[1], "--quiet", "--rate", "5", "--rounds", "6", "--duration", "6s", "--warmup", "1s",
			"--workload", "in=uniform(50,2000) out=fixed(32)", "--seed", fmt.Sprint(i+1), "--out", out); err != nil {
			return err
		}
		f, err := h.readRun(out)
		if err != nil {
			return err
		}
		runs[i] = f
	}
	return nil
}

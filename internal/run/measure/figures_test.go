package measure

import (
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/twin/catalog"
)

func logOf(list ...record.Record) records {
	return func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			for i := range list {
				if !yield(&list[i], nil) {
					return
				}
			}
		}
	}
}

// A model of 1024 bytes a token: one layer, one head of 256 numbers of two
// bytes, keys and values.
var kilobyteModel = catalog.Model{Name: "toy", Layers: 1, Heads: 1, KVHeads: 1, HeadDim: 256}

func TestKVEstimate(t *testing.T) {
	t.Parallel()
	request := func(phase record.Phase, first, end int64, prompt, output int) record.Record {
		return record.Record{Phase: phase, Outcome: llm.OK, First: first, End: end, PromptTokens: prompt, OutputTokens: output}
	}
	found := func(tokens int, r record.Record) record.Record {
		r.CachedTokens = tokens
		return r
	}
	for _, tt := range []struct {
		name string
		log  records
		want result.KV
	}{
		{"one request holds prompt and output at its end",
			logOf(request(record.Measure, 110, 190, 1024, 1024)), result.KV{MaxMBPerRequest: 2, PeakMB: 2, PeakLowMB: 2}},
		{"two that overlap by half",
			logOf(request(record.Measure, 100, 140, 1024, 1024), request(record.Measure, 120, 160, 1024, 1024)),
			result.KV{MaxMBPerRequest: 2, PeakMB: 3.5, PeakLowMB: 3.5}},
		{"one after the other",
			logOf(request(record.Measure, 100, 140, 1024, 1024), request(record.Measure, 150, 190, 1024, 0)),
			result.KV{MaxMBPerRequest: 2, PeakMB: 2, PeakLowMB: 2}},
		{"what ended in the warm-up does not count",
			logOf(request(record.Warmup, 10, 90, 9*1024, 0), request(record.Measure, 110, 190, 1024, 0)),
			result.KV{MaxMBPerRequest: 1, PeakMB: 1, PeakLowMB: 1}},
		{"of what outlasts the window only its part",
			logOf(request(record.Measure, 150, 250, 1024, 1024)), result.KV{MaxMBPerRequest: 2, PeakMB: 1.5, PeakLowMB: 1.5}},
		{"what both found in the cache is held once at least",
			logOf(found(512, request(record.Measure, 110, 190, 1024, 0)), found(512, request(record.Measure, 110, 190, 1024, 0))),
			result.KV{MaxMBPerRequest: 1, PeakMB: 2, PeakLowMB: 1.5}},
		{"found by one alone, nothing is shared",
			logOf(found(512, request(record.Measure, 110, 190, 1024, 0))), result.KV{MaxMBPerRequest: 1, PeakMB: 1, PeakLowMB: 1}},
		{"no more is found than there is",
			logOf(found(5000, request(record.Measure, 110, 190, 1024, 1024))), result.KV{MaxMBPerRequest: 2, PeakMB: 2, PeakLowMB: 2}},
		{"a reply in one piece has a size",
			logOf(request(record.Measure, 150, 150, 1024, 1024)), result.KV{MaxMBPerRequest: 2}},
		{"one without output has none",
			logOf(request(record.Measure, 0, 150, 1024, 0)), result.KV{}},
	} {
		shape := &kvShape{model: kilobyteModel, precision: catalog.BF16}
		tt.want.Model = "toy"
		got, err := shape.estimate(tt.log, 100, 200)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&tt.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestKVRoom(t *testing.T) {
	t.Parallel()
	shape := &kvShape{model: kilobyteModel, precision: catalog.BF16}
	says := func(replicas int, blocks, size string) *telemetry.ServerUse {
		return &telemetry.ServerUse{Replicas: replicas, Config: map[string]string{"num_gpu_blocks": blocks, "block_size": size}}
	}
	for _, tt := range []struct {
		name   string
		server *telemetry.ServerUse
		want   float64
	}{
		{"a thousand blocks of 16 tokens of a kilobyte", says(1, "1024", "16"), 16},
		{"two replicas of it", says(2, "1024", "16"), 32},
		{"blocks that are not told", says(1, "None", "16"), 0},
		{"a size that is not told", says(1, "1024", ""), 0},
		{"two replicas that tell tokens", &telemetry.ServerUse{Replicas: 2, Config: map[string]string{"kv_tokens": "16384"}}, 32},
		{"a server that tells nothing", nil, 0},
	} {
		if got := shape.roomMB(tt.server); got != tt.want {
			t.Errorf("%s: %g MB, want %g", tt.name, got, tt.want)
		}
	}
}

func TestWindowOfAKilledRun(t *testing.T) {
	t.Parallel()
	at := func(phase record.Phase, due, end int64) record.Record {
		return record.Record{Phase: phase, Due: due, End: end}
	}
	for _, tt := range []struct {
		name       string
		log        records
		planned    time.Duration
		mark       int64
		start, end int64
	}{
		{"nothing", logOf(), 0, 0, 0, 0},
		{"in the warm-up", logOf(at(record.Warmup, 1, 5)), 0, 0, 0, 0},
		{"in the warm-up with a mark", logOf(at(record.Warmup, 1, 5)), 0, 9, 0, 0},
		{"with a mark after the last end", logOf(at(record.Measure, 10, 20)), 0, 35, 10, 35},
		{"with a mark before the last end", logOf(at(record.Measure, 10, 20)), 0, 15, 10, 15},
		{"with a mark after the planned end", logOf(at(record.Measure, 10, 20)), 30, 90, 10, 40},
		{"in the window", logOf(at(record.Warmup, 1, 5), at(record.Measure, 12, 40), at(record.Measure, 10, 30)), 0, 0, 10, 40},
		{"in the cool-down", logOf(at(record.Measure, 10, 90), at(record.Cooldown, 60, 95), at(record.Cooldown, 50, 96)), 0, 0, 10, 50},
		{"after the planned end", logOf(at(record.Measure, 10, 90)), 30, 0, 10, 40},
		{"before the planned end", logOf(at(record.Measure, 10, 20)), 30, 0, 10, 20},
	} {
		start, end, err := measuredSpan(tt.log, tt.planned, tt.mark)
		if err != nil {
			t.Fatal(err)
		}
		if start != tt.start || end != tt.end {
			t.Errorf("%s: %d to %d, want %d to %d", tt.name, start, end, tt.start, tt.end)
		}
	}
}

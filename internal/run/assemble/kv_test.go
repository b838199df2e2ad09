package assemble

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/catalog"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
)

// A model of 1024 bytes a token: one layer, one head of 256 numbers of two
// bytes, keys and values.
var kilobyteModel = catalog.Model{Name: "toy", Layers: 1, Heads: 1, KVHeads: 1, HeadDim: 256}

func TestKVEstimate(t *testing.T) {
	t.Parallel()
	const before, within = 10, 100
	request := func(due, first, end int64, prompt, output int) record.Record {
		return record.Record{Due: due, Outcome: llm.OK, First: first, End: end, PromptTokens: prompt, OutputTokens: output}
	}
	found := func(tokens int, r record.Record) record.Record {
		r.CachedTokens = tokens
		return r
	}
	for _, tt := range []struct {
		name string
		log  []record.Record
		want result.KV
	}{
		{"one request holds prompt and output at its end",
			[]record.Record{request(within, 110, 190, 1024, 1024)}, result.KV{MaxMBPerRequest: 2, PeakMB: 2, PeakLowMB: 2}},
		{"two that overlap by half",
			[]record.Record{request(within, 100, 140, 1024, 1024), request(within, 120, 160, 1024, 1024)},
			result.KV{MaxMBPerRequest: 2, PeakMB: 3.5, PeakLowMB: 3.5}},
		{"one after the other",
			[]record.Record{request(within, 100, 140, 1024, 1024), request(within, 150, 190, 1024, 0)},
			result.KV{MaxMBPerRequest: 2, PeakMB: 2, PeakLowMB: 2}},
		{"what ended in the warm-up does not count",
			[]record.Record{request(before, 10, 90, 9*1024, 0), request(within, 110, 190, 1024, 0)},
			result.KV{MaxMBPerRequest: 1, PeakMB: 1, PeakLowMB: 1}},
		{"of what outlasts the window only its part",
			[]record.Record{request(within, 150, 250, 1024, 1024)}, result.KV{MaxMBPerRequest: 2, PeakMB: 1.5, PeakLowMB: 1.5}},
		{"what both found in the cache is held once at least",
			[]record.Record{found(512, request(within, 110, 190, 1024, 0)), found(512, request(within, 110, 190, 1024, 0))},
			result.KV{MaxMBPerRequest: 1, PeakMB: 2, PeakLowMB: 1.5}},
		{"found by one alone, nothing is shared",
			[]record.Record{found(512, request(within, 110, 190, 1024, 0))}, result.KV{MaxMBPerRequest: 1, PeakMB: 1, PeakLowMB: 1}},
		{"no more is found than there is",
			[]record.Record{found(5000, request(within, 110, 190, 1024, 1024))}, result.KV{MaxMBPerRequest: 2, PeakMB: 2, PeakLowMB: 2}},
		{"a reply in one piece has a size",
			[]record.Record{request(within, 150, 150, 1024, 1024)}, result.KV{MaxMBPerRequest: 2}},
		{"one without output has none",
			[]record.Record{request(within, 0, 150, 1024, 0)}, result.KV{}},
		{"the server's count stands before what was asked for",
			[]record.Record{{Due: within, First: 150, End: 150, AskedPrompt: 4096, PromptTokens: 1024}, {Due: within, First: 150, End: 150, AskedPrompt: 512}},
			result.KV{MaxMBPerRequest: 1}},
	} {
		use := &cacheUse{CacheShape: CacheShape{kilobyteModel, catalog.BF16}, start: 100, end: 200}
		tt.want.Model = "toy"
		for i := range tt.log {
			use.add(&tt.log[i])
		}
		expect.NoDiff(t, cmp.Diff(&tt.want, use.sum(), cmpopts.EquateApprox(0, 1e-9)), "%s (-want +got)", tt.name)
	}
}

func TestKVRoom(t *testing.T) {
	t.Parallel()
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
		if got := (&cacheUse{CacheShape: CacheShape{kilobyteModel, catalog.BF16}, server: tt.server}).roomMB(); got != tt.want {
			t.Errorf("%s: %g MB, want %g", tt.name, got, tt.want)
		}
	}
}

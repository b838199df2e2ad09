package wire

import (
	"testing"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
)

// A worker is named by Dynamo, a rank by SGLang; scanned and as a tree alike, which
// the fuzz suite holds.
func TestServedBy(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		api, event string
		want       llm.ServedBy
	}{
		{"openai-chat", `{"choices":[],"nvext":{"worker_id":{"prefill_worker_id":17,"prefill_dp_rank":0,"decode_worker_id":42,"decode_dp_rank":1}}}`, llm.ServedBy{Replica: "42/1", Prefiller: "17/0"}},
		{"openai-chat", `{"choices":[],"nvext":{"worker_id":{"prefill_worker_id":42,"decode_worker_id":42}}}`, llm.ServedBy{Replica: "42"}},
		{"openai-chat", `{"choices":[],"nvext":null}`, llm.ServedBy{}},
		{"sglang-generate", `{"text":"a","meta_info":{"dp_rank":3,"finish_reason":null}}`, llm.ServedBy{Replica: "rank 3"}},
		{"sglang-generate", `{"text":"a","meta_info":{"dp_rank":null,"finish_reason":null}}`, llm.ServedBy{}},
	} {
		d, _ := ByName(row.api)
		var delta Delta
		must.Do(t, d.Decode(nil, []byte(row.event), &delta))
		expect.NoDiff(t, cmp.Diff(row.want, delta.Served), "%s (-want +got)", row.event)
	}
}

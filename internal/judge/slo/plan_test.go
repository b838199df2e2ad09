package slo

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

func TestFromPlan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key   string
		value float64
		want  Objective
	}{
		{"p95_latency_ms", 1200, Objective{Metric: "e2e", Stat: "p95", P: 0.95, Limit: 1.2 * s, Text: "e2e:p95<1.2s"}},
		{"p95_e2e_ms", 1200, Objective{Metric: "e2e", Stat: "p95", P: 0.95, Limit: 1.2 * s, Text: "e2e:p95<1.2s"}},
		{"p99_ttft_ms", 500, Objective{Metric: "ttft", Stat: "p99", P: 0.99, Limit: 500 * ms, Text: "ttft:p99<500ms"}},
		{"p999_itl_ms", 0.5, Objective{Metric: "itl", Stat: "p999", P: 0.999, Limit: 500e3, Text: "itl:p999<500us"}},
		{"mean_tpot_ms", 40, Objective{Metric: "tpot", Stat: "mean", Limit: 40 * ms, Text: "tpot:mean<40ms"}},
		{"max_stall_ms", 1000, Objective{Metric: "stall", Stat: "max", Limit: s, Text: "stall:max<1s"}},
		{"min_throughput_tps", 45, Objective{Metric: "throughput", Stat: "min", Above: true, Limit: 45, Text: "throughput:min>45"}},
		{"max_kv_cache_mb_per_request", 1024, Objective{Metric: "kv", Stat: "max", Limit: 1024, Text: "kv:max<1024MB"}},
		{"max_error_rate", 0.01, Objective{Metric: "error", Stat: "rate", Limit: 0.01, Text: "error:rate<1%"}},
		{"max_reject_rate", 0.02, Objective{Metric: "reject", Stat: "rate", Limit: 0.02, Text: "reject:rate<2%"}},
		{"max_retry_rate", 0.03, Objective{Metric: "retry", Stat: "rate", Limit: 0.03, Text: "retry:rate<3%"}},
		{"min_job_ok_fraction", 0.99, Objective{Metric: "job_ok", Stat: "fraction", Above: true, Limit: 0.99, Text: "job_ok:fraction>0.99"}},
		{"min_jobs_per_hour", 120, Objective{Metric: "jobs_per_hour", Stat: "min", Above: true, Limit: 120, Text: "jobs_per_hour:min>120"}},
		{"p95_job_ms", 600000, Objective{Metric: "job", Stat: "p95", P: 0.95, Limit: 600e9, Text: "job:p95<600s"}},
		{"max_cost_per_job", 2, Objective{Metric: "cost", Stat: "job", Limit: 2, Text: "cost:job<$2"}},
		{"min_good_fraction", 0.99, Objective{Metric: "good", Stat: "fraction", Above: true, Limit: 0.99, Text: "good:fraction>0.99"}},
		{"max_cost_per_1m_output_tokens", 2.5, Objective{Metric: "cost", Stat: "max", Limit: 2.5, Text: "cost:max<$2.5"}},
	} {
		got, err := FromPlan(c.key, c.value)
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s: %g (-want +got)", c.key, c.value)
		if parsed, err := Parse(got.Text); err != nil || parsed != got {
			t.Errorf("%s: its text %q parses to %+v, %v", c.key, got.Text, parsed, err)
		}
	}
}

func TestFromPlanSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key   string
		value float64
		part  string
	}{
		{"p95_latencyms", 1200, "did you mean p95_latency_ms?"},
		{"p97_ttf_ms", 500, "did you mean p97_ttft_ms?"},
		{"p99_ttft", 500, "did you mean p99_ttft_ms?"},
		{"min_throughput", 45, "did you mean min_throughput_tps?"},
		{"max_kv_cache_mb", 45, "did you mean max_kv_cache_mb_per_request?"},
		{"error_rate", 0.01, "did you mean max_error_rate?"},
		{"p99_throughput_ms", 45, "unknown objective"},
		{"zzz", 1, "expected a key such as p99_ttft_ms"},
		{"", 1, "expected a key such as p99_ttft_ms"},
		{"p100_ttft_ms", 500, "expected one below 100"},
		{"p0_ttft_ms", 500, "from p1 to p9, or one from p10 up"},
		{"median_ttft_ms", 500, "unknown statistic"},
		{"p99_ttft_ms", 0, "above 0 and at most 24h"},
		{"p99_ttft_ms", 1e-9, "above 0 and at most 24h"},
		{"p99_ttft_ms", -5, "above 0 and at most 24h"},
		{"p99_ttft_ms", math.NaN(), "above 0 and at most 24h"},
		{"p99_ttft_ms", 1e30, "above 0 and at most 24h"},
		{"p99_ttft_ms", 1e11, "above 0 and at most 24h"},
		{"max_error_rate", 1, "above 0 and below 1"},
		{"max_error_rate", math.NaN(), "above 0 and below 1"},
		{"min_throughput_tps", math.Inf(1), "above 0 and at most"},
		{"min_throughput_tps", -1, "above 0 and at most"},
	} {
		o, err := FromPlan(c.key, c.value)
		if err == nil {
			t.Errorf("%s: %g gives %+v, want an error", c.key, c.value, o)
			continue
		}
		if got := err.Error(); !strings.Contains(got, c.part) || !strings.HasPrefix(got, c.key+": ") {
			t.Errorf("%s: %g gives %q, want %q in it", c.key, c.value, got, c.part)
		}
	}
}

// FuzzFromPlan holds every plan entry that is accepted to a text that parses
// to the same objective.
func FuzzFromPlan(f *testing.F) {
	f.Add("p95_latency_ms", 1200.0)
	f.Add("max_error_rate", 0.07)
	f.Add("p999_itl_ms", 0.333333)
	f.Add("__ms", -1.0)
	f.Fuzz(func(t *testing.T, key string, value float64) {
		o, err := FromPlan(key, value)
		if err != nil {
			return
		}
		if parsed, err := Parse(o.Text); err != nil || parsed != o {
			t.Fatalf("%s: %g gives %+v, its text %+v, %v", key, value, o, parsed, err)
		}
	})
}

package assemble

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"redline/internal/catalog"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"

	"github.com/google/go-cmp/cmp"
)

// TestDeploymentOf: what is said of a server, and what is made of it.
func TestDeploymentOf(t *testing.T) {
	t.Parallel()
	config8B := filepath.Join(t.TempDir(), "house-model", "config.json")
	must.Do(t, os.MkdirAll(filepath.Dir(config8B), 0o755))
	shape := `{"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256}`
	must.Write(t, config8B, shape)
	two := &telemetry.ServerUse{Replicas: 2, Config: map[string]string{"cache_dtype": "fp8_e4m3", "gpu_memory_utilization": "0.8"}}
	for _, row := range []struct {
		name, model, metadata string
		catalog               []string
		server                *telemetry.ServerUse
		// want is model, accelerator, tp, replicas, weights, cache; or the error.
		want string
	}{
		{"plain", "meta-llama/Llama-3.1-8B-Instruct", "hardware: H100", nil, nil, "llama-3.1-8b H100-SXM 1 1 bf16 bf16"},
		{"counted", "llama-3.1-70b", "hardware: 4 × H100", nil, nil, "llama-3.1-70b H100-SXM 4 1 bf16 bf16"},
		{"stated", "llama-3.1-70b", "{hardware: 8x NVIDIA H100 80GB HBM3, parallelism: 'tp 4, dp 2', precision: fp8, kv_precision: fp8}", nil, nil,
			"llama-3.1-70b H100-SXM 4 2 fp8 fp8"},
		{"long words", "llama-3.1-70b", "{hardware: H100, parallelism: tensor-parallel-size=8}", nil, nil, "llama-3.1-70b H100-SXM 8 1 bf16 bf16"},
		{"by its name", "Qwen/Qwen2.5-7B-Instruct-AWQ", "hardware: L4", nil, nil, "qwen2.5-7b L4 1 1 int4 bf16"},
		{"the server says", "llama-3.1-8b", "hardware: 4x H100", nil, two, "llama-3.1-8b H100-SXM 2 2 bf16 fp8"},
		{"a configuration", "anything", "hardware: L40S", []string{config8B}, nil, "house-model L40S 1 1 bf16 bf16"},
		{"nothing said", "llama-3.1-8b", "note: x", nil, nil, "metadata.hardware: H100"},
		{"unknown accelerator", "llama-3.1-8b", "hardware: H1000", nil, nil, `metadata.hardware: unknown accelerator "H1000": did you mean H100?; redline catalog lists them`},
		{"unknown model", "gpt-9", "hardware: H100", nil, nil, `the shape of the model "gpt-9" is not known: name its config.json with --catalog`},
		{"heads that cannot be shared", "llama-3.1-8b", "hardware: 3x H100", nil, nil, "3 does not divide the 32 attention heads"},
		{"in stages", "llama-3.1-8b", "{hardware: H100, parallelism: pp 2}", nil, nil, "pipeline parallelism is not predicted"},
		{"an absurd spread", "qwen3-30b-a3b", "{hardware: H100, expert_spread: 7}", nil, nil, "metadata.expert_spread: expected a number above 0 and up to 1"},
		{"absurd", "llama-3.1-8b", "{hardware: H100, parallelism: tp 0}", nil, nil, "llama-3.1-8b H100-SXM 1 1 bf16 bf16"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			plan := filepath.Join(t.TempDir(), "plan.yaml")
			metadata := row.metadata
			if !strings.HasPrefix(metadata, "{") {
				metadata = "{" + metadata + "}"
			}
			must.Write(t, plan, "metadata: "+metadata+"\n")
			flags := map[string][]string{"url": {"http://x"}, "model": {row.model}}
			if row.catalog != nil {
				flags["catalog"] = row.catalog
			}
			c := must.Get(config.Resolve(config.Input{PlanPath: plan, Flags: flags}))(t)
			res := blank(c, "id", time.Unix(0, 0))
			d, err := deploymentOf(c, res, row.server)
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = strings.Join([]string{d.Model.Name, d.Accelerator.Name, strconv.Itoa(d.TP), strconv.Itoa(d.replicas), string(d.Weights), string(d.KV)}, " ")
			}
			if !strings.Contains(got, row.want) {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

// TestAgreementWords: each kind of disagreement has its own sentence.
func TestAgreementWords(t *testing.T) {
	t.Parallel()
	ratio := func(r float64) *result.Agreement { return &result.Agreement{Predicted: 10, Ratio: &r} }
	full := 20.0
	for _, row := range []struct {
		p      result.Prediction
		atOnce float64
		want   string
	}{
		{result.Prediction{TPOT: ratio(1.1), TTFT: ratio(1.4)}, 0, "does what the hardware allows"},
		{result.Prediction{TPOT: ratio(0.5), TTFT: ratio(1)}, 0, "better than stated"},
		{result.Prediction{TPOT: ratio(3), TTFT: ratio(9)}, 0, "tokens take 3 times as long"},
		{result.Prediction{TPOT: ratio(1), TTFT: ratio(9)}, 0, "so prompts wait"},
		{result.Prediction{TPOT: ratio(1), TTFT: ratio(2345.6)}, 0, "takes 2,350 times the predicted time"},
		{result.Prediction{TPOT: ratio(1), TTFT: ratio(1), FullAt: &full}, 20, "full at 20 requests"},
		{result.Prediction{TPOT: &result.Agreement{}, TTFT: &result.Agreement{}}, 0, "nothing was measured"},
		{result.Prediction{TPOT: &result.Agreement{}, TTFT: ratio(1)}, 0, "only the first can be compared"},
	} {
		if got := agreementSentence(&row.p, row.atOnce); !strings.Contains(got, row.want) {
			t.Errorf("got %q, want %q in it", got, row.want)
		}
	}
}

// TestFullReplicas: the cache of two replicas is full when that of each is.
func TestFullReplicas(t *testing.T) {
	t.Parallel()
	model := must.Get(catalog.FindModel("llama-3.1-8b"))(t)
	h100 := must.Get(catalog.FindAccelerator("H100"))(t)
	point := &result.Point{Load: result.Load{Mode: config.Closed}}
	point.Requests.OK = 100
	point.Tokens.PromptLengths, point.Tokens.OutputLengths = &metric.Dist{Mean: 8000}, &metric.Dist{Mean: 100}
	for _, row := range []struct {
		atOnce float64
		full   bool
	}{{40, false}, {2000, true}} {
		point.Concurrency.Mean = row.atOnce
		d := deployment{Deployment: catalog.Deploy(model, h100, 1), replicas: 2}
		traffic, _ := d.traffic(point)
		p := d.predict(point, traffic, rehearsalResult{})
		if full := strings.Contains(p.Agreement, "predicted to be full"); full != row.full {
			t.Errorf("%.0f requests where %.0f fit: %s", row.atOnce, *p.FullAt, p.Agreement)
		}
	}
}

// Half a minute in a queue is a number of milliseconds, not a power of ten.
func TestPredictionHasNoExponents(t *testing.T) {
	t.Parallel()
	got := describeAgreement(&result.Agreement{Predicted: 22.14, Measured: new(24_031.4)})
	if want := "22.1 ms predicted, 24 s measured"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Whoever prices accelerators or divides by them reads their number, so it is
// taken off the name where the plan is read.
func TestAcceleratorsAreCounted(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]result.Hardware{
		"hardware: 4 × H100":            {Accelerator: "H100", Count: 4},
		"hardware: 8xL40S":              {Accelerator: "L40S", Count: 8},
		"hardware: H100":                {Accelerator: "H100"},
		"hardware: 3090 Ti":             {Accelerator: "3090 Ti"},
		"{hardware: 4 × H100, gpus: 2}": {Accelerator: "H100", Count: 2},
	} {
		plan := filepath.Join(t.TempDir(), "plan.yaml")
		if !strings.HasPrefix(said, "{") {
			said = "{" + said + "}"
		}
		must.Write(t, plan, "metadata: "+said+"\n")
		c := must.Get(config.Resolve(config.Input{PlanPath: plan, Flags: map[string][]string{"url": {"http://x"}}}))(t)
		expect.NoDiff(t, cmp.Diff(want, blank(c, "id", time.Unix(0, 0)).Hardware), "%s", said)
	}
}

// Of skewed lengths mean and median are far apart: each prediction stands beside
// the figure that it is of.
func TestSkewedLoadsAreComparedLikeWithLike(t *testing.T) {
	t.Parallel()
	skewed := &metric.Dist{N: 100, Mean: 40, P: map[string]float64{"p50": 20}}
	for _, tt := range []struct {
		name      string
		played    medianPair
		d         *metric.Dist
		statistic string
		measured  float64
		ratio     float64
	}{
		{"played: the median of all", medianPair{predicted: 16, measured: 19}, skewed, "p50", 20, 1.25},
		{"played in part: the median of that part", medianPair{predicted: 16, measured: 24, partly: true}, skewed, "p50", 24, 1.5},
		{"arithmetic: the mean", medianPair{}, skewed, "mean", 40, 0.8},
		{"nothing was measured", medianPair{}, nil, "mean", 0, 0},
	} {
		a := alike(tt.played, 50, tt.d)
		measured, ratio := 0.0, 0.0
		if a.Measured != nil {
			measured, ratio = *a.Measured, *a.Ratio
		}
		if a.Statistic != tt.statistic || measured != tt.measured || ratio != tt.ratio {
			t.Errorf("%s: %s %g, ratio %g", tt.name, a.Statistic, measured, ratio)
		}
	}
	point := &result.Point{}
	point.Tokens.PromptLengths = &metric.Dist{N: 100, Mean: 4000, P: map[string]float64{"p50": 1000}}
	if got, want := typical(catalog.Traffic{Prompt: 4000, Cached: 400, Output: 100}, point), (catalog.Traffic{Prompt: 1000, Cached: 100, Output: 100}); got != want {
		t.Errorf("a typical request is %+v, want %+v", got, want)
	}
}

// A median is compared with the median of the rehearsal: a few slow replies lift
// a mean, and say nothing of the hardware.
func TestPredictionIsComparedWithTheMedian(t *testing.T) {
	t.Parallel()
	skewed := &metric.Dist{N: 100, Mean: 40.3, P: map[string]float64{"p50": 20.2}}
	p := &result.Prediction{TPOT: agreement(17.9, medianOf(skewed)), TTFT: agreement(10, nil)}
	if got, want := agreementSentence(p, 1), "the engine does what the hardware allows: tokens in 1.13 of the predicted time"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.TTFT.Measured != nil {
		t.Errorf("nothing was measured, yet the median is %v", *p.TTFT.Measured)
	}
}

// A server that calls its arithmetic bfloat16 may serve weights of fewer bits, as
// their name says; what somebody says of the weights themselves goes before.
func TestPrecisionOfWeights(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, dtype, quantization, stated string
		want                              catalog.Precision
	}{
		{"Qwen3-32B", "bfloat16", "", "", catalog.BF16},
		{"Qwen3-32B", "", "", "", catalog.FP16}, // as shipped
		{"Qwen3-32B-FP8", "bfloat16", "", "", catalog.FP8},
		{"Llama-3.3-70B-Instruct-AWQ", "float16", "compressed-tensors", "", catalog.INT4},
		{"Qwen3-32B-FP8", "bfloat16", "awq", "", catalog.INT4},
		{"Qwen3-32B-FP8", "bfloat16", "awq", "int8", catalog.INT8},
	} {
		res := &result.Result{}
		res.Model.Name, res.Model.Precision, res.Model.Quantization = row.name, row.dtype, row.quantization
		c := &config.Config{Metadata: config.Metadata{"precision": row.stated}}
		if got := weightsOf(c, res, catalog.FP16); got != row.want {
			t.Errorf("%+v: got %s", row, got)
		}
	}
}

package report

import (
	"bytes"
	"errors"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// tuningSample is a tuning of two knobs: one value won, one ran out of memory,
// one made no difference.
func tuningSample() *result.Result {
	r := comparisonSample()
	r.ID, r.Label = "20260114-160000-tune", "chat at 20/s"
	r.Points = []result.Point{sweepLevels[3].point(), sweepLevels[2].point(), sweepLevels[4].point()}
	for i, name := range []string{"baseline 1", "max_num_seqs=64", "tokens=2048"} {
		r.Points[i].Name = name
		r.Stages = append(r.Stages, result.Stage{Name: name, Dir: "stages/0" + count(i+1), Point: new(i), Purpose: "trial"})
	}
	r.Points[1].Cost = &result.Cost{Currency: "USD", Per1mOutput: 0.41}
	c := r.Comparison
	c.A, c.B = result.Side{Name: "baseline, max_num_seqs=256 tokens=8192"}, result.Side{Name: "winner, max_num_seqs=64 tokens=8192"}
	c.Rounds, c.Standing, c.Verdict = 8, slo.Mixed, "B is worse in tpot:p50 slower by 5.1%; better in good:fraction higher by 18 points"
	c.Metrics = append(c.Metrics, result.Change{Name: "good:fraction", Unit: "fraction", A: new(0.8), B: new(0.98), Difference: new(0.18),
		Interval: &[2]float64{0.15, 0.21}, P: new(0.0004), PHolm: new(0.002), Standing: slo.Better, Verdict: "higher by 18 points"})
	baseline := []result.Flag{{Name: "max_num_seqs", Value: "256"}, {Name: "tokens", Value: "8192"}}
	winner := []result.Flag{{Name: "max_num_seqs", Value: "64"}, {Name: "tokens", Value: "8192"}}
	r.Tuning = &result.Tuning{
		Command:   "vllm serve llama-3.1-8b --port {port} --max-num-seqs {max_num_seqs} --max-num-batched-tokens {tokens}",
		Objective: []string{"goodput", "tpot:p50"}, Tolerance: 0.05, Baseline: baseline, Winner: winner,
		BaselineRuns: 2, Spread: new(0.012), BaselinePoint: new(0), WinnerPoint: new(1),
		Steps: []result.TuningStep{
			{Knob: "max_num_seqs", From: "256", To: "64", Hypothesis: "fewer at once wait less for each other", Settings: winner, Decision: slo.Accepted, Moves: []result.Change{{Name: "tpot:p50", Unit: "ms"}},
				Why: "goodput +17 points, from 81% to 98% (p<0.001)", StartUpS: new(41.2), Point: new(1)},
			{Knob: "max_num_seqs", From: "64", To: "2048", Settings: []result.Flag{{Name: "max_num_seqs", Value: "2048"}, {Name: "tokens", Value: "8192"}},
				Decision: slo.Failed, Why: "the server exited with code 1 after 38s, before it was ready (out of memory)",
				Log: []string{"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "RuntimeError: Engine core initialization failed"}},
			{Knob: "tokens", From: "8192", To: "2048", Hypothesis: "smaller steps hold decode up less", Risk: "prompts take more steps", Settings: []result.Flag{{Name: "max_num_seqs", Value: "64"}, {Name: "tokens", Value: "2048"}},
				Decision: slo.Rejected, Why: "nothing that counts moved by more than 5%", StartUpS: new(40.0), Point: new(2)},
		},
		Standing: slo.Confirmed, Verdict: "keep max_num_seqs=64: goodput +18 points, from 80% to 98% (p<0.001), over 8 rounds by turns with the baseline",
		Stopped: "every value was tried", TookS: 2712,
	}
	return r
}

func TestDecisionGolden(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must.Do(t, Decision(&out, tuningSample()))
	golden(t, "decision.md", out.Bytes())
}

// What a server or a plan says cannot break the record's tables or fences, in which
// commands stand as a shell takes them.
func TestDecisionIsEscaped(t *testing.T) {
	t.Parallel()
	r := tuningSample()
	r.Tuning.Steps[1].Why = "a | b <script>\n# no"
	r.Tuning.Steps[1].Log = []string{"```", "still inside"}
	r.Command = "redline tune --slo 'ttft:p99<1s' -- serve {max_num_seqs}"
	var out bytes.Buffer
	must.Do(t, Decision(&out, r))
	if text := out.String(); strings.Contains(text, "<script>") || strings.Contains(text, "\n# no") || strings.Contains(text, "a | b") || strings.Count(text, "```") != 6 || !strings.Contains(text, "\n"+r.Command+"\n") {
		t.Errorf("%s", text)
	}
}

func TestDecisionNeedsATuning(t *testing.T) {
	t.Parallel()
	if err := Decision(new(bytes.Buffer), metSample()); !errors.Is(err, errNoTuning) {
		t.Error(err)
	}
	if err := Decision(new(bytes.Buffer), nil); err == nil {
		t.Error("nothing to write, and no error")
	}
	bare := &result.Result{Tuning: &result.Tuning{}}
	if err := Decision(new(bytes.Buffer), bare); err != nil {
		t.Errorf("one that was cut short at once: %v", err)
	}
}

func TestTuningHeadlines(t *testing.T) {
	t.Parallel()
	for standing, want := range map[slo.Standing]string{
		slo.Confirmed: "DECIDED: ", slo.Unchanged: "DECIDED: ", slo.Unconfirmed: "NOT CONFIRMED: ",
		slo.Undecided: "TOO CLOSE TO CALL: ", "": "NOT FINISHED: ",
	} {
		r := tuningSample()
		r.Tuning.Standing = standing
		if h, ok := experimentHeadline(r); !ok || h.word != want {
			t.Errorf("%q: %q, want %q", standing, h.word, want)
		}
	}
}

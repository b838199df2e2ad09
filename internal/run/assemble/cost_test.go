package assemble

import (
	"iter"
	"math"
	"strings"
	"testing"

	"redline/internal/catalog"
	"redline/internal/drive/record"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/plan/config"
)

// A price that cannot be had, and a prediction that cannot be made, are said with
// the cure: a plan may be read again beside another catalog.
func TestWhatCannotBeComputedIsSaid(t *testing.T) {
	t.Parallel()
	point := &result.Point{}
	charge(point, &config.Config{Cost: price.Spec{Accelerator: "H1000"}}, 1, nil)
	if len(point.Notes) != 1 || point.Cost != nil || !strings.Contains(point.Notes[0].Text, `cost.accelerator: unknown accelerator "H1000": did you mean`) {
		t.Errorf("%+v and the cost %+v", point.Notes, point.Cost)
	}
	c := &config.Config{}
	c.Server.Sim.Model = "llama-9"
	res := &result.Result{}
	predict(res, c, point, nil)
	if len(res.Warnings) != 1 || !strings.Contains(res.Warnings[0].Text, "llama-9") {
		t.Errorf("the embedded engine cannot be predicted: %+v", res.Warnings)
	}
	c.Server.Sim.Law = &catalog.Law{}
	res.Warnings = nil
	if predict(res, c, point, nil); len(res.Warnings) > 0 {
		t.Errorf("an engine of measured constants: %+v", res.Warnings)
	}
}

// All that was sent is billed, in the window or not.
func TestTheBillHasWhatIsOutsideTheWindow(t *testing.T) {
	t.Parallel()
	in := Run{Plan: &config.Config{Cost: price.Spec{Per1MPromptTokens: 1000, Per1MOutputTokens: 2000}}, Start: 100, End: 200}
	in.Preflight.Prompt, in.Preflight.Output = 5, 1
	in.Records = func() iter.Seq2[*record.Record, error] {
		return func(yield func(*record.Record, error) bool) {
			for _, r := range []record.Record{{Phase: record.Warmup, Sent: 10, PromptTokens: 10, OutputTokens: 3},
				{Phase: record.Measure, Sent: 110, AskedPrompt: 20, Outcome: llm.HTTP}, {Outcome: llm.Unsent, AskedPrompt: 1000}} {
				if !yield(&r, nil) {
					return
				}
			}
		}
	}
	if got := must.Get(in.bill(&result.Result{Hardware: result.Hardware{Count: 1}}))(t); got == nil || math.Round(1000**got) != 5+10+20+2*(1+3) {
		t.Errorf("billed %v", got)
	}
}

package assemble

import (
	"strings"
	"testing"

	"redline/internal/catalog"
	"redline/internal/judge/price"
	"redline/internal/judge/result"
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

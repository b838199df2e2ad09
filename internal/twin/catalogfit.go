package twin

import (
	"math"
	"time"

	"redline/internal/catalog"
	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/twin/replay"
	"redline/internal/twin/sim"
)

// deploys keeps what the runs say of model and hardware, as it was predicted
// with; where a run was not predicted, as the server and the user state it.
func (ev *Evidence) deploys(p *result.Prediction, res *result.Result) {
	if p == nil && !ev.Embedded {
		p = &result.Prediction{Model: res.Model.Name, Accelerator: res.Hardware.Accelerator, Count: max(1, res.Hardware.Count), Precision: res.Model.Precision}
	}
	if p == nil || ev.deployed != nil {
		return
	}
	model, err := catalog.FindModel(p.Model)
	if err != nil {
		return
	}
	accelerator, err := catalog.FindAccelerator(p.Accelerator)
	if err != nil {
		return
	}
	d := catalog.Deploy(model, accelerator, p.Count)
	if precision, err := catalog.ParsePrecision(p.Precision); err == nil {
		d.Weights = precision
	}
	if d.Check() == nil {
		d.ExpertSpread = p.ExpertSpread
		ev.deployed = &d
	}
}

// catalogFit is the engine that the catalog knows, behind the front end that its
// makers gave it: where a fit begins, and what it is pulled towards.
func (ev *Evidence) catalogFit(base sim.Spec, seen sight) (candidate, bool) {
	if ev.deployed == nil {
		return candidate{}, false
	}
	steps := ev.deployed.Steps()
	law, fixed := steps.Law(float64(seen.maxTotal) / 2)
	us := []float64{weights: law.WeightsUS, perToken: law.TokenUS, perSequence: law.SequenceUS, perContext: law.ContextUS, perPair: law.PairUS,
		perStep: 1e6 * fixed, perRequest: 1000, allExperts: law.ExpertsUS, constants - 1: 0}
	base.Law = &catalog.Law{Corner: law.Corner, ClockDrop: law.ClockDrop, ExpertShare: law.ExpertShare, ExpertSpread: law.ExpertSpread}
	base.MaxNumBatchedTokens, base.MaxNumSeqs = sim.SchedulerDefaults(ev.deployed.Accelerator)
	if e := engine.Recognize(ev.Engine); e != nil && e.Front != nil && !ev.Embedded {
		replay.Behind(&base, e.Front, ev.deployed.Model)
		us[perRequest], us[eager] = micros(base.RequestOverhead), base.Law.EagerUS
		us[frontRequest], us[frontToken], us[frontEvent] = micros(base.FrontEnd.Request), base.TokenUS, base.EventUS
	}
	x, usual := make([]float64, constants), make([]expectation, constants)
	for i := range us {
		x[i] = math.Log(max(us[i], negligible))
		if us[i] > 0 {
			usual[i] = expectation{x[i], firm}
			if i >= frontRequest && i <= frontEvent {
				usual[i].weight = sure
			}
		}
	}
	return candidate{base: base, x: x, usual: usual, loss: math.Inf(1)}, true
}

func micros(d time.Duration) float64 { return 1e6 * d.Seconds() }

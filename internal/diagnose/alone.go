package diagnose

import "redline/internal/catalog"

// paceAlone is the time per token that arithmetic gives a request of the
// point's mean length that has the accelerators to itself, in milliseconds.
func (s *scene) paceAlone() (float64, bool) {
	p := s.point.Prediction
	if p == nil || s.point.Tokens.PromptLengths == nil || s.point.Tokens.OutputLengths == nil {
		return 0, false
	}
	model, err := catalog.FindModel(p.Model)
	if err != nil {
		return 0, false
	}
	accelerator, err := catalog.FindAccelerator(p.Accelerator)
	if err != nil {
		return 0, false
	}
	precision, err := catalog.ParsePrecision(p.Precision)
	if err != nil {
		precision = model.Precision
	}
	d := catalog.Deployment{Model: model, Accelerator: accelerator, TP: max(1, p.Count), Weights: precision, KV: catalog.BF16}
	law := catalog.NewStepModel(d, catalog.ComputeShare(accelerator, precision), catalog.UsualMemoryShare)
	var step catalog.StepLoad
	step.Decode(int(s.point.Tokens.PromptLengths.Mean+s.point.Tokens.OutputLengths.Mean/2), law.Window())
	return law.Seconds(step) * 1e3, true
}

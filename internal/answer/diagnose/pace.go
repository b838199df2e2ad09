package diagnose

import "redline/internal/catalog"

// lonePace is the time per token that arithmetic gives a request of the
// point's mean length that has the accelerators to itself, in milliseconds.
func (s *scene) lonePace() (float64, bool) {
	p, t := s.point.Prediction, s.point.Tokens
	if p == nil || t.PromptLengths == nil || t.OutputLengths == nil {
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
	d := catalog.Deploy(model, accelerator, p.Count)
	if precision, err := catalog.ParsePrecision(p.Precision); err == nil {
		d.Weights = precision
	}
	f := d.Forecast(catalog.Traffic{Prompt: t.PromptLengths.Mean, Output: t.OutputLengths.Mean, Concurrency: 1})
	return 1e3 * f.TPOT, f.TPOT > 0
}

package report

import (
	"strings"

	"redline/internal/judge/result"
	"redline/internal/show/document"
)

// prediction lays what the hardware allows beside what was measured, in a
// sentence each; where there is room, the figures too.
func (p *page) prediction(a *result.Prediction) {
	if a == nil {
		return
	}
	if p.room >= explained {
		p.shows("mbu", "mfu", "predicted")
	}
	if p.room == whole {
		p.Add(predictedTable(a))
	}
	if p.room >= explained {
		p.predictionFields(a)
	}
}

// predictionFields is what the hardware allows beside what was measured, in a sentence
// for each phase.
func (p *page) predictionFields(a *result.Prediction) {
	if a == nil {
		return
	}
	p.Field("decode", clean(a.Decode))
	p.Field("prefill", clean(a.Prefill))
	p.Field("agreement", joinDots(clean(a.Agreement), "computed for "+strings.TrimSpace(clean(a.Model)+" "+clean(a.Precision))+
		" on "+count(a.Count)+hard+"×"+hard+clean(a.Accelerator)))
	for _, what := range a.Assumed {
		p.Field("assumed", clean(what))
	}
}

func predictedTable(a *result.Prediction) *document.Table {
	t := document.NewTable(left("what the hardware allows"), decimal("predicted"), decimal("measured"), decimal("ratio"))
	add := func(name string, g *result.Agreement) {
		if g != nil {
			t.Add(strings.TrimSpace(g.Statistic+" "+name), figure(g.Predicted), ifKnown(g.Measured, figure), ifKnown(g.Ratio, figure))
		}
	}
	add("tpot, ms", a.TPOT)
	add("ttft, ms", a.TTFT)
	add("kv peak, MB", a.KVPeak)
	share := func(name string, v *float64) {
		if v != nil {
			t.Add(name, "", percent(*v), "")
		}
	}
	share("peak bandwidth reached while decoding (MBU)", a.MBU)
	share("peak arithmetic reached over the window (MFU)", a.MFU)
	if a.MaxOutput != nil {
		t.Add("output tokens/s at most, of such requests", figure(*a.MaxOutput), "", "")
	}
	t.Add("ridge, tokens in a step", figure(a.Ridge), "", "")
	if a.FullAt != nil {
		t.Add("requests that fill the kv cache", figure(*a.FullAt), "", "")
	}
	return t
}

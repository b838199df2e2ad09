package report

import (
	"strings"

	"redline/internal/judge/result"
)

// prediction lays what the hardware allows beside what was measured, in a
// sentence each; where there is room, the figures too.
func (p *page) prediction(a *result.Prediction) {
	if a == nil {
		return
	}
	p.shows("mbu", "mfu", "predicted")
	if p.kept != nil {
		p.predictedTable(a)
	}
	if p.whole {
		p.field("decode", clean(a.Decode))
		p.field("prefill", clean(a.Prefill))
	}
	with := ""
	if p.whole {
		with = p.predictedWith(a)
	}
	p.field("agreement", joined(clean(a.Agreement), with))
}

// predictedWith says what was computed with.
func (p *page) predictedWith(a *result.Prediction) string {
	with := strings.TrimSpace(clean(a.Model) + " " + clean(a.Precision))
	return "computed for " + with + " on " + count(a.Count) + hard + "×" + hard + clean(a.Accelerator)
}

func (p *page) predictedTable(a *result.Prediction) {
	t := table{columns: []column{{head: cell{text: "what the hardware allows", tone: bold}}, {head: cell{text: "predicted"}, align: alignPoint},
		{head: cell{text: "measured"}, align: alignPoint}, {head: cell{text: "ratio"}, align: alignPoint}}}
	add := func(name string, g *result.Agreement) {
		if g == nil {
			return
		}
		row := []cell{{text: indent + name}, {text: figure(g.Predicted)}, {}, {}}
		if g.Measured != nil {
			row[2].text = figure(*g.Measured)
		}
		if g.Ratio != nil {
			row[3].text = figure(*g.Ratio)
		}
		t.rows = append(t.rows, row)
	}
	add("tpot, ms", a.TPOT)
	add("ttft, ms", a.TTFT)
	add("kv peak, MB", a.KVPeak)
	share := func(name string, v *float64) {
		if v != nil {
			t.rows = append(t.rows, []cell{{text: indent + name}, {}, {text: percent(*v)}, {}})
		}
	}
	share("peak bandwidth reached while decoding (MBU)", a.MBU)
	share("peak arithmetic reached over the window (MFU)", a.MFU)
	t.rows = append(t.rows, []cell{{text: indent + "ridge, tokens in a step"}, {text: figure(a.Ridge)}, {}, {}})
	if a.FullAt != nil {
		t.rows = append(t.rows, []cell{{text: indent + "requests that fill the kv cache"}, {text: figure(*a.FullAt)}, {}, {}})
	}
	p.write(t)
}

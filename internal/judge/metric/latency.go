package metric

import (
	"cmp"

	fig "redline/internal/judge/figure"
)

// Latency holds the distributions, in milliseconds. One that was not measured
// is absent.
type Latency struct {
	TTFT         *Dist `json:"ttft_ms,omitempty"`
	TTFTDue      *Dist `json:"ttft_due_ms,omitempty"`
	TTFA         *Dist `json:"ttfa_ms,omitempty"`
	TTFTPerImage *Dist `json:"ttft_per_image_ms,omitempty"`
	TPOT         *Dist `json:"tpot_ms,omitempty"`
	ITL          *Dist `json:"itl_ms,omitempty"`
	ICL          *Dist `json:"icl_ms,omitempty"`
	Stall        *Dist `json:"stall_ms,omitempty"`
	E2E          *Dist `json:"e2e_ms,omitempty"`
	E2EDue       *Dist `json:"e2e_due_ms,omitempty"`
	Decode       *Dist `json:"decode_ms,omitempty"`
	Lag          *Dist `json:"lag_ms,omitempty"`
	SlotWait     *Dist `json:"slot_wait_ms,omitempty"`
	Upload       *Dist `json:"upload_ms,omitempty"`
	Connect      *Dist `json:"connect_ms,omitempty"`
	TLS          *Dist `json:"tls_ms,omitempty"`
	Gateway      *Dist `json:"gateway_ms,omitempty"`
	FrontEnd     *Dist `json:"front_end_ms,omitempty"`
	Queue        *Dist `json:"queue_ms,omitempty"`
	Prefill      *Dist `json:"prefill_ms,omitempty"`
	Transfer     *Dist `json:"transfer_ms,omitempty"`
	FirstWrite   *Dist `json:"first_write_ms,omitempty"`
}

// places are where the distributions stand, by the names that METRICS.md gives
// them; the JSON key is the name + "_ms".
var places = []struct {
	name string
	of   func(*Latency) **Dist
}{
	{"ttft", func(l *Latency) **Dist { return &l.TTFT }},
	{"ttft_due", func(l *Latency) **Dist { return &l.TTFTDue }},
	{"ttfa", func(l *Latency) **Dist { return &l.TTFA }},
	{"ttft_per_image", func(l *Latency) **Dist { return &l.TTFTPerImage }},
	{"tpot", func(l *Latency) **Dist { return &l.TPOT }},
	{"stall", func(l *Latency) **Dist { return &l.Stall }},
	{"e2e", func(l *Latency) **Dist { return &l.E2E }},
	{"e2e_due", func(l *Latency) **Dist { return &l.E2EDue }},
	{"decode", func(l *Latency) **Dist { return &l.Decode }},
	{"lag", func(l *Latency) **Dist { return &l.Lag }},
	{"slot_wait", func(l *Latency) **Dist { return &l.SlotWait }},
	{"upload", func(l *Latency) **Dist { return &l.Upload }},
	{"connect", func(l *Latency) **Dist { return &l.Connect }},
	{"tls", func(l *Latency) **Dist { return &l.TLS }},
	{"gateway", func(l *Latency) **Dist { return &l.Gateway }},
	{"front_end", func(l *Latency) **Dist { return &l.FrontEnd }},
	{"queue", func(l *Latency) **Dist { return &l.Queue }},
	{"prefill", func(l *Latency) **Dist { return &l.Prefill }},
	{"transfer", func(l *Latency) **Dist { return &l.Transfer }},
	{"first_write", func(l *Latency) **Dist { return &l.FirstWrite }},
	{"itl", func(l *Latency) **Dist { return &l.ITL }},
	{"icl", func(l *Latency) **Dist { return &l.ICL }},
}

// Each walks the distributions that were measured, by name.
func (l Latency) Each(yield func(name string, d *Dist) bool) {
	for _, p := range places {
		if d := *p.of(&l); d != nil && !yield(p.name, d) {
			return
		}
	}
}

// Of gives the distribution of that name, nil where it was not measured.
func (l *Latency) Of(name string) *Dist {
	if place := l.Place(name); place != nil {
		return *place
	}
	return nil
}

// Place is where the distribution of that name stands, nil where no latency has it.
func (l *Latency) Place(name string) **Dist {
	for _, p := range places {
		if p.name == name {
			return p.of(l)
		}
	}
	return nil
}

// JudgedDist gives the distribution that objectives and comparisons mean by a name:
// its form from due, where there is one.
func (l *Latency) JudgedDist(name string) *Dist {
	f, ok := fig.Find(name)
	if !ok {
		return nil
	}
	return cmp.Or(l.Of(f.JudgedForm().Key), l.Of(f.Key))
}

package account

import (
	"math"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/llm"
)

// serverParts are the parts of the first token that only a server knows.
var serverParts = []struct {
	figure figure
	of     func(*llm.Timing) *int64
}{
	{gateway, func(t *llm.Timing) *int64 { return &t.Gateway }},
	{frontEnd, func(t *llm.Timing) *int64 { return &t.FrontEnd }},
	{waiting, func(t *llm.Timing) *int64 { return &t.Queue }},
	{prefill, func(t *llm.Timing) *int64 { return &t.Prefill }},
	{transfer, func(t *llm.Timing) *int64 { return &t.Transfer }},
	{firstWrite, func(t *llm.Timing) *int64 { return &t.Write }},
}

// noteTrip looks at the round trip of a request's connection: as the kernel has it, or
// how long the opening of it took.
func (n *naming) noteTrip(r *record.Record) {
	took := orNaN(r.Trip)
	if math.IsNaN(took) {
		took = since(r.Dialing, r.Dialed)
	}
	if math.IsNaN(took) {
		return
	}
	i := n.replica(r.Addr)
	for len(n.trips) <= int(i) {
		n.trips = append(n.trips, math.NaN())
	}
	if old := n.trips[i]; math.IsNaN(old) || took < old {
		n.trips[i] = took
	}
}

// entry of the ledger: what one request spent on each part, in ns, and which of them
// are known of it.
type ledgerRow struct {
	whole float64
	parts [metric.LedgerParts]float64
	known [metric.LedgerParts]bool
	over  float64 // by how much what the server tells exceeds what the client saw
}

// ledgerOf splits a request's time to first token, from due. What the server tells is cut
// to what the client saw of it, all its parts alike; the round trip is an estimate
// and makes way for them.
func (n *naming) ledgerOf(q *request) (row ledgerRow, ok bool) {
	f := &q.figures
	if row.whole = f[ttftDue]; math.IsNaN(row.whole) || math.IsNaN(f[ttft]) {
		return row, false
	}
	take := func(part metric.LedgerPart, ns float64, room *float64) {
		if !math.IsNaN(ns) {
			row.known[part] = true
			row.parts[part] = max(0, min(ns, *room))
			*room -= row.parts[part]
		}
	}
	before := max(0, row.whole-f[ttft])
	take(metric.SlotPart, f[slotWait], &before)
	take(metric.ConnectPart, f[connect], &before)
	take(metric.TLSPart, f[tls], &before)
	if !q.retried { // else what is left are its other tries
		take(metric.LagPart, before, &before)
	}
	room := f[ttft]
	take(metric.UploadPart, f[upload], &room)
	sum := 0.0
	for _, t := range serverParts {
		sum += max(0, orZero(f[t.figure]))
	}
	scale := 1.0
	if sum > room {
		row.over, scale = sum-room, room/sum
	}
	for i, t := range serverParts {
		take(metric.GatewayPart+metric.LedgerPart(i), f[t.figure]*scale, &room)
	}
	if int(q.replica) < len(n.trips) {
		take(metric.NetworkPart, n.trips[q.replica], &room)
	}
	return row, true
}

func orZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

// minOver is more than a server's rounding, in ns.
const minOver = 1e4

// minForSlow is how many requests have a slowest twentieth worth a look.
const minForSlow = 40

// ledger adds up where the time to first token of some requests went; nil where none
// has one.
func (v view) ledger(p part) *metric.Ledger {
	var wholes []float64
	for q := range v.requestsOf(p) {
		if !math.IsNaN(q.figures[ttftDue]) && !math.IsNaN(q.figures[ttft]) {
			wholes = append(wholes, q.figures[ttftDue])
		}
	}
	if len(wholes) == 0 {
		return nil
	}
	from := math.Inf(1)
	if len(wholes) >= minForSlow {
		slices.Sort(wholes)
		from = wholes[len(wholes)*19/20]
	}
	l := &metric.Ledger{}
	var all, slow metric.LedgerSums
	for q := range v.requestsOf(p) {
		row, ok := v.naming.ledgerOf(q)
		if !ok {
			continue
		}
		all.Add(row.whole, row.parts, row.known)
		if row.whole >= from {
			slow.Add(row.whole, row.parts, row.known)
		}
		if row.over > minOver {
			l.Over++
			l.OverMS = max(l.OverMS, round(row.over/1e6))
		}
	}
	l.Fill(&all, &slow)
	return l
}

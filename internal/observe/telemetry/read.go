package telemetry

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/observe/engine"
	"redline/internal/text"
)

// processStart is the series by which the usual client libraries tell when
// the server's process began.
const processStart = "process_start_time_seconds"

// processFiles is the series by which they tell how many files it has open.
const processFiles = "process_open_fds"

// processSeconds is the series by which they tell what that process computed.
const processSeconds = "process_cpu_seconds_total"

// Read finds the engine whose page it is and gives its figures. It reports
// false for a page of no engine that is known. A name without an engine's
// prefix says less than one with it.
func (p *Page) Read() (*Reading, bool) {
	for _, prefixed := range []bool{true, false} {
		for _, e := range engine.All() {
			m := &e.Metrics
			if (m.Prefix != "") == prefixed && slices.ContainsFunc(p.Series, func(s Series) bool { return m.Has(s.Name) }) {
				r := p.index(m).read()
				r.Engine = e.Name
				return r, true
			}
		}
	}
	return nil, false
}

// pageIndex is a page arranged by name, for one engine.
type pageIndex struct {
	names  *engine.Metrics
	series map[string][]pageSeries
	pages  int
	// only is the replica to look at, nil for all of them.
	only *replica
}

// pageSeries is a series with the number of its page.
type pageSeries struct {
	*Series
	page int
}

// replica tells engines apart: by page, and by label where one page has
// several.
type replica struct {
	page int
	name string
}

// index leaves out what can only mislead: a series that stands twice on a page
// counts once, with its last value, and of the shards of a replica the first
// speaks for all.
func (p *Page) index(e *engine.Metrics) *pageIndex {
	x := &pageIndex{names: e, series: map[string][]pageSeries{}, pages: len(p.Breaks) + 1}
	seen := map[string]int{}
	page := 0
	for i := range p.Series {
		for page < len(p.Breaks) && p.Breaks[page] <= i {
			page++
		}
		s := &p.Series[i]
		if !strings.HasPrefix(s.Name, e.Prefix) && !slices.Contains(e.Others, s.Name) && !slices.Contains([]string{processStart, processSeconds, processFiles}, s.Name) {
			continue
		}
		if slices.ContainsFunc(e.Shards, func(label string) bool { rank := s.Label(label); return rank != "" && rank != "0" }) {
			continue
		}
		key := strconv.Itoa(page) + "\x00" + s.Name
		for _, l := range s.Labels {
			key += "\x00" + l.Name + "\x00" + l.Value
		}
		if at, twice := seen[key]; twice {
			x.series[s.Name][at] = pageSeries{s, page}
			continue
		}
		seen[key] = len(x.series[s.Name])
		x.series[s.Name] = append(x.series[s.Name], pageSeries{s, page})
	}
	return x
}

func (x *pageIndex) read() *Reading {
	e := x.names
	replicas := x.replicas()
	r := &Reading{
		Replicas: max(1, len(replicas)), StartedUnixS: x.sum([]engine.Source{{Name: processStart}}),
		OpenFiles: x.sum([]engine.Source{{Name: processFiles}}),
		Adapters:  x.countListed(e.Adapters), Connections: x.sum(e.Connections),
		Running: x.sum(e.Running), Waiting: x.sum(e.Waiting), KVUsage: x.share(e.KVUsage), KVTokens: x.sum(e.KVTokens),
		PrefixRate: x.share(e.PrefixRate), SpecRate: x.share(e.SpecRate),
		PrefixHits: x.sum(e.PrefixHits), TierHits: x.sum(e.TierHits), PrefixQueries: x.sum(e.PrefixQueries),
		Preemptions: x.sum(e.Preemptions), Evictions: x.sum(e.Evictions), EvictionUnit: x.unit(e.Evictions), Swaps: x.sum(e.Swaps), Recomputes: x.sum(e.Recomputes),
		SpecDrafted: x.sum(e.SpecDrafted), SpecAccepted: x.sum(e.SpecAccepted),
		PromptTokens: x.sum(e.PromptTokens), GenerationTokens: x.sum(e.GenerationTokens), Requests: x.sum(e.Requests),
		PrefillSeconds: x.sum(e.PrefillSeconds), Prefilled: x.sum(e.Prefilled),
		TTFT: x.timing(e.TTFT), ITL: x.timing(e.ITL), Queue: x.timing(e.Queue),
		Steps: x.sum(e.Steps), StepTokens: x.sum(e.StepTokens), ProcessCPUS: x.mean([]engine.Source{{Name: processSeconds}}),
		Prefill: x.timing(e.Prefill), Decode: x.timing(e.Decode), Inference: x.timing(e.Inference), E2E: x.timing(e.E2E),
		SpecDrafts: x.sum(e.SpecDrafts), SpecAcceptedAt: x.byLabel(e.SpecAcceptedAt), SpecLength: x.mean(e.SpecLength),
		WaitingFor: x.byLabel(e.WaitingFor), HitsBy: x.byLabel(e.HitsBy),
		Config:   x.config(),
		Transfer: x.timing(e.Transfer), TransferBytes: x.sum(e.TransferBytes), TransferFailures: x.sum(e.TransferFailures),
	}
	delete(r.HitsBy, "total")
	delete(r.HitsBy, "")                          // of a version that does not tell them apart
	if r.PrefixHits != nil && r.TierHits != nil { // what a tier has was asked of the device first
		*r.PrefixHits += *r.TierHits
	}
	if len(replicas) > 1 && len(replicas) <= maxReplicas {
		r.Each = x.each(replicas)
	}
	return r
}

// maxReplicas bounds how many are told apart: a page is not to be trusted with
// the length of a log.
const maxReplicas = 64

// replicas lists the engines that say how many requests they run.
func (x *pageIndex) replicas() []replica {
	var all []replica
	seen := map[replica]bool{}
	for _, from := range x.names.Running {
		for _, s := range x.of(from) {
			one := replica{s.page, s.Label(x.names.Replica)}
			if !seen[one] {
				seen[one] = true
				all = append(all, one)
			}
		}
	}
	return all
}

func (x *pageIndex) each(replicas []replica) []Replica {
	e := x.names
	var all []Replica
	for _, one := range replicas {
		alone := *x
		alone.only = &one
		name := strings.ToValidUTF8(one.name, "?")
		if x.pages > 1 {
			name = strings.TrimSuffix(strconv.Itoa(one.page)+"/"+name, "/")
		}
		r := Replica{Name: name, Pool: alone.pool(), Running: alone.sum(e.Running), Waiting: alone.sum(e.Waiting),
			KVUsage: alone.share(e.KVUsage), GenerationTokens: alone.sum(e.GenerationTokens), Requests: alone.sum(e.Requests),
			PromptTokens: alone.sum(e.PromptTokens)}
		if queue := alone.timing(e.Queue); queue != nil {
			r.QueueS, r.Queued = &queue.SumS, &queue.Count
		}
		all = append(all, r)
	}
	return all
}

// pool is that of the replica that is looked at, by its labels.
func (x *pageIndex) pool() string {
	for _, from := range x.names.Running {
		for _, s := range x.of(from) {
			return poolByLabels(text.Each(s.Labels, func(l Label) string { return l.Value }))
		}
	}
	return ""
}

// config gives the labels of the first replica and the settings that stand as
// values.
func (x *pageIndex) config() map[string]string {
	all := map[string]string{}
	for _, s := range x.of(engine.Source{Name: x.names.Config}) {
		for _, l := range s.Labels {
			if l.Name == x.names.Replica || slices.Contains(x.names.Shards, l.Name) {
				continue
			}
			name := l.Name
			if other, ok := x.names.Renamed[name]; ok {
				name = other
			}
			all[name] = strings.ToValidUTF8(l.Value, "?")
		}
		break
	}
	for name, sources := range x.names.Settings {
		if v := x.mean(sources); v != nil {
			all[name] = strconv.FormatFloat(*v, 'f', -1, 64)
		}
	}
	for slots := range x.byLabel(x.names.AdapterSlots) {
		all[engine.SlotsSetting] = slots
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// byLabel adds up a gauge or a counter for each value of its label.
func (x *pageIndex) byLabel(from engine.LabeledSource) map[string]float64 {
	var all map[string]float64
	for _, s := range x.of(engine.Source{Name: from.Name}) {
		if !finite(s.Value) || s.Value < 0 || len(all) >= maxReplicas {
			continue
		}
		if all == nil {
			all = map[string]float64{}
		}
		all[strings.ToValidUTF8(s.Label(from.Label), "?")] += s.Value
	}
	return all
}

// countListed counts what the labels of each replica's latest series list: its value is
// the time at which it was written.
func (x *pageIndex) countListed(from engine.ListedSource) *float64 {
	latest := map[replica]pageSeries{}
	for _, s := range x.of(engine.Source{Name: from.Name}) {
		one := replica{s.page, s.Label(x.names.Replica)}
		if before, known := latest[one]; finite(s.Value) && (!known || s.Value > before.Value) {
			latest[one] = s
		}
	}
	if len(latest) == 0 {
		return nil
	}
	n := 0
	for _, s := range latest {
		names := map[string]bool{}
		for _, label := range from.Labels {
			for name := range strings.SplitSeq(s.Label(label), ",") {
				names[strings.TrimSpace(name)] = true
			}
		}
		delete(names, "")
		n += len(names)
	}
	return new(float64(n))
}

// of gives the series of a source.
func (x *pageIndex) of(from engine.Source) []pageSeries {
	var all []pageSeries
	for _, s := range x.series[from.Name] {
		switch {
		case from.Label != "" && s.Label(from.Label) != from.Value:
		case x.only != nil && (s.page != x.only.page || s.Label(x.names.Replica) != x.only.name):
		default:
			all = append(all, s)
		}
	}
	if from.Single != "" {
		for _, s := range all {
			if s.Label(from.Single) != all[0].Label(from.Single) {
				return nil
			}
		}
	}
	return all
}

// add adds up the values of a source that can be: neither a gauge nor a counter
// of requests, tokens or seconds is ever below zero.
func (x *pageIndex) add(from engine.Source) (sum float64, n int) {
	for _, s := range x.of(from) {
		if finite(s.Value) && s.Value >= 0 {
			sum += s.Value
			n++
		}
	}
	return sum, n
}

// total is the value of the first source that has any.
func (x *pageIndex) total(sources []engine.Source) (sum float64, n int) {
	for _, from := range sources {
		sum, n := x.add(from)
		if n == 0 {
			continue
		}
		if from.Plus != "" {
			more, _ := x.add(engine.Source{Name: from.Plus})
			sum += more
		}
		if from.Per != nil {
			whole, parts := x.add(*from.Per)
			if parts == 0 || whole == 0 {
				continue
			}
			sum, n = sum/whole, 1
		}
		if sum *= cmp.Or(from.Scale, 1); finite(sum) {
			return sum, n
		}
	}
	return 0, 0
}

// unit is what the first source that has any value counts.
func (x *pageIndex) unit(sources []engine.Source) string {
	for _, from := range sources {
		if _, n := x.add(from); n > 0 {
			return from.Unit
		}
	}
	return ""
}

func (x *pageIndex) sum(sources []engine.Source) *float64 {
	if sum, n := x.total(sources); n > 0 {
		return &sum
	}
	return nil
}

func (x *pageIndex) mean(sources []engine.Source) *float64 {
	if sum, n := x.total(sources); n > 0 {
		return new(sum / float64(n))
	}
	return nil
}

// share is the mean of what is a part of a whole. One that is more than the
// whole is in another unit or wrong, and says nothing.
func (x *pageIndex) share(sources []engine.Source) *float64 {
	const rounding = 1.01
	v := x.mean(sources)
	if v == nil || *v > rounding {
		return nil
	}
	return new(min(1, *v))
}

// timing reads a histogram, or the two counters that stand for one.
func (x *pageIndex) timing(sources []engine.Source) *Histogram {
	for _, from := range sources {
		part := func(suffix string) engine.Source { s := from; s.Name += suffix; return s }
		total, number := part("_sum"), part("_count")
		if from.Count != "" {
			total, number = from, from
			number.Name = from.Count
		}
		number.Scale = 0
		sum, count := x.sum([]engine.Source{total}), x.sum([]engine.Source{number})
		if sum == nil || count == nil {
			continue
		}
		h := &Histogram{SumS: *sum, Count: *count}
		if from.Count == "" {
			h.LE, h.N = x.buckets(part("_bucket"))
		}
		return h
	}
	return nil
}

// buckets adds up the buckets of all replicas. An edge that some of them lack
// is left out, since a sum with a part missing is no count.
func (x *pageIndex) buckets(from engine.Source) (edges, counts []float64) {
	type bucket struct {
		count float64
		parts int
	}
	all, parts := map[float64]bucket{}, 0
	for _, s := range x.of(from) {
		edge, err := strconv.ParseFloat(s.Label("le"), 64)
		edge *= cmp.Or(from.Scale, 1)
		if err != nil || !finite(edge) || !finite(s.Value) || s.Value < 0 {
			continue
		}
		b := all[edge]
		b = bucket{b.count + s.Value, b.parts + 1}
		all[edge] = b
		parts = max(parts, b.parts)
	}
	for _, edge := range slices.Sorted(maps.Keys(all)) {
		if b := all[edge]; b.parts == parts && finite(b.count) {
			edges, counts = append(edges, edge), append(counts, b.count)
		}
	}
	return edges, counts
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

package engine

import (
	"slices"
	"strings"
)

// Source names the series that a figure is read from: all of a name, or those
// that have one value of a label.
type Source struct {
	Name, Label, Value string
	// Scale turns the engine's unit into seconds; 0 stands for 1.
	Scale float64
	// Plus is a series that is added where it is on the page.
	Plus string
	// Per is what the value is a part of.
	Per *Source
	// Count is the counter of the values whose sum Name counts, for a timing
	// that the engine keeps as two counters instead of a histogram.
	Count string
	// Unit is what a counter counts, where engines differ.
	Unit string
	// Single is a label of which all series must have the same value, else the
	// source is passed over: the steps of one pipeline, added up, would count
	// a request more than once.
	Single string
}

// Metrics says how an engine names its figures. Where a figure has several
// sources, the first that is on the page is taken: newer names come before
// older ones.
type Metrics struct {
	// Path is where the page is, /metrics by default.
	Path string
	// Prefix is what the names of the engine's series begin with; a page that
	// has one of them is this engine's.
	Prefix string
	// Marks are names that make a page this engine's where it has no prefix of
	// its own. Others are read as well, and make it nobody's.
	Marks, Others []string
	// Replica is the label that tells engines behind one endpoint apart.
	Replica string
	// Shards are labels of the parts of one replica, of which only the part 0
	// is read: all of them tell the same.
	Shards []string
	// Config is the series whose labels tell how the engine is set up, and
	// Settings are series whose values do, by the name that they get.
	Config   string
	Settings map[string][]Source
	// Renamed gives labels of Config the names that other engines have for
	// them.
	Renamed map[string]string
	// AdapterSlots has a label for how many adapters a batch can have.
	AdapterSlots LabeledSource

	// Gauges. KVUsage and the rates are means over the replicas, the others
	// are sums. PrefixRate and SpecRate are for engines that do not count what
	// they are shares of.
	Running, Waiting, KVUsage, PrefixRate, SpecRate []Source
	// KVTokens is the tokens that the blocks in use hold.
	KVTokens []Source
	// WaitingFor is the gauge of those that wait, with a label that says what
	// for.
	WaitingFor LabeledSource
	// Connections are those that stay open for longer than a request.
	Connections []Source
	// Adapters is the series whose labels list the adapters that requests use or wait
	// for; of several the one written last counts, by its value.
	Adapters ListedSource
	// Counters.
	PrefixHits, PrefixQueries, Preemptions []Source
	// TierHits are prompt tokens that were found in a tier behind the cache of the device.
	TierHits []Source
	// HitsBy counts prompt tokens from the cache, with a label that says from which of
	// its tiers; what it says of all together is left out.
	HitsBy                       LabeledSource
	Evictions, Swaps, Recomputes []Source
	// SpecDrafts counts how often tokens were guessed, and SpecAcceptedAt those that
	// were right, with a label for their place in the draft. SpecLength is the mean
	// number of tokens that a step brings, where an engine says only that.
	SpecDrafted, SpecAccepted, SpecDrafts    []Source
	SpecAcceptedAt                           LabeledSource
	SpecLength                               []Source
	PromptTokens, GenerationTokens, Requests []Source
	// PrefillSeconds counts the time that went into prompts, and Prefilled the
	// tokens of them.
	PrefillSeconds, Prefilled []Source
	// Steps counts passes through the model, and StepTokens the tokens that
	// they computed, of prompts and of replies.
	Steps, StepTokens []Source
	// Timings: histograms without _sum, _count and _bucket, or two counters.
	// Inference is from first scheduled to the last token.
	TTFT, ITL, Queue, Prefill, Decode, Inference, E2E []Source
	// Transfer is the time of handing the cache of a request from the pool that prefills
	// to the one that decodes, TransferBytes and TransferFailures count the rest of it.
	Transfer, TransferBytes, TransferFailures []Source
}

// SlotsSetting is the setting that AdapterSlots becomes.
const SlotsSetting = "max_loras"

// LabeledSource is a series with one value for each value of a label.
type LabeledSource struct{ Name, Label string }

// ListedSource is a series with lists in its labels, separated by commas.
type ListedSource struct {
	Name   string
	Labels []string
}

// sourcesOf gives a source for each of the names.
func sourcesOf(names ...string) []Source {
	sources := make([]Source, len(names))
	for i, n := range names {
		sources[i].Name = n
	}
	return sources
}

// Has reports whether a series of that name makes a page this engine's.
func (m *Metrics) Has(name string) bool {
	return m.Prefix != "" && strings.HasPrefix(name, m.Prefix) || slices.Contains(m.Marks, name)
}

package metric

import "slices"

// LedgerPart is a part of the time to first token, in the order of time.
type LedgerPart int

// The parts. Those from GatewayPart to WritePart are for a server to tell.
const (
	SlotPart LedgerPart = iota
	ConnectPart
	TLSPart
	LagPart
	UploadPart
	NetworkPart
	GatewayPart
	FrontEndPart
	QueuePart
	PrefillPart
	TransferPart
	WritePart
	LedgerParts
)

// ledgerNames are what results call the parts.
var ledgerNames = [LedgerParts]string{"slot", "connect", "tls", "lag", "upload", "network", "gateway", "front_end", "queue", "prefill", "transfer", "first_write"}

// Ledger is where the time to first token went, from due, on average: its parts and the
// rest add up to the whole.
type Ledger struct {
	// N is how many replies it is of, WholeMS their mean time to first token.
	N       int     `json:"n"`
	WholeMS float64 `json:"whole_ms"`
	// SlowMS is that of the slowest twentieth.
	SlowMS float64       `json:"slow_ms,omitempty"`
	Parts  []LedgerEntry `json:"parts"`
	// RestMS is not accounted for.
	RestMS     float64 `json:"rest_ms"`
	SlowRestMS float64 `json:"slow_rest_ms,omitempty"`
	// Over counts replies whose server states more time than passed here, by at most
	// OverMS: its parts are cut to it.
	Over   int     `json:"over,omitempty"`
	OverMS float64 `json:"over_ms,omitempty"`
}

// LedgerEntry is one part of it.
type LedgerEntry struct {
	Name   string  `json:"name"`
	MeanMS float64 `json:"mean_ms"`
	SlowMS float64 `json:"slow_ms,omitempty"`
	// N is how many replies it is known of; the others count as 0 in it.
	N int `json:"n"`
	// Server says that it is for a server to tell.
	Server bool `json:"-"`
	// Scraped says that it is the mean of the server's own histogram: no reply told it.
	Scraped bool `json:"scraped,omitempty"`
}

// LedgerSums adds up the parts of several requests, in ns.
type LedgerSums struct {
	n     int
	whole float64
	parts [LedgerParts]float64
	known [LedgerParts]int
}

// Add takes in a request.
func (s *LedgerSums) Add(whole float64, parts [LedgerParts]float64, known [LedgerParts]bool) {
	s.n++
	s.whole += whole
	for i := range parts {
		s.parts[i] += parts[i]
		if known[i] {
			s.known[i]++
		}
	}
}

// mean is a sum over the requests that were added, as a mean in ms.
func (s *LedgerSums) mean(ns float64) float64 { return ns / 1e6 / float64(max(s.n, 1)) }

// Fill makes the ledger of sums over all requests and over the slowest of them.
func (l *Ledger) Fill(all, slow *LedgerSums) {
	l.N, l.WholeMS, l.SlowMS = all.n, round(all.mean(all.whole)), round(slow.mean(slow.whole))
	rest, slowRest := all.mean(all.whole), slow.mean(slow.whole)
	for i, name := range ledgerNames {
		if all.known[i] == 0 {
			continue
		}
		e := LedgerEntry{Name: name, MeanMS: all.mean(all.parts[i]), SlowMS: slow.mean(slow.parts[i]), N: all.known[i]}
		rest, slowRest = rest-e.MeanMS, slowRest-e.SlowMS
		e.MeanMS, e.SlowMS = round(e.MeanMS), round(e.SlowMS)
		l.Parts = append(l.Parts, e)
	}
	l.RestMS, l.SlowRestMS = round(max(0, rest)), round(max(0, slowRest))
}

// Scrape takes a server's own mean for a part that no reply tells, out of the rest.
func (l *Ledger) Scrape(part LedgerPart, ms float64) {
	if l.Part(ledgerNames[part]) != nil {
		return
	}
	ms = min(ms, l.RestMS)
	l.RestMS = round(l.RestMS - ms)
	at, _ := slices.BinarySearchFunc(l.Parts, part, func(e LedgerEntry, p LedgerPart) int { return slices.Index(ledgerNames[:], e.Name) - int(p) })
	l.Parts = slices.Insert(l.Parts, at, LedgerEntry{Name: ledgerNames[part], MeanMS: round(ms), N: l.N, Scraped: true})
}

// Part is the entry of that name, nil where it is not known.
func (l *Ledger) Part(name string) *LedgerEntry {
	if l != nil {
		for i := range l.Parts {
			if l.Parts[i].Name == name {
				return &l.Parts[i]
			}
		}
	}
	return nil
}

// IsKnown reports whether a server stated a part of it.
func (l *Ledger) IsKnown() bool {
	for _, name := range ledgerNames[GatewayPart:] {
		if l.Part(name) != nil {
			return true
		}
	}
	return false
}

// ByReplies reports whether replies themselves tell any of it.
func (l *Ledger) ByReplies() bool {
	return slices.ContainsFunc(l.All(), func(e LedgerEntry) bool { return e.Server && !e.Scraped })
}

// Rest is the name of what is not accounted for.
const Rest = "rest"

// All are the parts and, last, the rest.
func (l *Ledger) All() []LedgerEntry {
	if l == nil {
		return nil
	}
	all := slices.Clone(l.Parts)
	for i := range all {
		all[i].Server = slices.Contains(ledgerNames[GatewayPart:], all[i].Name)
	}
	return append(all, LedgerEntry{Name: Rest, MeanMS: l.RestMS, SlowMS: l.SlowRestMS, N: l.N})
}

// LedgerNames are those of all parts and of the rest, in the order of time.
func LedgerNames() []string { return append(ledgerNames[:], Rest) }

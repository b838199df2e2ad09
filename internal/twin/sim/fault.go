package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/stats"
	"redline/internal/text"
)

// FaultKind is one way in which the server can be told to misbehave.
type FaultKind struct {
	Name string
	// Usual is the time that stands in the fault's parentheses where nothing
	// does; 0 for a fault that takes none.
	Usual time.Duration
	// Help says what the server does, for people to read.
	Help string

	afflict func(m *mishap, wait time.Duration)
}

// FaultKinds lists every fault. The name is the outcome that a client should see, where there is one.
var FaultKinds = []FaultKind{
	{"429", time.Second, "too many requests, with this Retry-After", refuse(http.StatusTooManyRequests)},
	{"503", time.Second, "unavailable, with this Retry-After", refuse(http.StatusServiceUnavailable)},
	{"500", 0, "internal error", refuse(http.StatusInternalServerError)},
	{"401", 0, "unauthorized", refuse(http.StatusUnauthorized)},
	{"404", 0, "not found", refuse(http.StatusNotFound)},
	{"slow-head", 5 * time.Second, "the head of the reply comes so much later",
		func(m *mishap, wait time.Duration) { m.beforeHead += wait }},
	{"empty", 0, "status 200 and a body without a byte", finish(emptyEnding)},
	{"stall", 5 * time.Second, "nothing comes for so long in mid reply",
		func(m *mishap, wait time.Duration) { m.midway += wait }},
	{"reset", 0, "the connection is reset in mid reply", finish(resetEnding)},
	{"truncated", 0, "the reply ends in mid stream, in order but without its closing event", finish(truncatedEnding)},
	{"malformed", 0, "an event in mid stream is broken JSON", finish(malformedEnding)},
	{"error-event", 0, "an error event in mid stream, after which nothing comes", finish(errorEnding)},
	{"no-usage", 0, "no token counts; zeros where the API cannot leave them out", mark(func(m *mishap) *bool { return &m.noUsage })},
	{"wrong-usage", 0, "twice the output tokens are counted", mark(func(m *mishap) *bool { return &m.wrongUsage })},
	{"crlf", 0, "lines of the event stream end with CR and LF", mark(func(m *mishap) *bool { return &m.crlf })},
	{"paired", 0, "two events in each write", cut(inPairs)},
	{"halved", 0, "each event over two writes", cut(inHalves)},
	{"bytewise", 0, "each byte in a write of its own", cut(inBytes)},
	{"huge", 0, "one event of a megabyte in mid stream", mark(func(m *mishap) *bool { return &m.huge })},
	{"hang-up", 0, "the connection is closed after the reply, without a word", mark(func(m *mishap) *bool { return &m.hangUp })},
}

// FaultNames lists the names of all faults.
func FaultNames() []string {
	return text.Each(FaultKinds, func(k FaultKind) string { return k.Name })
}

// Fault is one fault and the requests that it strikes.
type Fault struct {
	Kind *FaultKind
	Wait time.Duration
	// Number is the only generation that is struck, counted from 1 by arrival;
	// 0 where Share decides.
	Number uint64
	// Share of the generations that are struck, 0 to 1.
	Share float64
}

// parseFault reads a fault's terse form, NAME[(TIME)][:WHEN]: "reset:2%" strikes
// that share of the generations, "429(2s):#5" the fifth, "crlf" all of them.
func parseFault(given string) (Fault, error) {
	what, when, chosen := strings.Cut(strings.TrimSpace(given), ":")
	name, wait, timed := strings.Cut(strings.TrimSpace(what), "(")
	name = strings.TrimSpace(name)
	i := slices.IndexFunc(FaultKinds, func(k FaultKind) bool { return k.Name == name })
	if i < 0 {
		return Fault{}, fmt.Errorf("unknown fault %q; %s", name, text.Cure(name, FaultNames()))
	}
	f := Fault{Kind: &FaultKinds[i], Wait: FaultKinds[i].Usual, Share: 1}
	if timed {
		if err := f.parseWait(wait); err != nil {
			return Fault{}, err
		}
	}
	if chosen {
		if err := f.parseWhen(strings.TrimSpace(when)); err != nil {
			return Fault{}, err
		}
	}
	return f, nil
}

func (f *Fault) parseWait(text string) error {
	text, closed := strings.CutSuffix(strings.TrimSpace(text), ")")
	wait, err := time.ParseDuration(strings.TrimSpace(text))
	switch {
	case f.Kind.Usual == 0:
		return fmt.Errorf("%s takes nothing in parentheses", f.Kind.Name)
	case !closed || err != nil || wait <= 0:
		return fmt.Errorf("%s: want a positive time in parentheses such as %s(3s), got %q", f.Kind.Name, f.Kind.Name, text)
	case (f.Kind.Name == "429" || f.Kind.Name == "503") && wait%time.Second != 0:
		return fmt.Errorf("%s: Retry-After takes whole seconds, got %v", f.Kind.Name, wait)
	}
	f.Wait = wait
	return nil
}

func (f *Fault) parseWhen(text string) error {
	if number, ok := strings.CutPrefix(text, "#"); ok {
		n, err := strconv.ParseUint(number, 10, 63)
		if err != nil || n == 0 {
			return fmt.Errorf("%s: want the number of a request such as #5, got %q", f.Kind.Name, text)
		}
		f.Number, f.Share = n, 0
		return nil
	}
	percent, ok := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	f.Share = share / 100
	if !ok || err != nil || !(f.Share > 0 && f.Share <= 1) {
		return fmt.Errorf("%s: want a share such as 2%% or a request such as #5 after the colon, got %q", f.Kind.Name, text)
	}
	return nil
}

// String gives the terse form, which parseFault reads back.
func (f Fault) String() string {
	text := f.Kind.Name
	if f.Wait != f.Kind.Usual {
		text += "(" + f.Wait.String() + ")"
	}
	switch {
	case f.Number > 0:
		return text + ":#" + strconv.FormatUint(f.Number, 10)
	case f.Share < 1:
		return text + ":" + strconv.FormatFloat(f.Share*100, 'g', -1, 64) + "%"
	}
	return text
}

// faultPlan says what befalls each generation.
type faultPlan struct {
	seed   uint64
	faults []Fault
}

func newFaultPlan(seed uint64, texts []string) (*faultPlan, error) {
	p := &faultPlan{seed: seed}
	for _, text := range texts {
		f, err := parseFault(text)
		if err != nil {
			return nil, fmt.Errorf("faults: %w", err)
		}
		p.faults = append(p.faults, f)
	}
	return p, nil
}

// befalls draws what befalls the generation of this number, nil for nothing.
// It depends on the seed, the fault and the number alone, so that runs repeat
// and one fault does not change whom another strikes. Of faults that rule each
// other out the first one given strikes.
func (p *faultPlan) befalls(number uint64) *mishap {
	var m *mishap
	for _, f := range p.faults {
		if !f.strikes(p.seed, number) {
			continue
		}
		if m == nil {
			m = &mishap{}
		}
		f.Kind.afflict(m, f.Wait)
	}
	return m
}

func (f Fault) strikes(seed, number uint64) bool {
	if f.Number > 0 {
		return f.Number == number
	}
	return f.Share == 1 || stats.Rand(seed, "fault "+f.String(), number).Float64() < f.Share
}

// mishap is what befalls one generation.
type mishap struct {
	status     int // instead of an answer
	retryAfter time.Duration
	beforeHead time.Duration
	midway     time.Duration // silence in mid reply
	ending     ending
	pieces     pieces
	noUsage    bool
	wrongUsage bool
	crlf       bool
	huge       bool
	hangUp     bool
}

// ending is how a reply goes wrong for good.
type ending uint8

const (
	inOrder ending = iota
	emptyEnding
	resetEnding
	truncatedEnding
	malformedEnding
	errorEnding
)

// pieces is how events are spread over writes.
type pieces uint8

const (
	asEvents pieces = iota
	inPairs
	inHalves
	inBytes
)

func refuse(status int) func(*mishap, time.Duration) {
	return func(m *mishap, wait time.Duration) {
		if m.status == 0 {
			m.status, m.retryAfter = status, wait
		}
	}
}

func finish(e ending) func(*mishap, time.Duration) {
	return func(m *mishap, _ time.Duration) {
		if m.ending == inOrder {
			m.ending = e
		}
	}
}

func cut(p pieces) func(*mishap, time.Duration) {
	return func(m *mishap, _ time.Duration) {
		if m.pieces == asEvents {
			m.pieces = p
		}
	}
}

func mark(flag func(*mishap) *bool) func(*mishap, time.Duration) {
	return func(m *mishap, _ time.Duration) { *flag(m) = true }
}

// Package faults is what goes wrong at a simulated server on purpose: the faults
// that there are, their terse form, and which of them each request meets. How a
// reply is spoiled is the server's matter.
package faults

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

// Kind is one fault that can be injected.
type Kind struct {
	Name string
	// Usual is the time that stands in the fault's parentheses where nothing
	// does; 0 for a fault that takes none.
	Usual time.Duration
	// Help says what the server does, for people to read.
	Help string

	apply func(m *Effect, wait time.Duration)
}

// Kinds lists every fault. The name is the outcome that a client should see, where there is one.
var Kinds = []Kind{
	{"429", time.Second, "too many requests, with this Retry-After", refuse(http.StatusTooManyRequests)},
	{"503", time.Second, "unavailable, with this Retry-After", refuse(http.StatusServiceUnavailable)},
	{"500", 0, "internal error", refuse(http.StatusInternalServerError)},
	{"401", 0, "unauthorized", refuse(http.StatusUnauthorized)},
	{"404", 0, "not found", refuse(http.StatusNotFound)},
	{"slow-head", 5 * time.Second, "the head of the reply comes so much later",
		func(m *Effect, wait time.Duration) { m.BeforeHead += wait }},
	{"empty", 0, "status 200 and a body without a byte", finish(Empty)},
	{"stall", 5 * time.Second, "nothing comes for so long in mid reply",
		func(m *Effect, wait time.Duration) { m.Midway += wait }},
	{"reset", 0, "the connection is reset in mid reply", finish(Reset)},
	{"truncated", 0, "the reply ends in mid stream, in order but without its closing event", finish(Truncated)},
	{"malformed", 0, "an event in mid stream is broken JSON", finish(Malformed)},
	{"error-event", 0, "an error event in mid stream, after which nothing comes", finish(ErrorEvent)},
	{"no-usage", 0, "no token counts; zeros where the API cannot leave them out", mark(func(m *Effect) *bool { return &m.NoUsage })},
	{"wrong-usage", 0, "twice the output tokens are counted", mark(func(m *Effect) *bool { return &m.WrongUsage })},
	{"crlf", 0, "lines of the event stream end with CR and LF", mark(func(m *Effect) *bool { return &m.CRLF })},
	{"paired", 0, "two events in each write", cut(InPairs)},
	{"halved", 0, "each event over two writes", cut(InHalves)},
	{"bytewise", 0, "each byte in a write of its own", cut(InBytes)},
	{"huge", 0, "one event of a megabyte in mid stream", mark(func(m *Effect) *bool { return &m.Huge })},
	{"leak", 0, "the KV cache of a request whose client leaves before its end is never freed", mark(func(m *Effect) *bool { return &m.Leak })},
	{"deaf", 0, "a client that leaves is not noticed: the reply is generated to its end", mark(func(m *Effect) *bool { return &m.Deaf })},
	{"lie", 0, "from some token on the reply has other words", spoil(OtherWords, Always)},
	{"lie-batch", 0, "so it does while two or more other requests are under way", spoil(OtherWords, InBatch)},
	{"lie-cache", 0, "so it does where the prefix cache has a part of the prompt", spoil(OtherWords, OnCacheHit)},
	{"lie-preempted", 0, "so it does after the request was put out of the batch", spoil(OtherWords, Preempted)},
	{"loop", 0, "the reply repeats one word from its middle on", spoil(OneWord, Always)},
	{"garbled", 0, "characters of the reply are cut", spoil(CutCharacters, Always)},
	{"mix", 0, "the reply has text of another request", spoil(AnothersText, Always)},
	{"hang-up", 0, "the connection is closed after the reply, without a word", mark(func(m *Effect) *bool { return &m.HangUp })},
}

// Names lists the names of all faults.
func Names() []string {
	return text.Each(Kinds, func(k Kind) string { return k.Name })
}

// Fault is one fault and the requests that it is injected into.
type Fault struct {
	Kind *Kind
	Wait time.Duration
	// Number is the only generation that has it, counted from 1 by arrival;
	// 0 where Share decides.
	Number uint64
	// Share of the generations that have it, 0 to 1.
	Share float64
}

// parse reads a fault's terse form, NAME[(TIME)][:WHEN]: "reset:2%" is for
// that share of the generations, "429(2s):#5" for the fifth, "crlf" for all of them.
func parse(given string) (Fault, error) {
	what, when, chosen := strings.Cut(strings.TrimSpace(given), ":")
	name, wait, timed := strings.Cut(strings.TrimSpace(what), "(")
	name = strings.TrimSpace(name)
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Fault{}, fmt.Errorf("unknown fault %q; %s", name, text.Cure(name, Names()))
	}
	f := Fault{Kind: &Kinds[i], Wait: Kinds[i].Usual, Share: 1}
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
		return fmt.Errorf("%s: expected a positive time in parentheses such as %s(3s), got %q", f.Kind.Name, f.Kind.Name, text)
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
			return fmt.Errorf("%s: expected the number of a request such as #5, got %q", f.Kind.Name, text)
		}
		f.Number, f.Share = n, 0
		return nil
	}
	percent, ok := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(strings.TrimSpace(percent), 64)
	f.Share = share / 100
	if !ok || err != nil || !(f.Share > 0 && f.Share <= 1) {
		return fmt.Errorf("%s: expected a share such as 2%% or a request such as #5 after the colon, got %q", f.Kind.Name, text)
	}
	return nil
}

// String gives the terse form, which parse reads back.
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

// Plan says what Effect each generation.
type Plan struct {
	seed   uint64
	faults []Fault
}

// NewPlan reads faults in their terse form; which requests meet them depends on the seed.
func NewPlan(seed uint64, texts []string) (*Plan, error) {
	p := &Plan{seed: seed}
	for _, text := range texts {
		f, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("faults: %w", err)
		}
		p.faults = append(p.faults, f)
	}
	return p, nil
}

// Effect is what the faults do to the generation of this number, nil for nothing.
// It depends on the seed, the fault and the number alone, so that runs repeat
// and one fault does not change which requests meet another. Of faults that
// exclude each other the first one given applies.
func (p *Plan) Effect(number uint64) *Effect {
	var m *Effect
	for _, f := range p.faults {
		if !f.meets(p.seed, number) {
			continue
		}
		if m == nil {
			m = &Effect{}
		}
		f.Kind.apply(m, f.Wait)
	}
	return m
}

func (f Fault) meets(seed, number uint64) bool {
	if f.Number > 0 {
		return f.Number == number
	}
	return f.Share == 1 || stats.Rand(seed, "fault "+f.String(), number).Float64() < f.Share
}

// Effect is what Effect one generation.
type Effect struct {
	Status     int // instead of an answer
	RetryAfter time.Duration
	BeforeHead time.Duration
	Midway     time.Duration // silence in mid reply
	Ending     Ending
	Pieces     Pieces
	NoUsage    bool
	WrongUsage bool
	CRLF       bool
	Huge       bool
	HangUp     bool
	// Text is what becomes of the words of the reply, and When.
	Text Spoiling
	When Condition
	// Leak and Deaf are what becomes of a generation whose client leaves: its cache
	// is not freed, or it goes on.
	Leak, Deaf bool
}

// SparesReply reports whether a reply that is read to its end is as any other.
func (m Effect) SparesReply() bool {
	m.Leak, m.Deaf = false, false
	return m == Effect{}
}

// Ending is how a reply goes wrong for good.
type Ending uint8

// The ways a reply can end.
const (
	InOrder Ending = iota
	Empty
	Reset
	Truncated
	Malformed
	ErrorEvent
)

// Pieces is how events are spread over writes.
type Pieces uint8

// The ways to spread them.
const (
	AsEvents Pieces = iota
	InPairs
	InHalves
	InBytes
)

// Spoiling is a way in which the text of a reply goes wrong.
type Spoiling uint8

// The ways.
const (
	AsAlone Spoiling = iota
	OtherWords
	OneWord
	CutCharacters
	AnothersText
)

// Condition is what a request has to meet for its reply to go wrong.
type Condition uint8

// The conditions.
const (
	Always Condition = iota
	InBatch
	OnCacheHit
	Preempted
)

func spoil(how Spoiling, when Condition) func(*Effect, time.Duration) {
	return func(m *Effect, _ time.Duration) {
		if m.Text == AsAlone {
			m.Text, m.When = how, when
		}
	}
}

func refuse(status int) func(*Effect, time.Duration) {
	return func(m *Effect, wait time.Duration) {
		if m.Status == 0 {
			m.Status, m.RetryAfter = status, wait
		}
	}
}

func finish(e Ending) func(*Effect, time.Duration) {
	return func(m *Effect, _ time.Duration) {
		if m.Ending == InOrder {
			m.Ending = e
		}
	}
}

func cut(p Pieces) func(*Effect, time.Duration) {
	return func(m *Effect, _ time.Duration) {
		if m.Pieces == AsEvents {
			m.Pieces = p
		}
	}
}

func mark(flag func(*Effect) *bool) func(*Effect, time.Duration) {
	return func(m *Effect, _ time.Duration) { *flag(m) = true }
}

package workload

import (
	"fmt"

	"redline/internal/stats"
	"redline/internal/traffic/dist"
)

// maxGroups bounds the memory of their popularity.
const maxGroups = 10_000_000

// Prefix makes requests begin with the same text as others of their group: a
// system prompt, a document, a few examples. It stands before the prompt,
// whose own length it adds to.
type Prefix struct {
	Groups     int             `yaml:"groups"`
	Tokens     int             `yaml:"tokens"`
	Popularity dist.Popularity `yaml:"popularity,omitempty"`
	// InTurn takes the groups one after another, over and over, in place of drawing
	// them: each comes back once all others have. The first round is the warm-up.
	InTurn bool `yaml:"in_turn,omitempty"`
	// Suffix takes the place of the workload's prompt length behind a prefix.
	Suffix *Dist `yaml:"suffix,omitempty"`
	// Suffixes is how many different continuations a group has, each as likely
	// as the next; 0 gives every request its own.
	Suffixes int `yaml:"suffixes,omitempty"`
}

// validate says what is wrong and what to write instead.
func (p Prefix) validate() error {
	if p.Groups < 1 || p.Groups > maxGroups {
		return fmt.Errorf("groups: must be 1 to %d, got %d", maxGroups, p.Groups)
	}
	if err := dist.CheckTokens("tokens", p.Tokens); err != nil {
		return err
	}
	if p.Suffixes < 0 {
		return fmt.Errorf("suffixes: must be at least 0, got %d", p.Suffixes)
	}
	if p.Suffix != nil {
		if err := p.Suffix.Validate(); err != nil {
			return fmt.Errorf("suffix: %w", err)
		}
	}
	if err := p.Popularity.Validate(); err != nil {
		return fmt.Errorf("popularity: %w", err)
	}
	if p.InTurn && p.Popularity != (dist.Popularity{}) {
		return fmt.Errorf("in_turn: every prefix comes as often as any other, but popularity is given too: leave out one of the two")
	}
	return nil
}

// The streams from which text is made. Two segments of one stream and key are
// the same text.
const (
	ownStream    = "workload prompt"
	laterStream  = "workload later turn"
	prefixStream = "workload prefix"
	suffixStream = "workload suffix"
	blockStream  = "workload block"
	coldStream   = "workload cold prefix"
	saltStream   = "workload salt"
)

// segment is a stretch of text that is not written yet.
type segment struct {
	stream string
	key    uint64
	tokens int
}

// isShared says that other requests may have the same segment.
func (s segment) isShared() bool {
	return s.stream == prefixStream || s.stream == blockStream || s.stream == suffixStream
}

// prefixes chooses the group of each session.
type prefixes struct {
	Prefix
	groups dist.Urn
	cold   bool
}

func newPrefixes(p *Prefix, cold bool) *prefixes {
	if p == nil {
		return nil
	}
	return &prefixes{Prefix: *p, groups: dist.NewUrn(p.Popularity.Shares(p.Groups)), cold: cold}
}

// choose draws the i-th session's group and its continuation there. The cold
// row of a pair draws the same, so that nothing but the cache can tell them
// apart.
func (p *prefixes) choose(seed uint64, i int) (group, suffix uint64) {
	r := stats.Rand(seed, "workload group", uint64(i))
	group = uint64(p.groups.Draw(r))
	if p.InTurn {
		group = uint64(i % p.Groups)
	}
	suffix = uint64(i)
	if p.Suffixes > 0 {
		suffix = group*uint64(p.Suffixes) + r.Uint64N(uint64(p.Suffixes))
	}
	return group, suffix
}

// begin gives the segments of the i-th session's prompt; own is the length of
// what follows the prefix.
func (p *prefixes) begin(seed uint64, i, own int) []segment {
	if p == nil {
		return []segment{{ownStream, uint64(i), own}}
	}
	group, suffix := p.choose(seed, i)
	first := segment{prefixStream, group, p.Tokens}
	second := segment{ownStream, uint64(i), own}
	if p.Suffixes > 0 {
		second = segment{suffixStream, suffix, own}
	}
	if p.cold {
		first, second = segment{coldStream, uint64(i), p.Tokens}, segment{ownStream, uint64(i), own}
	}
	return []segment{first, second}
}

// lengthIndex is the index by which the length of the own part is drawn: the
// continuation's where it is one of several, so that it has one length.
func (p *prefixes) lengthIndex(seed uint64, i int) (index uint64, stream string) {
	if p == nil || p.Suffixes == 0 {
		return uint64(i), "workload lengths"
	}
	_, suffix := p.choose(seed, i)
	return suffix, "workload suffix lengths"
}

// Rounds is how many requests come before one has a prompt that began as another
// did, where groups come in turn; 0 where they do not.
func (w *Workload) Rounds() int {
	if d, ok := w.classes[0].source.(*drawnSource); ok && len(w.classes) == 1 && d.prefix != nil && d.prefix.InTurn {
		return d.prefix.Groups
	}
	return 0
}

// SessionTokens is what a request and its reply hold on average.
func (s Spec) SessionTokens() float64 {
	shape, err := s.shape()
	if err != nil || shape.Jobs != nil {
		return 1
	}
	tokens := shape.Prompt.Mean() + shape.Output.Mean()
	if shape.Prefix != nil {
		tokens += float64(shape.Prefix.Tokens)
	}
	return max(1, tokens)
}

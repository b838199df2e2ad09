package sim

import (
	"fmt"
	"math"

	"redline/internal/catalog"
)

// Defaults of speculative decoding where it is on and nothing else is said, and
// the longest draft.
const (
	DefaultSpeculativeTokens     = 4
	DefaultSpeculativeAcceptance = 0.7
	DefaultSpeculativeDraftShare = 0.05
	maxSpeculativeTokens         = 16
)

// Speculation is how the engine guesses ahead. A small draft model proposes
// Tokens tokens for each generating sequence, one after another; the model
// itself then looks at all of them and one more in a single step, and takes the
// guesses up to the first wrong one, and the token behind them.
//
// The draft model is a copy of the model that takes DraftShare of its time for
// the same work: it reads every prompt, and makes as many passes before a step
// as there are tokens to guess. Its weights and cache are not counted.
type Speculation struct {
	// Tokens is the length of a draft; 0 is no speculation.
	Tokens int `yaml:"speculative_tokens,omitempty"`
	// Acceptance is the chance that a guess is right if all before it were, so
	// that i guesses are taken with the chance Acceptance^i.
	Acceptance float64 `yaml:"speculative_acceptance,omitempty"`
	// Curve replaces it by what was measured: the mean number of tokens that a
	// step brings with drafts of one, two, three … tokens.
	Curve []float64 `yaml:"speculative_curve,omitempty"`
	// Context is over how many tokens of context the chance halves, since
	// draft models are trained on short texts; 0 never.
	Context int `yaml:"speculative_context,omitempty"`
	// DraftShare is the draft model's time as a share of the model's.
	DraftShare *float64 `yaml:"speculative_draft_share,omitempty"`
}

// complete fills in the defaults of a speculation that is on.
func (s *Speculation) complete() {
	if s.Tokens == 0 {
		return
	}
	if s.Acceptance == 0 && len(s.Curve) == 0 {
		s.Acceptance = DefaultSpeculativeAcceptance
	}
	if s.DraftShare == nil {
		s.DraftShare = new(DefaultSpeculativeDraftShare)
	}
}

// validate says what is wrong, in one line.
func (s *Speculation) validate() error {
	share := 0.0
	if s.DraftShare != nil {
		share = *s.DraftShare
	}
	switch {
	case s.Tokens < 0 || s.Tokens > maxSpeculativeTokens:
		return fmt.Errorf("speculative_tokens: must be 1 to %d tokens, or 0 for no speculation, got %d", maxSpeculativeTokens, s.Tokens)
	case !(s.Acceptance >= 0 && s.Acceptance <= 1):
		return fmt.Errorf("speculative_acceptance: expected a chance from 0 to 1, got %v", s.Acceptance)
	case !(share >= 0 && share <= 1):
		return fmt.Errorf("speculative_draft_share: expected a share from 0 to 1, got %v", share)
	case s.Context < 0:
		return fmt.Errorf("speculative_context: expected a number of tokens, or 0 for none, got %d", s.Context)
	case len(s.Curve) > 0 && s.Acceptance > 0:
		return fmt.Errorf("speculative_curve: speculative_acceptance is given too; give only one of the two")
	case len(s.Curve) > 0 && len(s.Curve) < s.Tokens:
		return fmt.Errorf("speculative_curve: has %d figures for drafts of %d tokens: give one for each length from 1", len(s.Curve), s.Tokens)
	}
	before, step := 1.0, 1.0
	for i, mean := range s.Curve {
		if !(mean >= before && mean-before <= step+1e-9) {
			return fmt.Errorf("speculative_curve: %v at draft length %d: expected means that begin between 1 and 2 and rise by less each time", mean, i+1)
		}
		before, step = mean, mean-before
	}
	return nil
}

// reach gives for each place in a draft the chance that a guess there is right
// if all before it were.
func (s *Speculation) reach() (chances []float64) {
	before, reached := 1.0, 1.0
	for i := range s.Tokens {
		if len(s.Curve) == 0 {
			chances = append(chances, s.Acceptance)
			continue
		}
		here := s.Curve[i] - before
		chance := 0.0
		if reached > 0 {
			chance = min(1, here/reached)
		}
		chances = append(chances, chance)
		before, reached = s.Curve[i], here
	}
	return chances
}

// guesser is the speculation of an engine under way.
type guesser struct {
	Speculation
	seed    uint64
	chances []float64
	// What the step in hand has for the draft model: one token of each
	// sequence that it guesses for, so many times over, and prompts.
	deepest        int
	once, prompted catalog.StepLoad
}

// length is how many tokens to guess for a sequence that is about to generate,
// with so much left of the step's budget. None are guessed beyond its end.
func (g *guesser) length(s *sequence, budget int) int {
	if g.Tokens == 0 || s.total == s.prompt || s.total-s.computed != 1 {
		return 0
	}
	left := s.job.Output - (s.total - s.prompt) - 1
	return max(0, min(g.Tokens, left, budget-1))
}

// countAccepted is how many of a sequence's guesses turn out right. Whether a token
// can be guessed is a property of the token: it does not depend on what else is
// in the step.
func (g *guesser) countAccepted(s *sequence) int {
	fall := 1.0
	if g.Context > 0 {
		fall = math.Exp2(-float64(s.total) / float64(g.Context))
	}
	for i := range s.drafted {
		h := hashToken(hashToken(g.seed, int32(s.serial)), int32(s.total+i))
		if float64(h>>11)/(1<<53) >= fall*g.chances[i] {
			return i
		}
	}
	return s.drafted
}

// seconds is what the draft model adds to the step, by the model's own times.
func (g *guesser) seconds(of func(catalog.StepLoad) float64) float64 {
	if g.Tokens == 0 {
		return 0
	}
	sum := 0.0
	if g.deepest > 0 {
		sum += float64(g.deepest) * of(g.once)
	}
	if g.prompted.Tokens > 0 {
		sum += of(g.prompted)
	}
	return *g.DraftShare * sum
}

// guess puts a sequence with its guesses into the step.
func (b *batching) guess(s *sequence) {
	ctx := s.computed + 1
	b.load.Verify(1+s.drafted, ctx+s.drafted, b.time.Window())
	b.guesses.once.Decode(ctx, b.time.Window())
	b.guesses.deepest = max(b.guesses.deepest, s.drafted)
	b.budgetLeft -= s.drafted
}

// settle counts what came of a sequence's guesses, and gives how many tokens it
// brings out beside the one that a step brings anyway.
func (b *batching) settle(s *sequence) int {
	if s.drafted == 0 {
		return 0
	}
	n := b.guesses.countAccepted(s)
	b.stats.SpecDrafts++
	b.stats.SpecDrafted += int64(s.drafted)
	b.stats.SpecAccepted += int64(n)
	for i := range n {
		b.stats.SpecAcceptedAt[i]++
	}
	s.job.Drafted += s.drafted
	s.job.Accepted += n
	s.drafted = 0
	s.computed += n
	return n
}

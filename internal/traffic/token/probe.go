package token

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"redline/internal/text"
)

// Counter asks another tokenizer, such as a server's own, for the numbers of
// tokens of texts.
type Counter func(texts []string) ([]int, error)

// ProbedTokenizer is the tokenizer behind a Counter, as far as questions can show it.
type ProbedTokenizer struct {
	name     string
	count    Counter
	overhead int
	composer *composer
	seed     maphash.Seed

	counts      sync.Map // hash of a text → its number of tokens
	cachedCount atomic.Int64
	estimated   atomic.Int64
}

const (
	// groupWords is how many words one text of a probe tries together.
	groupWords = 32
	// triedOpenings is how many first words are tried, each in a text alone.
	triedOpenings = 128
	// keptCounts bounds the answers that are remembered.
	keptCounts = 1 << 14
)

// Probe finds the everyday words that are one token each to the tokenizer
// behind count, and makes text from them: Compose then gives exactly n of its
// tokens. It asks a few hundred short texts in about ten calls. What count
// adds to every text, such as a begin-of-text token, is found and taken off.
//
// It is an error when too few words are single tokens, or when texts of them
// do not count as many tokens as words.
func Probe(name string, count Counter) (*ProbedTokenizer, error) {
	p := &ProbedTokenizer{name: name, count: count, seed: maphash.MakeSeed()}
	// One letter is one token everywhere.
	counts, err := p.ask([]string{"a"})
	if err != nil {
		return nil, err
	}
	p.overhead = counts[0] - 1
	if p.overhead < 0 {
		return nil, fmt.Errorf("%s: the letter a counts %d tokens; must be at least 1", name, counts[0])
	}
	opening, capital, spaced := wordForms()
	if opening, err = p.openings(opening); err != nil {
		return nil, err
	}
	if len(opening) == 0 {
		return nil, fmt.Errorf("%s: none of %d everyday words is a single token at the start of a text", name, triedOpenings)
	}
	if capital, err = p.singles(opening[0], capital); err != nil {
		return nil, err
	}
	if spaced, err = p.singles(opening[0], spaced); err != nil {
		return nil, err
	}
	if p.composer, err = newComposer(opening, capital, spaced); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := p.prove(); err != nil {
		return nil, err
	}
	return p, nil
}

// ask gives what the counter says, which may fail or be of another number.
func (p *ProbedTokenizer) ask(texts []string) ([]int, error) {
	counts, err := p.count(texts)
	if err != nil {
		return nil, fmt.Errorf("%s: counting tokens: %w", p.name, err)
	}
	if len(counts) != len(texts) {
		return nil, fmt.Errorf("%s: counting tokens: %d answers to %d texts", p.name, len(counts), len(texts))
	}
	return counts, nil
}

// openings tries words spread over the list, alone.
func (p *ProbedTokenizer) openings(words []string) ([]string, error) {
	var tried []string
	for i := 0; i < len(words); i += len(words) / triedOpenings {
		tried = append(tried, words[i])
	}
	counts, err := p.ask(tried)
	if err != nil {
		return nil, err
	}
	var single []string
	for i, word := range tried {
		if counts[i]-p.overhead == 1 {
			single = append(single, word)
		}
	}
	return single, nil
}

// singles sorts out the words that are not one token behind others. Words are
// tried in groups; a group that counts another number is halved and asked
// again, all such groups in one call.
func (p *ProbedTokenizer) singles(opening string, words []string) ([]string, error) {
	good := map[string]bool{}
	for groups := slices.Collect(slices.Chunk(words, groupWords)); len(groups) > 0; {
		texts := text.Each(groups, func(group []string) string { return opening + strings.Join(group, "") })
		counts, err := p.ask(texts)
		if err != nil {
			return nil, err
		}
		var doubtful [][]string
		for i, group := range groups {
			switch half := len(group) / 2; {
			case counts[i]-p.overhead == 1+len(group):
				for _, word := range group {
					good[word] = true
				}
			case half > 0:
				doubtful = append(doubtful, group[:half], group[half:])
			}
		}
		groups = doubtful
	}
	return slices.DeleteFunc(words, func(word string) bool { return !good[word] }), nil
}

// prove counts composed texts of several lengths: words in random company,
// with commas and full stops.
func (p *ProbedTokenizer) prove() error {
	r := rand.New(rand.NewPCG(1, 1))
	lengths := []int{1, 2, 3, 7, 20, 100, 250, 500}
	texts := text.Each(lengths, func(n int) string { return string(p.Compose(nil, r, n)) })
	counts, err := p.ask(texts)
	if err != nil {
		return err
	}
	for i, n := range lengths {
		if got := counts[i] - p.overhead; got != n {
			return fmt.Errorf("%s: text composed of %d tokens counts %d: its words are not counted one by one; load its tokenizer.json instead", p.name, n, got)
		}
	}
	return nil
}

// Name is the name that Probe was given.
func (p *ProbedTokenizer) Name() string { return p.name }

// Overhead is the number of tokens that the counter adds to every text.
func (p *ProbedTokenizer) Overhead() int { return p.overhead }

// Compose appends text of exactly n tokens to dst, as a Vocabulary does. It
// asks nothing.
func (p *ProbedTokenizer) Compose(dst []byte, r *rand.Rand, n int) []byte {
	return p.composer.compose(dst, r, n)
}

// Count asks for the number of tokens of text, without the overhead, and
// remembers the answer. It waits for the counter, so it has no place where
// time is measured, nor where the server under test should be left alone.
// Where the counter fails it gives what o200k_base counts instead, and
// Estimated says so.
func (p *ProbedTokenizer) Count(text string) int {
	if text == "" {
		return 0
	}
	key := maphash.String(p.seed, text)
	if known, ok := p.counts.Load(key); ok {
		return known.(int)
	}
	counts, err := p.ask([]string{text})
	if err == nil && counts[0] < p.overhead {
		err = errors.New("fewer tokens than an empty text")
	}
	if err != nil {
		p.estimated.Add(1)
		return O200k().Count(text)
	}
	n := counts[0] - p.overhead
	if p.cachedCount.Add(1) <= keptCounts {
		p.counts.Store(key, n)
	}
	return n
}

// EstimatedCounts is how many counts are o200k_base's, because the counter failed.
func (p *ProbedTokenizer) EstimatedCounts() int { return int(p.estimated.Load()) }

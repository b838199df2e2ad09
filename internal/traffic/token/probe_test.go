package token

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// server counts like a vocabulary behind a wire: with an overhead on every
// text, and with some words that are more than one token.
type server struct {
	vocabulary   *Vocabulary
	overhead     int
	split        []string // words of one token more
	calls, texts int
}

func (s *server) count(texts []string) ([]int, error) {
	s.calls++
	s.texts += len(texts)
	var counts []int
	for _, text := range texts {
		n := s.vocabulary.Count(text) + s.overhead
		for _, word := range s.split {
			n += strings.Count(text, word)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

func TestProbeComposesExactly(t *testing.T) {
	t.Parallel()
	s := &server{vocabulary: O200k(), overhead: 2, split: []string{" again", " agency", " House", " world", "Above", " the"}}
	p := must.Get(Probe("server", s.count))(t)
	if p.Name() != "server" || p.Overhead() != 2 {
		t.Errorf("name %q, overhead %d; want server, 2", p.Name(), p.Overhead())
	}
	if s.calls > 16 || s.texts > 500 {
		t.Errorf("asked %d texts in %d calls, want few", s.texts, s.calls)
	}
	r := rand.New(rand.NewPCG(4, 4))
	var all strings.Builder
	for n := range 200 {
		text := string(p.Compose(nil, r, n))
		all.WriteString(" " + text)
		if counts, _ := s.count([]string{text}); counts[0] != n+2 {
			t.Fatalf("%d tokens in %q, want %d", counts[0]-2, text, n)
		}
	}
	for _, word := range s.split {
		if strings.Contains(all.String(), word+" ") {
			t.Errorf("%q is used, and is not one token", word)
		}
	}
	if words := distinct(&p.composer.spaced); words < 1000 {
		t.Errorf("only %d different words are left", words)
	}
}

func TestProbedCounts(t *testing.T) {
	t.Parallel()
	s := &server{vocabulary: O200k(), overhead: 1}
	p := must.Get(Probe("server", s.count))(t)
	text := "Grüße an alle, die 12345 Wörter zählen!"
	want := O200k().Count(text)
	before := s.calls
	for range 3 {
		if got := p.Count(text); got != want {
			t.Errorf("Count = %d, want %d", got, want)
		}
	}
	if p.Count("") != 0 {
		t.Errorf("an empty text counts %d", p.Count(""))
	}
	if asked := s.calls - before; asked != 1 {
		t.Errorf("asked %d times for one text", asked)
	}
	expect.OK(t, verify(p, rand.New(rand.NewPCG(1, 9)), 3, 321))
}

func TestProbedCountEstimatesWhereTheServerFails(t *testing.T) {
	t.Parallel()
	s := &server{vocabulary: O200k(), overhead: 1}
	failing := false
	p := must.Get(Probe("server", func(texts []string) ([]int, error) {
		if failing {
			return nil, errors.New("connection refused")
		}
		return s.count(texts)
	}))(t)
	failing = true
	if got, want := p.Count("one two three"), O200k().Count("one two three"); got != want || p.EstimatedCounts() != 1 {
		t.Errorf("Count = %d, Estimated = %d; want %d, 1", got, p.EstimatedCounts(), want)
	}
	failing = false
	if p.Count("one two three"); p.EstimatedCounts() != 1 {
		t.Errorf("an estimate was remembered: Estimated = %d", p.EstimatedCounts())
	}
}

func TestProbeRefuses(t *testing.T) {
	t.Parallel()
	// add gives counters that count n times the words and m more.
	add := func(n, m int) Counter {
		return func(texts []string) (counts []int, err error) {
			for _, text := range texts {
				counts = append(counts, n*O200k().Count(text)+m)
			}
			return counts, nil
		}
	}
	for _, c := range []struct {
		name  string
		count Counter
		want  string
	}{
		{"failing", func([]string) ([]int, error) { return nil, errors.New("404 Not Found") }, "s: counting tokens: 404 Not Found"},
		{"short", func([]string) ([]int, error) { return nil, nil }, "s: counting tokens: 0 answers to 1 texts"},
		{"zero", add(0, 0), "s: the letter a counts 0 tokens; must be at least 1"},
		{"doubling", add(2, 0), "s: only 0 of 1024 everyday words are single tokens; must be at least 64 to compose text of exact length"},
		{"no openings", func(texts []string) (counts []int, err error) {
			for _, text := range texts {
				counts = append(counts, len(text))
			}
			return counts, nil
		}, "s: none of 128 everyday words is a single token at the start of a text"},
		{"blind to full stops", func(texts []string) ([]int, error) {
			counts, _ := add(1, 0)(texts)
			for i, text := range texts {
				counts[i] -= strings.Count(text, ".")
			}
			return counts, nil
		}, "s: text composed of 2 tokens counts 1: its words are not counted one by one; load its tokenizer.json instead"},
	} {
		p, err := Probe("s", c.count)
		if p != nil || err == nil {
			t.Errorf("%s: %v, want an error", c.name, p)
			continue
		}
		expect.NoDiff(t, cmp.Diff(c.want, err.Error()), "%s: -want +got", c.name)
	}
}

// miscounting is a Text that is wrong by one.
type miscounting struct{ *Vocabulary }

func (m miscounting) Count(text string) int { return m.Vocabulary.Count(text) + 1 }

func TestVerifyFindsWrongLengths(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	expect.OK(t, verify(O200k(), r, 5, 100))
	want := "o200k_base: text composed of 100 tokens counts 101: lengths would be wrong"
	if err := verify(miscounting{O200k()}, r, 5, 100); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

package token

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// wordList holds 1,024 everyday words. Each is a single token of o200k_base
// as it stands, with a capital, and with a space before either form; most
// vocabularies of today agree, so a server with another one counts nearly the
// same.
//
//go:embed words.txt
var wordList string

const (
	// wordBits is how many random bits choose one word.
	wordBits = 10
	// wordBytes is room for the longest word of the list with a space before.
	wordBytes = 16
	// minWords are needed lest texts resemble each other.
	minWords = 64
)

// composer makes text from words that are one token each. The order of the
// words is fixed: it is part of what a seed means.
type composer struct {
	opening wordTable // "Word", at the start of a text
	capital wordTable // " Word"
	spaced  wordTable // " word"
}

// wordTable holds words for any number of wordBits bits: where fewer words are
// fit for use they recur. Words lie in equal rooms, so that one fixed copy
// moves any of them.
type wordTable struct {
	words   [1 << wordBits][wordBytes]byte
	lengths [1 << wordBits]uint8
}

func newWordTable(words []string) (t wordTable) {
	for i := range t.words {
		word := words[i%len(words)]
		copy(t.words[i][:], word)
		t.lengths[i] = uint8(len(word))
	}
	return t
}

func (t *wordTable) at(i uint64) string {
	return string(t.words[i][:t.lengths[i]])
}

// forms gives all words of the list in the three forms of a composer.
func wordForms() (opening, capital, spaced []string) {
	for word := range strings.FieldsSeq(wordList) {
		upper := strings.ToUpper(word[:1]) + word[1:]
		opening = append(opening, upper)
		capital = append(capital, " "+upper)
		spaced = append(spaced, " "+word)
	}
	return opening, capital, spaced
}

// newComposer makes a composer of words that are known to be one token each.
func newComposer(opening, capital, spaced []string) (*composer, error) {
	if len(spaced) < minWords || len(capital) == 0 || len(opening) == 0 {
		return nil, fmt.Errorf("only %d of %d everyday words are single tokens; must be at least %d to compose text of exact length",
			min(len(spaced), len(capital), len(opening)), 1<<wordBits, minWords)
	}
	return &composer{newWordTable(opening), newWordTable(capital), newWordTable(spaced)}, nil
}

// composerFor chooses the words that are a single token of v.
//
// Each is a piece of its own in any company: every splitter cuts before a
// space that a letter follows, before a comma or full stop after a letter, and
// before the space after those. Commas and full stops are single bytes, which
// are always tokens. So what holds for the words holds for any text of them,
// unless a token that is recognised by its spelling lies across.
func composerFor(v *Vocabulary) (*composer, error) {
	for _, s := range []*spellings{v.raw, v.normal} {
		if text, ok := s.composable(); ok {
			return nil, unsupportedError("added token %q, spelled in plain letters,", text)
		}
	}
	split := func(word string) bool { return v.Count(word) != 1 }
	opening, capital, spaced := wordForms()
	c, err := newComposer(slices.DeleteFunc(opening, split), slices.DeleteFunc(capital, split), slices.DeleteFunc(spaced, split))
	if err != nil {
		return nil, err
	}
	v.composer = c
	return c, verify(v, rand.New(rand.NewPCG(1, 1)), 1, 2000)
}

// composable looks for a spelling that composed text could contain.
func (s *spellings) composable() (text string, found bool) {
	if s == nil {
		return "", false
	}
	return s.root.composable("")
}

func (s *spelling) composable(before string) (text string, found bool) {
	if s.token != nil {
		return before, true
	}
	for b, child := range s.next {
		letter := b|0x20 >= 'a' && b|0x20 <= 'z' || b == ',' || b == '.'
		if !letter && (b != ' ' || strings.HasSuffix(before, " ")) {
			continue
		}
		if text, found := child.composable(before + string(rune(b))); found {
			return text, true
		}
	}
	return "", false
}

// Piece gives a text of one token. Pieces put together in any number and order
// give exactly as many tokens, because each begins with a space and splits
// happen there.
func (v *Vocabulary) Piece(r *rand.Rand) string {
	return v.composer.spaced.at(r.Uint64() >> (64 - wordBits))
}

// Compose appends text of exactly n tokens to dst: sentences of everyday
// words, without sense. The first word has no space before it where dst is
// empty. Where dst is not, the text adds exactly n to what dst holds so long
// as dst does not end in white space.
//
// Only letters, spaces, commas and full stops occur, so JSON carries the text
// unescaped, and the ten random bits of each word make two texts differ from
// their first words on.
func (v *Vocabulary) Compose(dst []byte, r *rand.Rand, n int) []byte {
	return v.composer.compose(dst, r, n)
}

func (c *composer) compose(dst []byte, r *rand.Rand, n int) []byte {
	if n <= 0 {
		return dst
	}
	bits := bitSource{rand: r}
	first := &c.capital
	if len(dst) == 0 {
		first = &c.opening
	}
	dst = first.append(dst, bits.take(wordBits))
	dst, n = c.finishSentence(dst, &bits, n-1)
	for n > 0 {
		dst = c.capital.append(dst, bits.take(wordBits))
		dst, n = c.finishSentence(dst, &bits, n-1)
	}
	return dst
}

// finishSentence appends what follows a sentence's first word, using at most n
// tokens, and gives what is left of n.
func (c *composer) finishSentence(dst []byte, bits *bitSource, n int) ([]byte, int) {
	if n <= 0 {
		return dst, 0
	}
	count := 4 + int(bits.take(4)) // words that follow the first
	comma := int(bits.take(5))     // the comma's place, often past the end
	// The last sentence takes all that is left, so that none is a mere stump.
	if n <= count+6 {
		count = n - 1
	}
	left := n - count - 1
	if comma+1 < count {
		dst = c.spaced.appendMany(dst, bits, comma)
		dst = append(dst, ',')
		count -= comma + 1
	}
	dst = c.spaced.appendMany(dst, bits, count)
	return append(dst, '.'), left
}

// append appends one word.
func (t *wordTable) append(dst []byte, i uint64) []byte {
	return append(dst, t.words[i][:t.lengths[i]]...)
}

// appendMany appends random words. Each is copied with its whole room, and
// the next one overwrites what was too much.
func (t *wordTable) appendMany(dst []byte, bits *bitSource, count int) []byte {
	dst = slices.Grow(dst, (count+1)*wordBytes)
	end := len(dst)
	room := dst[:cap(dst)]
	for range count {
		i := bits.take(wordBits)
		*(*[wordBytes]byte)(room[end:]) = t.words[i]
		end += int(t.lengths[i])
	}
	return room[:end]
}

// bitSource deals out random numbers a few bits at a time.
type bitSource struct {
	rand *rand.Rand
	bits uint64
	left int
}

// take gives n fresh random bits.
func (b *bitSource) take(n int) uint64 {
	if b.left < n {
		b.bits, b.left = b.rand.Uint64(), 64
	}
	taken := b.bits & (1<<n - 1)
	b.bits >>= n
	b.left -= n
	return taken
}

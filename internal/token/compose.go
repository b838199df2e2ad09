package token

import (
	_ "embed"
	"math/rand/v2"
	"strings"
)

// wordList holds 1,024 everyday words. Each is a single token of o200k_base
// as it stands, with a capital, and with a space before either form; most
// vocabularies of today agree, so a server with another one counts nearly the
// same.
//
//go:embed words.txt
var wordList string

// wordBits is how many random bits choose one word.
const wordBits = 10

// words are the pieces from which text is made. Their order is fixed: it is
// part of what a seed means.
type words struct {
	spaced  [1 << wordBits]string // " word"
	capital [1 << wordBits]string // " Word"
}

func loadWords() *words {
	w := new(words)
	for i, word := range strings.Fields(wordList) {
		w.spaced[i] = " " + word
		w.capital[i] = " " + strings.ToUpper(word[:1]) + word[1:]
	}
	return w
}

// Piece gives a text of one token. Pieces put together in any number and order
// give exactly as many tokens, because each begins with a space and splits
// happen there.
func (v *Vocabulary) Piece(r *rand.Rand) string {
	return v.words.spaced[r.Uint64()>>(64-wordBits)]
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
	if n <= 0 {
		return dst
	}
	bits := bitSource{rand: r}
	first := v.words.capital[bits.take(wordBits)]
	if len(dst) == 0 {
		first = first[1:]
	}
	dst = append(dst, first...)
	dst, n = v.finishSentence(dst, &bits, n-1)
	for n > 0 {
		dst = append(dst, v.words.capital[bits.take(wordBits)]...)
		dst, n = v.finishSentence(dst, &bits, n-1)
	}
	return dst
}

// finishSentence appends what follows a sentence's first word, using at most n
// tokens, and gives what is left of n.
func (v *Vocabulary) finishSentence(dst []byte, bits *bitSource, n int) ([]byte, int) {
	count := 4 + int(bits.take(4)) // words that follow the first
	comma := int(bits.take(5))     // the comma's place, often past the end
	// The last sentence takes all that is left, so that none is a mere stump.
	if n <= count+6 {
		count = n - 1
	}
	for i := range count {
		if i == comma && i+1 < count {
			dst = append(dst, ',')
			continue
		}
		dst = append(dst, v.words.spaced[bits.take(wordBits)]...)
	}
	if n <= 0 {
		return dst, 0
	}
	return append(dst, '.'), n - max(count, 0) - 1
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

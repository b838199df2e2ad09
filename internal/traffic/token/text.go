package token

import (
	"fmt"
	"math/rand/v2"
)

// Text counts tokens and makes text by one tokenizer, wherever that is.
type Text interface {
	// Name says which tokenizer it is, for the result.
	Name() string
	// Count is the number of tokens of text.
	Count(text string) int
	// Compose appends text of exactly n tokens to dst.
	Compose(dst []byte, r *rand.Rand, n int) []byte
}

// verify composes sample texts of n tokens, counts them again, and gives an
// error where one has another length. The samples are alone in memory.
func verify(t Text, r *rand.Rand, samples, n int) error {
	var text []byte
	for range samples {
		text = t.Compose(text[:0], r, n)
		if got := t.Count(string(text)); got != n {
			return fmt.Errorf("%s: text composed of %d tokens counts %d: lengths would be wrong", t.Name(), n, got)
		}
	}
	return nil
}

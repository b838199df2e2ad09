package consistency

import (
	"fmt"
	"math/rand/v2"

	"redline/internal/stats"
)

// prompt is a text with a mark of its own, which no other prompt's reply may have.
type prompt struct{ text, mark string }

var (
	things = []string{"a lighthouse", "a red bicycle", "an old clock", "a night train", "a paper map", "a broken radio", "a wooden bridge", "a winter market", "a silver key", "a quiet library"}
	people = []string{"a baker", "two sisters", "a retired pilot", "a young surgeon", "a violinist", "a shepherd", "three students", "a postman", "a gardener", "a judge"}
	places = []string{"Lisbon", "the north of Norway", "a village by the sea", "Kyoto", "the Andes", "a small island", "Chicago", "the desert", "an empty airport", "a mountain pass"}
	tasks  = []string{"Write a short story about %s and %s in %s.", "Explain to a child why %s mattered to %s in %s.", "List what %s has to do with %s, and with %s.",
		"Describe, in plain words, how %s was found by %s near %s.", "Write a letter about %s to %s who lives in %s."}
)

// newPrompts makes prompts that begin with their marks, so that none shares the
// beginning of another, and are long enough for some blocks of a prefix cache.
func newPrompts(seed uint64, n int) []prompt {
	list := make([]prompt, n)
	for i := range list {
		r := stats.Rand(seed, "consistency", uint64(i))
		pick := func(from []string) string { return from[r.IntN(len(from))] }
		p := &list[i]
		p.mark = mark(r)
		p.text = fmt.Sprintf("Label %s belongs to this request; never repeat it. ", p.mark) +
			fmt.Sprintf(pick(tasks), pick(things), pick(people), pick(places)) +
			fmt.Sprintf(" Mention %s and %s. Use complete sentences, no lists and no headings, and end with one sentence about the weather of that day.", pick(things), pick(people))
	}
	return list
}

// mark is ten letters that no text has by chance.
func mark(r *rand.Rand) string {
	const letters = "bcdfghjkmnpqrstvwxz"
	text := make([]byte, 10)
	for i := range text {
		text[i] = letters[r.IntN(len(letters))]
	}
	return string(text)
}

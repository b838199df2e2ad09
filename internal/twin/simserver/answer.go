package simserver

import (
	"hash/fnv"
	"strconv"
	"unicode/utf8"

	"redline/internal/catalog"
	"redline/internal/llm"
	"redline/internal/traffic/golden"
	"redline/internal/traffic/token"
	"redline/internal/twin/sim"
)

// book is a golden set with its answers, right and wrong.
type book struct {
	pages map[string]page
	// rate and loaded are the shares of questions that are answered wrongly,
	// alone and while others are served.
	rate, loaded float64
	seed         uint64
}

type page struct{ right, wrong string }

// busyFrom is with how many other requests under way an engine counts as
// loaded.
const busyFrom = 2

// coarser is what a way to store weights adds to the share of wrong answers:
// the fewer bits, the more.
var coarser = map[catalog.Precision]float64{catalog.INT4: 0.06, catalog.FP4: 0.05, catalog.MXFP4: 0.04, catalog.INT8: 0.02, catalog.FP8: 0.01}

// openBook reads the golden set of a spec, nil where it names none. Questions
// whose set shows no right answer are answered like any other.
func openBook(s sim.Spec) (*book, error) {
	if s.Golden == "" {
		return nil, nil
	}
	set, err := golden.Open(s.Golden)
	if err != nil {
		return nil, err
	}
	more := 0.0
	if stored, err := catalog.ParsePrecision(s.Quantization); err == nil {
		more = coarser[stored]
	}
	b := &book{pages: map[string]page{}, rate: s.AnswerError + more, seed: s.Seed}
	b.loaded = max(s.AnswerErrorUnderLoad+more, b.rate)
	for i := range set.Items {
		if it := &set.Items[i]; it.Reference != "" {
			b.pages[golden.Key(it.Messages)] = page{it.Reference, it.Expect.WrongAnswer()}
		}
	}
	return b, nil
}

// answer gives what is said to a known question. Which questions are answered
// wrongly depends on the seed alone, so that an answer does not change from one
// asking to the next; those that are wrong alone are wrong under load too.
func (b *book) answer(messages []llm.Message, others int64) (text string, known bool) {
	if b == nil {
		return "", false
	}
	key := golden.Key(messages)
	p, known := b.pages[key]
	if !known {
		return "", false
	}
	rate := b.rate
	if others >= busyFrom {
		rate = b.loaded
	}
	if p.wrong != "" && b.place(key) < rate {
		return p.wrong, true
	}
	return p.right, true
}

// place gives a question its place between 0 and 1.
func (b *book) place(key string) float64 {
	h := fnv.New64a()
	h.Write([]byte(strconv.FormatUint(b.seed, 10) + " " + key))
	mixed := h.Sum64()
	// The last bytes hashed barely reach the upper bits: a multiplication and
	// a shift spread them.
	mixed = (mixed ^ mixed>>31) * 0x9E3779B97F4A7C15
	return float64((mixed^mixed>>29)>>11) / (1 << 53)
}

// recite makes the script of a given text, of so many tokens at most.
func recite(v *token.Vocabulary, text string, limit int) script {
	s := script{text: text, perChunk: 1, ids: v.Encode(nil, text)}
	if len(s.ids) > limit {
		s.ids = s.ids[:limit]
	}
	end := 0
	for _, id := range s.ids {
		end += len(v.Decode([]int32{id}))
		s.ends = append(s.ends, wholeLetters(text, end))
	}
	return s
}

// wholeLetters takes an end back to where the letter begins that it cuts.
func wholeLetters(text string, end int) int {
	for end = min(end, len(text)); end > 0 && end < len(text) && !utf8.RuneStart(text[end]); end-- {
	}
	return end
}

package workload

import (
	"bytes"
	"hash/fnv"

	"redline/internal/stats"
)

// saltTokens are enough words to tell any two runs apart.
const saltTokens = 8

// textSeed mixes the salt into the seed of all text, and of nothing else: the
// lengths and choices of a run do not depend on it.
func textSeed(seed uint64, salt string) uint64 {
	if salt == "" {
		return seed
	}
	h := fnv.New64a()
	h.Write([]byte(salt))
	return stats.Rand(seed, saltStream, h.Sum64()).Uint64()
}

// classSeed is the seed of the text of one class of several: what one shares
// is never what another shares, even where both call it by one number.
func classSeed(seed uint64, class int) uint64 {
	if class == 0 {
		return seed
	}
	return stats.Rand(seed, "workload class text", uint64(class)).Uint64()
}

// saltWords are the words that tell the text of one pass through a file from
// that of another pass or run.
func (w *Workload) saltWords(pass uint64) string {
	return string(w.text.Compose(nil, stats.Rand(w.textSeed, saltStream, pass), saltTokens))
}

// write makes the text of segments. Every segment has a random stream of its
// own, so what is not shared differs from its first words on, and none begins
// with another's first cache block.
func (w *Workload) write(c *class, segments []segment) string {
	buffer := w.buffers.Get().(*[]byte)
	defer w.buffers.Put(buffer)
	text := (*buffer)[:0]
	for _, s := range segments {
		if c.prose == nil {
			text = w.text.Compose(text, stats.Rand(c.textSeed, s.stream, s.key), s.tokens)
			continue
		}
		text = w.quote(c, text, s)
	}
	*buffer = text
	return string(text)
}

// maxTokenBytes is a generous length of a token of prose.
const maxTokenBytes = 6

// quote appends exactly s.tokens tokens to text: as many words of the prose as
// fit, and made ones for what is left over.
func (w *Workload) quote(c *class, text []byte, s segment) []byte {
	start := len(text)
	if start > 0 {
		text = append(text, ' ')
	}
	cut := text
	count := 0
	for bytes := s.tokens * maxTokenBytes; count < s.tokens && bytes <= s.tokens*maxTokenBytes*4; bytes *= 2 {
		var err error
		cut, err = c.prose.Cut(text, stats.Rand(c.textSeed, s.stream, s.key), bytes)
		if err != nil {
			w.fail(err)
			break
		}
		count = w.text.Count(string(cut[start:]))
	}
	for count > s.tokens {
		cut = shorten(cut, start, float64(s.tokens)/float64(count))
		count = w.text.Count(string(cut[start:]))
	}
	return w.text.Compose(cut, stats.Rand(c.textSeed, "workload filler", s.key), s.tokens-count)
}

// shorten keeps about a share of what stands behind start, in whole words.
func shorten(text []byte, start int, share float64) []byte {
	end := min(start+int(share*float64(len(text)-start)), len(text)-1)
	if space := bytes.LastIndexByte(text[start:end], ' '); space > 0 {
		return text[:start+space]
	}
	return text[:start]
}

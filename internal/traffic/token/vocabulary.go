// Package token counts the tokens of a text and makes text of exactly n
// tokens. A vocabulary is byte-level BPE: two are embedded, o200k_base and
// cl100k_base, and unpacked when they are first asked for; any other is read
// from a Hugging Face tokenizer.json, where what cannot be reproduced exactly
// is refused, never miscounted. A server that counts for us serves as a third
// source. The package knows nothing of requests, models or protocols.
//
// Only the text itself is counted: a begin-of-text token that a tokenizer's
// post-processor adds is part of what the server puts around a prompt, like
// its chat template.
//
// Characters are classified by the Unicode version of this Go release. A
// tokenizer with newer or older tables may split a text otherwise that has
// characters which only one of the two knows.
package token

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"unicode/utf8"
)

//go:generate go run ./pack o200k_base.tiktoken o200k_base.bin
//go:generate go run ./pack cl100k_base.tiktoken cl100k_base.bin

//go:embed o200k_base.bin
var packedO200k []byte

//go:embed cl100k_base.bin
var packedCl100k []byte

// Vocabulary maps texts to token ids and back. It is read-only and safe for
// concurrent use.
type Vocabulary struct {
	name   string
	bytes  string   // all tokens one after another, in the order of their ids
	starts []uint32 // token id is bytes[starts[id]:starts[id+1]]
	seed   maphash.Seed
	// slots is an open-addressing hash table with a power-of-two size. A used
	// slot holds the upper half of the token's hash above its id + 1, so that
	// nearly every miss is decided without touching the token's bytes. It
	// holds the tokens that stand for a whole piece: those that its merges
	// lead to.
	slots []uint64
	// joins ranks the merges. Where it is nil an id is also a rank: of all
	// joins that spell a token, the one with the lowest id comes first.
	joins *joins
	// single is the token of each byte.
	single [256]int32
	// stages split text, each the pieces of the one before.
	stages []splitter
	// prefix puts a space before text that does not begin with one.
	prefix    bool
	normalize func(string) string // nil where text is taken as it is
	// raw and normal are tokens recognised by their spelling, before and after
	// the text is normalized; nil where there are none.
	raw, normal *spellings
	composer    *composer
	// scratch lends out *merger, so that counting allocates nothing.
	scratch sync.Pool
}

// O200k gives the o200k_base vocabulary. The first call unpacks it, which
// takes some tens of milliseconds. The spelling of a special token is ordinary
// text to it.
func O200k() *Vocabulary { return o200k() }

// Cl100k gives the cl100k_base vocabulary in the same way.
func Cl100k() *Vocabulary { return cl100k() }

var (
	o200k = sync.OnceValue(func() *Vocabulary {
		return mustUnpack("o200k_base", packedO200k, o200kPiece)
	})
	cl100k = sync.OnceValue(func() *Vocabulary {
		return mustUnpack("cl100k_base", packedCl100k, cl100kPiece)
	})
)

// EmbeddedVocabulary gives the embedded vocabulary of that name.
func EmbeddedVocabulary(name string) (*Vocabulary, bool) {
	switch name {
	case "o200k_base":
		return O200k(), true
	case "cl100k_base":
		return Cl100k(), true
	}
	return nil, false
}

// EmbeddedNames lists what Embedded knows.
func EmbeddedNames() []string { return []string{"o200k_base", "cl100k_base"} }

func mustUnpack(name string, packed []byte, split splitter) *Vocabulary {
	v, err := unpack(name, packed, split)
	if err != nil {
		// The data is part of the program: nobody who runs it can mend it.
		panic(fmt.Sprintf("token: embedded vocabulary: %v", err))
	}
	return v
}

// unpack reads what the pack command wrote: a flate stream of one length byte
// per token, a zero byte, and the tokens.
func unpack(name string, packed []byte, split splitter) (*Vocabulary, error) {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	count := bytes.IndexByte(raw, 0)
	if count < 0 {
		return nil, fmt.Errorf("%d bytes without the end of the lengths", len(raw))
	}
	v := newVocabulary(name)
	v.bytes = string(raw[count+1:])
	v.starts = make([]uint32, 1, count+1)
	v.stages = []splitter{split}
	end := uint32(0)
	for _, length := range raw[:count] {
		end += uint32(length)
		v.starts = append(v.starts, end)
	}
	if int(end) != len(v.bytes) {
		return nil, fmt.Errorf("expected %d bytes of tokens, got %d", end, len(v.bytes))
	}
	v.index(func(int) bool { return true })
	v.composer, err = composerFor(v)
	return v, err
}

func newVocabulary(name string) *Vocabulary {
	v := &Vocabulary{name: name, seed: maphash.MakeSeed()}
	v.scratch.New = func() any { return new(merger) }
	return v
}

// index fills the hash table, at most half full, with the tokens that whole
// accepts, and notes the tokens of single bytes.
func (v *Vocabulary) index(whole func(id int) bool) {
	size := 1
	for size < 2*v.Size() {
		size *= 2
	}
	v.slots = make([]uint64, size)
	mask := uint64(size - 1)
	for id := range v.Size() {
		token := v.token(id)
		if token == "" || !whole(id) {
			continue
		}
		if len(token) == 1 {
			v.single[token[0]] = int32(id)
		}
		hash := maphash.String(v.seed, token)
		slot := hash & mask
		for v.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		v.slots[slot] = hash&upperHalf | uint64(id+1)
	}
}

const upperHalf = 0xffffffff00000000

// lookup gives the id of the token that stands for a whole piece s.
func (v *Vocabulary) lookup(s string) (id int32, ok bool) {
	hash := maphash.String(v.seed, s)
	mask := uint64(len(v.slots) - 1)
	for slot := hash & mask; ; slot = (slot + 1) & mask {
		entry := v.slots[slot]
		if entry == 0 {
			return 0, false
		}
		if (entry^hash)&upperHalf != 0 {
			continue
		}
		if id := int(uint32(entry)) - 1; v.token(id) == s {
			return int32(id), true
		}
	}
}

// token gives the bytes of a token that exists.
func (v *Vocabulary) token(id int) string {
	return v.bytes[v.starts[id]:v.starts[id+1]]
}

// Name is the vocabulary's published name, or for one that was loaded the
// name of its place and the start of its checksum.
func (v *Vocabulary) Name() string { return v.name }

// Size is one more than the highest id.
func (v *Vocabulary) Size() int { return len(v.starts) - 1 }

// Encode appends the token ids of text to dst.
func (v *Vocabulary) Encode(dst []int32, text string) []int32 {
	t := tally{vocabulary: v, ids: dst, keep: true}
	t.text(text)
	return t.ids
}

// Count is the number of tokens of text.
func (v *Vocabulary) Count(text string) int {
	t := tally{vocabulary: v}
	t.text(text)
	return t.count
}

// Decode gives the text of ids. It undoes Encode, but for what a loaded
// vocabulary does to text first: normal form, a space put before it, white
// space that a special token swallows. An id that the vocabulary does not have
// reads as the Unicode replacement character.
func (v *Vocabulary) Decode(ids []int32) string {
	var text []byte
	for _, id := range ids {
		if id < 0 || int(id) >= v.Size() || v.token(int(id)) == "" {
			text = utf8.AppendRune(text, utf8.RuneError)
			continue
		}
		text = append(text, v.token(int(id))...)
	}
	return string(text)
}

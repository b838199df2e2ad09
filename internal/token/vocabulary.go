// Package token counts the tokens of a text and makes text of exactly n
// tokens. It holds one embedded byte-level BPE vocabulary, o200k_base, that is
// unpacked when it is first asked for. It knows nothing of requests, models or
// servers, and treats the spelling of special tokens as ordinary text.
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

//go:embed o200k_base.bin
var packedO200k []byte

// Vocabulary maps texts to token ids and back. It is read-only and safe for
// concurrent use. An id is also the token's rank: of all possible merges, byte
// pair encoding takes the one with the lowest.
type Vocabulary struct {
	name   string
	bytes  string   // all tokens one after another, in rank order
	starts []uint32 // token id is bytes[starts[id]:starts[id+1]]
	seed   maphash.Seed
	// slots is an open-addressing hash table with a power-of-two size. A used
	// slot holds the upper half of the token's hash above its id + 1, so that
	// nearly every miss is decided without touching the token's bytes.
	slots []uint64
	words *words
	// scratch lends out *merger, so that counting allocates nothing.
	scratch sync.Pool
}

// O200k gives the o200k_base vocabulary. The first call unpacks it, which
// takes some tens of milliseconds.
func O200k() *Vocabulary { return o200k() }

var o200k = sync.OnceValue(func() *Vocabulary {
	v, err := unpack("o200k_base", packedO200k)
	if err != nil {
		// The data is part of the program: nobody who runs it can mend it.
		panic(fmt.Sprintf("token: embedded vocabulary: %v", err))
	}
	return v
})

// unpack reads what the pack command wrote: a flate stream of one length byte
// per token, a zero byte, and the tokens.
func unpack(name string, packed []byte) (*Vocabulary, error) {
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	if err != nil {
		return nil, err
	}
	count := bytes.IndexByte(raw, 0)
	if count < 0 {
		return nil, fmt.Errorf("%d bytes without the end of the lengths", len(raw))
	}
	v := &Vocabulary{
		name:   name,
		bytes:  string(raw[count+1:]),
		starts: make([]uint32, 1, count+1),
		seed:   maphash.MakeSeed(),
		words:  loadWords(),
	}
	end := uint32(0)
	for _, length := range raw[:count] {
		end += uint32(length)
		v.starts = append(v.starts, end)
	}
	if int(end) != len(v.bytes) {
		return nil, fmt.Errorf("want %d bytes of tokens, got %d", end, len(v.bytes))
	}
	v.scratch.New = func() any { return new(merger) }
	v.index()
	return v, nil
}

// index fills the hash table, at most half full.
func (v *Vocabulary) index() {
	size := 1
	for size < 2*v.Size() {
		size *= 2
	}
	v.slots = make([]uint64, size)
	mask := uint64(size - 1)
	for id := range v.Size() {
		hash := maphash.String(v.seed, v.token(id))
		slot := hash & mask
		for v.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		v.slots[slot] = hash&upperHalf | uint64(id+1)
	}
}

const upperHalf = 0xffffffff00000000

// lookup gives the id of the token spelled exactly s.
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

// Name is the vocabulary's published name.
func (v *Vocabulary) Name() string { return v.name }

// Size is the number of tokens, special ones not counted: ids are below it.
func (v *Vocabulary) Size() int { return len(v.starts) - 1 }

// Encode appends the token ids of text to dst.
func (v *Vocabulary) Encode(dst []int32, text string) []int32 {
	for len(text) > 0 {
		n := nextPiece(text)
		piece := text[:n]
		text = text[n:]
		if id, ok := v.lookup(piece); ok {
			dst = append(dst, id)
			continue
		}
		m := v.scratch.Get().(*merger)
		m.merge(v, piece)
		for start := 0; start < len(piece); start = m.parts[start].end {
			id, _ := v.lookup(piece[start:m.parts[start].end])
			dst = append(dst, id)
		}
		v.scratch.Put(m)
	}
	return dst
}

// Count is the number of tokens of text.
func (v *Vocabulary) Count(text string) int {
	count := 0
	for len(text) > 0 {
		n := nextPiece(text)
		piece := text[:n]
		text = text[n:]
		if _, ok := v.lookup(piece); ok {
			count++
			continue
		}
		m := v.scratch.Get().(*merger)
		count += m.merge(v, piece)
		v.scratch.Put(m)
	}
	return count
}

// Decode gives the text of ids; it undoes Encode. An id that the vocabulary
// does not have reads as the Unicode replacement character.
func (v *Vocabulary) Decode(ids []int32) string {
	var text []byte
	for _, id := range ids {
		if id < 0 || int(id) >= v.Size() {
			text = utf8.AppendRune(text, utf8.RuneError)
			continue
		}
		text = append(text, v.token(int(id))...)
	}
	return string(text)
}

package corpus

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"unicode"
	"unicode/utf8"
)

// Text is an open file of prose. It is safe for concurrent use.
type Text struct {
	name   string
	source io.ReaderAt
	size   int64
	closer io.Closer
}

// OpenText reads a file from end to end to see that it is text.
func OpenText(path string) (*Text, error) {
	return openWith(path, func(source *os.File, size int64) (*Text, error) {
		t, err := newText(path, source, size)
		if err == nil {
			t.closer = source
		}
		return t, err
	})
}

func newText(name string, source io.ReaderAt, size int64) (*Text, error) {
	t := &Text{name: name, source: source, size: size}
	words := false
	row := 0
	err := eachLine(io.NewSectionReader(source, 0, size), func(_ int64, line []byte) error {
		row++
		words = words || len(line) > 0
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return fmt.Errorf("%s:%d: is not UTF-8 text, expected a file of prose in that encoding", name, row)
		}
		return nil
	})
	if err == nil && !words {
		err = fmt.Errorf("%s: is empty", name)
	}
	if err != nil {
		return nil, err
	}
	return t, nil
}

// Close gives the file back.
func (t *Text) Close() error {
	if t.closer == nil {
		return nil
	}
	return t.closer.Close()
}

// Tokens is how many tokens the text has, as count sees its beginning.
func (t *Text) Tokens(count func(string) int) int {
	const sample = 256 << 10
	head := make([]byte, min(t.size, sample))
	n, _ := t.source.ReadAt(head, 0)
	head = wholeRunes(head[:n])
	return int(float64(count(string(head))) * float64(t.size) / float64(max(1, len(head))))
}

// Cut appends about n bytes of the text to dst, from a random place on: whole
// words with one space between them. Behind the end of the file comes its
// beginning.
func (t *Text) Cut(dst []byte, r *rand.Rand, n int) ([]byte, error) {
	offset := r.Int64N(t.size)
	inWord := offset > 0
	start, want := len(dst), len(dst)+n
	chunk := make([]byte, min(int64(n)+256, 1<<20, t.size))
	for len(dst) < want {
		got, err := t.source.ReadAt(chunk[:min(int64(len(chunk)), t.size-offset)], offset)
		if err != nil && err != io.EOF || got == 0 {
			return dst, fmt.Errorf("%s: cannot be read any more: %v", t.name, err)
		}
		dst, inWord = appendWords(dst, chunk[:got], start, want, inWord)
		if offset += int64(got); offset >= t.size {
			offset, inWord = 0, false
			dst = space(dst, start)
		}
	}
	return bytes.TrimRightFunc(wholeRunes(dst), unicode.IsSpace), nil
}

// wholeRunes takes away the beginning of a character at the end of text.
func wholeRunes(text []byte) []byte {
	start := len(text)
	for start > 0 && len(text)-start < utf8.UTFMax && !utf8.RuneStart(text[max(start-1, 0)]) {
		start--
	}
	if start > 0 && !utf8.FullRune(text[start-1:]) {
		return text[:start-1]
	}
	return text
}

// appendWords copies text with its white space shrunk behind start, until dst
// is want bytes long and a word has ended. What comes before the first word's beginning is
// left out while inWord says that the text begins inside one.
func appendWords(dst, text []byte, start, want int, inWord bool) ([]byte, bool) {
	for _, c := range text {
		white := c == ' ' || c == '\n' || c == '\t' || c == '\r'
		switch {
		case inWord && !white:
		case white:
			inWord = false
			if len(dst) >= want {
				return dst, false
			}
			dst = space(dst, start)
		default:
			dst = append(dst, c)
		}
	}
	return dst, inWord
}

// space puts one space behind a word.
func space(dst []byte, start int) []byte {
	if len(dst) > start && dst[len(dst)-1] != ' ' {
		dst = append(dst, ' ')
	}
	return dst
}

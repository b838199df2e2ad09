package launch

import (
	"bytes"
	"io"
	"os"
	"sync"

	"redline/internal/child"
	"redline/internal/text"
)

// tailBytes is how much of a log's end is kept for messages, and maxLine
// what a line may have before it is written in parts.
const tailBytes, maxLine = 64 << 10, 64 << 10

// journal keeps what a server writes, in a file and the end of it in memory,
// both without secrets. It takes whole lines, because a secret may come in two
// parts. Writing never fails: a full disk would break the server's pipe, and so
// end a server that is well.
type journal struct {
	hide *text.Mask
	also io.Writer // nil for nobody
	mu   sync.Mutex
	file *os.File
	tail child.Tail
	part []byte
}

func newJournal(o Options) (*journal, error) {
	j := &journal{hide: o.Hide, also: o.Also, tail: child.Tail{Max: tailBytes}}
	if o.Log == "" {
		return j, nil
	}
	var err error
	j.file, err = os.Create(o.Log)
	return j, err
}

// Write keeps the lines that are complete.
func (j *journal) Write(text []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.part = append(j.part, text...)
	whole := bytes.LastIndexByte(j.part, '\n') + 1
	if len(j.part)-whole > maxLine {
		whole = len(j.part)
	}
	j.keep(whole)
	return len(text), nil
}

// keep moves the first n bytes to where they are kept.
func (j *journal) keep(n int) {
	if n == 0 {
		return
	}
	text := j.hide.HidePiece(string(j.part[:n])) // a very long line comes in pieces
	j.part = append(j.part[:0], j.part[n:]...)
	_, _ = j.tail.Write([]byte(text)) // memory takes everything
	if j.also != nil {
		_, _ = j.also.Write([]byte(text)) // as above
	}
	if j.file != nil {
		_, _ = j.file.WriteString(text) // what could not be written is still in the tail
	}
}

// lines are the last n, with one that has no end yet.
func (j *journal) lines(n int) []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.keep(len(j.part))
	return j.tail.Lines(n)
}

// close ends the file. It may be called more than once.
func (j *journal) close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.keep(len(j.part))
	if j.file != nil {
		_ = j.file.Close() // as above
		j.file = nil
	}
}

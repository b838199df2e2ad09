package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"redline/internal/drive/socket"
	"strconv"
)

// maxChunkLine is how long a line between chunks may be.
const maxChunkLine = 4 << 10

// body undoes the framing of a reply's body.
type body struct {
	c       *socket.Conn
	state   bodyState
	left    int64 // bytes left of the chunk, or of the body
	trailer int   // bytes of trailer seen
}

type bodyState uint8

const (
	inLength   bodyState = iota // a body of known length
	inRest                      // a body that ends with its connection
	inSize                      // before a chunk
	inChunk                     // in its data
	inChunkEnd                  // behind its data
	inTrailer                   // behind the last chunk
	ended
)

func newBody(c *socket.Conn, r *response) body {
	switch {
	case r.isChunked():
		return body{c: c, state: inSize}
	case r.length >= 0:
		return body{c: c, state: inLength, left: r.length}
	}
	return body{c: c, state: inRest, left: math.MaxInt64}
}

// errMore means that the buffered bytes are used up.
var errMore = errors.New("more bytes are wanted")

// cut is what an error of the connection means for the body.
func (b *body) cut(err error) error {
	if b.state != inRest {
		return toUnexpectedEOF(err)
	}
	if errors.Is(err, io.EOF) {
		b.state = ended
	}
	return err
}

// take gives those bytes of the body that are at hand, valid until the next read:
// it never waits, and gives errMore where one more read is wanted. It gives io.EOF
// after the body has ended in order; a body cut short is io.ErrUnexpectedEOF.
func (b *body) take() ([]byte, error) {
	for {
		switch b.state {
		case ended:
			return nil, io.EOF
		case inRest, inLength, inChunk:
			if b.left > 0 {
				return b.data()
			}
			if b.state == inLength {
				b.state = ended
			} else {
				b.state = inChunkEnd
			}
		default:
			if err := b.readChunkLine(); err != nil {
				return nil, err
			}
		}
	}
}

// data gives what is at hand of the bytes left.
func (b *body) data() ([]byte, error) {
	data := b.c.Unread()
	data = data[:min(int64(len(data)), b.left)]
	if len(data) == 0 {
		return nil, errMore
	}
	b.left -= int64(len(data))
	b.c.Skip(len(data))
	return data, nil
}

// readChunkLine takes in a line between chunks.
func (b *body) readChunkLine() error {
	unread := b.c.Unread()
	end := bytes.IndexByte(unread, '\n')
	switch {
	case end < 0 && len(unread) > maxChunkLine:
		return errProtocol("a line between chunks is longer than 4 KiB")
	case end < 0:
		return errMore
	}
	b.c.Skip(end + 1)
	line := bytes.TrimSuffix(unread[:end], []byte("\r"))
	switch b.state {
	case inSize:
		return b.size(line)
	case inChunkEnd:
		if len(line) > 0 {
			return errProtocol(fmt.Sprintf("a chunk is longer than its size: %q", line))
		}
		b.state = inSize
	case inTrailer:
		if len(line) == 0 {
			b.state = ended
		}
		if b.trailer += len(line); b.trailer > maxHead {
			return errProtocol("the response trailer is larger than 256 KiB")
		}
	}
	return nil
}

// size begins a chunk. What follows its size, an extension, means nothing here.
func (b *body) size(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(bytes.TrimRight(digits, " \t")), 16, 62)
	if err != nil {
		return errProtocol(fmt.Sprintf("not a chunk size: %q", line))
	}
	b.left, b.state = int64(size), inChunk
	if size == 0 {
		b.state = inTrailer
	}
	return nil
}

// rest reads the body to its end, at most limit bytes of it. It asks holds
// whether so many may be held; nil always says yes.
func (b *body) rest(limit int, holds func(n int) error) ([]byte, error) {
	var all []byte
	for {
		data, err := b.take()
		if err == errMore {
			if err = b.c.Fill(); err == nil {
				continue
			}
			err = b.cut(err)
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		if len(all)+len(data) > limit {
			return append(all, data[:limit-len(all)]...), errProtocol(fmt.Sprintf("the body is larger than %d KiB", limit>>10))
		}
		all = append(all, data...)
		if holds == nil {
			continue
		}
		if err := holds(len(all)); err != nil {
			return all, err
		}
	}
}

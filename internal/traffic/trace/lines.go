package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds what one line can make the program hold.
const maxLine = 64 << 20

// lines gives the lines of a file that are not blank.
type lines struct {
	r      *bufio.Reader
	offset int64
	number int
	long   []byte
}

// readAhead is how much is read at once.
const readAhead = 64 << 10

func newLines(r io.Reader, size int64) *lines {
	return &lines{r: bufio.NewReaderSize(r, int(min(size, readAhead)))}
}

// next gives a line without its end, valid until the next call, and where it
// begins. At the end of the file it is io.EOF.
func (l *lines) next() (line []byte, offset int64, err error) {
	for {
		offset = l.offset
		line, err = l.read()
		l.offset += int64(len(line))
		if err != nil && (err != io.EOF || len(line) == 0) {
			return nil, offset, err
		}
		l.number++
		if l.number == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, offset, nil
		}
	}
}

// read gives one line with its end, copied only where it is longer than the
// buffer.
func (l *lines) read() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	l.long = append(l.long[:0], line...)
	for errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.r.ReadSlice('\n')
		if l.long = append(l.long, line...); len(l.long) > maxLine {
			l.number++
			return nil, errors.New("the line is longer than 64 MB, expected a log with a request on each line")
		}
	}
	return l.long, err
}

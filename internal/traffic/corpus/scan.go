package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
)

// maxLine bounds the memory that one line takes.
const maxLine = 64 << 20

// cure is what an error about one row ends with.
const cure = "mend the row, or leave such rows out with --skip-bad-rows"

// bad is an error about one row.
func (f *File) bad(row int, err error) error {
	return fmt.Errorf("%s:%d: %w; %s", f.name, row, err, cure)
}

// isArray says that the file is one JSON array and not lines.
func (f *File) isArray() bool {
	head := make([]byte, 512)
	n, _ := f.source.ReadAt(head, 0)
	head = bytes.TrimLeft(head[:n], " \t\r\n"+byteOrderMark)
	return len(head) > 0 && head[0] == '['
}

// scanLines checks every line. Neighbouring rows of one session are one
// conversation.
func (f *File) scanLines(skip bool) error {
	row, session := 0, ""
	err := eachLine(io.NewSectionReader(f.source, 0, f.size), func(offset int64, line []byte) error {
		row++
		if len(line) == 0 {
			return nil
		}
		c, err := f.parse(line)
		if err == nil {
			err = c.checkImages()
		}
		if err != nil && skip {
			f.skipped++
			return nil
		}
		if err != nil {
			return f.bad(row, err)
		}
		f.note(row, line, c)
		if c.Session == "" || c.Session != session {
			f.places = append(f.places, place{offset, int32(row)})
		}
		session = c.Session
		return nil
	})
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s:%d: is longer than %d bytes, expected a row in each line", f.name, row+1, maxLine)
	}
	return err
}

// parse reads one line, and the images that it names.
func (f *File) parse(line []byte) (Conversation, error) {
	c, err := parseRow(f.format, line)
	if err == nil {
		err = c.loadImages(filepath.Dir(f.local))
	}
	return c, err
}

// eachLine calls do with every line, without the white space around it.
func eachLine(r io.Reader, do func(offset int64, line []byte) error) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	var start, next int64
	scanner.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		advance, line, err := bufio.ScanLines(data, atEOF)
		if advance > 0 {
			start = next
			next += int64(advance)
		}
		return advance, line, err
	})
	for scanner.Scan() {
		if err := do(start, trim(scanner.Bytes())); err != nil {
			return err
		}
	}
	return scanner.Err()
}

// byteOrderMark is what some editors put at the start of a file.
const byteOrderMark = "\ufeff"

// trim takes away white space and the mark.
func trim(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte(byteOrderMark)))
}

// readLines reads the rows of one conversation. Rows that are bad were passed
// over when the file was opened.
func (f *File) readLines(data []byte) (Conversation, error) {
	var all Conversation
	first := true
	err := eachLine(bytes.NewReader(data), func(_ int64, line []byte) error {
		if len(line) == 0 {
			return nil
		}
		c, err := f.parse(line)
		switch {
		case err != nil && first:
			return err
		case err != nil:
			return nil
		case first:
			all, first = c, false
		default:
			all.Turns = append(all.Turns, c.Turns...)
		}
		return nil
	})
	return all, err
}

// scanArray checks every element of a JSON array without holding more than
// one.
func (f *File) scanArray(skip bool) error {
	reader := bufio.NewReaderSize(io.NewSectionReader(f.source, 0, f.size), 1<<20)
	base := int64(0)
	if head, _ := reader.Peek(len(byteOrderMark)); string(head) == byteOrderMark {
		base = int64(len(byteOrderMark))
		reader.Discard(len(byteOrderMark))
	}
	decoder := json.NewDecoder(reader)
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	for row := 1; decoder.More(); row++ {
		offset := base + decoder.InputOffset()
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return fmt.Errorf("%s:%d: is not JSON: %w", f.name, row, err)
		}
		c, err := parseShareGPT(element)
		if err != nil && !skip {
			return f.bad(row, err)
		}
		if err != nil {
			f.skipped++
			continue
		}
		f.note(row, element, c)
		f.places = append(f.places, place{offset, int32(row)})
	}
	if _, err := decoder.Token(); err != nil {
		return fmt.Errorf("%s: the JSON array is not closed: %w", f.name, err)
	}
	return nil
}

// readElement reads one element; a comma may stand before it, and others
// after it.
func readElement(data []byte) (Conversation, error) {
	data = bytes.TrimLeft(data, ", \t\r\n")
	var element json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&element); err != nil {
		return Conversation{}, err
	}
	return parseShareGPT(element)
}

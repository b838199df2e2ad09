package trace

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"redline/internal/text"
	"redline/internal/traffic/hub"
)

// Open scans a whole file and says what is wrong with it, if anything is.
func Open(path string, o Options) (*File, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	f, err := scanFile(path, file, o)
	if err != nil {
		file.Close()
		return nil, err
	}
	return f, nil
}

func openRegular(path string) (*os.File, error) {
	local, err := hub.Dataset(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(local)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault(path, "no such file")
	case err != nil:
		return nil, fault(path, "cannot be read: %v", errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return nil, fault(path, "is not a plain file; save the log to one first")
	case info.Size() == 0:
		return nil, fault(path, "is empty, expected a trace or a log of requests")
	}
	file, err := os.Open(local)
	if err != nil {
		return nil, fault(path, "cannot be read: %v", errors.Unwrap(err))
	}
	return file, nil
}

func scanFile(path string, file *os.File, o Options) (*File, error) {
	chosen, err := chooseFormat(path, file, o)
	if err != nil {
		return nil, err
	}
	salt, err := o.salt()
	if err != nil {
		return nil, fault(path, "no random salt for its text: %v", err)
	}
	var reader lineReader
	if chosen.reader != nil {
		reader = chosen.reader(o, salt)
	} else if reader, err = newColumns(chosen, o, salt); err != nil {
		return nil, fault(path, "%v", err)
	}
	s := &scan{path: path, skip: o.SkipBadRows, ordered: !chosen.unordered && !o.Sort}
	f := &File{path: path, format: chosen.name, file: file}
	if columns, ok := reader.(*columnReader); ok && s.ordered {
		source := &indexedRows{file: file, path: path, columns: columns, skip: o.SkipBadRows}
		f.source = source
		err = s.run(file, reader, source.add, f)
	} else {
		source := &memoryRows{names: map[string]int32{}}
		f.source = source
		if err = s.run(file, reader, source.add, f); err == nil {
			source.sort(f)
		}
	}
	if err != nil {
		return nil, err
	}
	f.finish(s, reader, o)
	return f, nil
}

func (o Options) salt() (uint64, error) {
	if o.Salt != 0 {
		return o.Salt, nil
	}
	var b [8]byte
	_, err := rand.Read(b[:])
	return binary.LittleEndian.Uint64(b[:]), err
}

func chooseFormat(path string, file io.ReaderAt, o Options) (format, error) {
	name := o.Format
	if name == "" {
		head := make([]byte, HeadBytes)
		n, err := file.ReadAt(head, 0)
		if err != nil && err != io.EOF {
			return format{}, fault(path, "cannot be read: %v", err)
		}
		if IsFitted(head[:n]) {
			return format{}, fault(path, "is a fitted workload, not a log: give the log that it was fitted to")
		}
		name, _ = Recognize(head[:n])
		switch {
		case name != "":
		case len(bytes.TrimSpace(head[:n])) == 0:
			return format{}, fault(path, "is empty, expected a trace or a log of requests")
		case len(o.Columns) > 0:
			if name = "csv"; bytes.HasPrefix(trimStart(head[:n]), []byte("{")) {
				name = "jsonl"
			}
		case promptsOnly(path, head[:n]) != "":
			name = promptsOnly(path, head[:n])
		case isTable(head[:n]):
			return format{}, fault(at(path, 1), "has no lengths: expected a column of prompt tokens, or of prompts; name it with --column prompt=NAME or --column text=NAME")
		default:
			return format{}, fault(at(path, 1), "is of no known format (%s), or its columns have other names; "+
				"name the format with --workload-format and the columns with --column", strings.Join(Formats(), ", "))
		}
	}
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, fault(path, "unknown format %s: %s", quote(name), text.HintWithKnown(name, Formats()))
	}
	return formats[i], nil
}

// scan is the first pass over a file.
type scan struct {
	path    string
	skip    bool
	ordered bool
	gate
	skipped, leftOut int
	firstBad         error
}

// gate lets rows through that fit the ones before them. It is all that the
// judgement of a row depends on besides the row.
type gate struct {
	last    int64
	timed   bool
	started bool
}

// pass says why a row does not fit those before it.
func (g *gate) pass(e entry, ordered bool) error {
	switch {
	case g.started && e.timed && !g.timed:
		return errors.New("has a timestamp, the rows before it have none; expected one in every row or in none")
	case g.started && g.timed && !e.timed:
		return errors.New("has no timestamp, the rows before it have one; expected one in every row or in none")
	case g.started && ordered && g.timed && e.stamp < g.last:
		return fmt.Errorf("goes back in time by %v; sort the file by its timestamps, or read it with --sort", time.Duration(g.last-e.stamp))
	}
	g.last, g.timed, g.started = e.stamp, e.timed, true
	return nil
}

// run reads every line, and gives each good row to add with the offset and the
// number of its line and what came before it.
func (s *scan) run(file io.ReaderAt, reader lineReader, add func(entry, mark), f *File) error {
	lines := newLines(io.NewSectionReader(file, 0, 1<<62), readAhead)
	var where mark
	emit := func(e entry) error {
		where.before = s.gate
		if err := s.pass(e, s.ordered); err != nil {
			return &rowError{line: e.row.Line, err: err}
		}
		add(e, where)
		f.count(e)
		return nil
	}
	for {
		line, offset, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fault(at(s.path, lines.number), "%v", err)
		}
		where = mark{offset: offset, line: lines.number}
		if err := s.judge(reader.read(line, lines.number, emit), lines.number); err != nil {
			return err
		}
	}
	if err := s.judge(reader.end(emit), lines.number); err != nil {
		return err
	}
	if f.n == 0 {
		return s.noRowsError()
	}
	return nil
}

// rowError is the fault of a row that began on another line.
type rowError struct {
	line int
	err  error
}

func (e *rowError) Error() string { return e.err.Error() }

// judge turns what is wrong with a row into an error, or counts it.
func (s *scan) judge(err error, line int) error {
	if err == nil {
		return nil
	}
	var several rowErrors
	if errors.As(err, &several) {
		for _, one := range several {
			if err := s.judge(one, line); err != nil {
				return err
			}
		}
		return nil
	}
	if errors.Is(err, errLeftOut) {
		s.leftOut++
		return nil
	}
	var whole fatal
	if errors.As(err, &whole) {
		return fault(at(s.path, line), "%v", err)
	}
	var row *rowError
	if errors.As(err, &row) && row.line > 0 {
		line = row.line
	}
	if !s.skip {
		return fault(at(s.path, line), "%v (--skip-bad-rows leaves such rows out)", err)
	}
	if s.skipped++; s.firstBad == nil {
		s.firstBad = fault(at(s.path, line), "%v", err)
	}
	return nil
}

// noRowsError says why a file has no rows.
func (s *scan) noRowsError() error {
	switch {
	case s.firstBad != nil:
		return fmt.Errorf("%w; all rows are bad (%s)", s.firstBad, text.Count(s.skipped))
	case s.leftOut > 0:
		return fault(s.path, "has no request that succeeded (%s failed)", text.Count(s.leftOut))
	}
	return fault(s.path, "has no requests, expected at least one")
}

package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/regular"
	"redline/internal/text"
)

// ErrNoRun is that of a directory without one.
var ErrNoRun = errors.New("holds no run (no " + recordsFile + " in it); redline run --out DIR makes one")

// Open opens the directory of a run that was made before.
func Open(path string) (*Dir, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cause(path, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; expected the directory of a run", path)
	}
	for _, name := range []string{recordsFile, StagesDir, experimentFile} {
		switch _, err = os.Stat(filepath.Join(path, name)); {
		case err == nil:
			d := &Dir{Path: path}
			return d, d.oneRun()
		case !errors.Is(err, fs.ErrNotExist):
			return nil, cause(path, err)
		}
	}
	return nil, fmt.Errorf("%s %w", path, ErrNoRun)
}

// cause words an error of the file system without the system call's name.
func cause(path string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		path = p.Path
	}
	return fmt.Errorf("%s: %w", path, innermost(err))
}

func innermost(err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err
	case errors.As(err, &l):
		return l.Err
	}
	return err
}

// Result reads the run's answer; fs.ErrNotExist says that the run was killed
// before it had one.
func (d *Dir) Result() (*result.Result, error) { return d.answer(result.Read) }

// Outline reads what a list of runs needs of the run's answer.
func (d *Dir) Outline() (*result.Result, error) { return d.answer(result.Outline) }

func (d *Dir) answer(read func([]byte) (*result.Result, error)) (*result.Result, error) {
	path := filepath.Join(d.Path, ResultFile)
	content, err := regular.Read(path)
	if err != nil {
		return nil, cause(path, err)
	}
	r, err := read(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	text.NewMask().Tidy(r) // it may come from anybody
	return r, nil
}

// Header reads the head of the record log.
func (d *Dir) Header() (record.Header, error) {
	path := filepath.Join(d.Path, recordsFile)
	f, err := regular.Open(path)
	if err != nil {
		return record.Header{}, cause(path, err)
	}
	defer f.Close()
	r, err := record.NewReader(f)
	if err != nil {
		return record.Header{}, fmt.Errorf("%s: %w", path, err)
	}
	return r.Header, nil
}

// Ending says how the record log ends.
type Ending struct {
	// Mark is the last time at which it knew all that was in flight, in
	// nanoseconds from the run's origin; 0 for never.
	Mark int64
	// Unended is how many requests have no end in it.
	Unended int
	// Repeated is how many records were in it before and count once.
	Repeated int
}

// ReadEnding reads the record log to its end.
func (d *Dir) ReadEnding() (Ending, error) {
	path := filepath.Join(d.Path, recordsFile)
	f, err := regular.Open(path)
	if err != nil {
		return Ending{}, cause(path, err)
	}
	defer f.Close()
	r, err := record.NewReader(f)
	if err == nil {
		for _, err = range r.All() {
		}
	}
	if err != nil {
		return Ending{}, fmt.Errorf("%s: %w", path, err)
	}
	return Ending{r.Mark, r.Unended, r.Repeated}, nil
}

// Records reads the record log, from its start at each call.
func (d *Dir) Records() iter.Seq2[*record.Record, error] {
	return readRecords(filepath.Join(d.Path, recordsFile), nil)
}

// readRecords reads a log and what belongs behind it.
func readRecords(path string, rest []byte) iter.Seq2[*record.Record, error] {
	return func(yield func(*record.Record, error) bool) {
		f, err := regular.Open(path)
		if err != nil {
			yield(nil, cause(path, err))
			return
		}
		defer f.Close()
		r, err := record.NewReader(io.MultiReader(f, bytes.NewReader(rest)))
		if err != nil {
			yield(nil, fmt.Errorf("%s: %w", path, err))
			return
		}
		for rec, err := range r.All() {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

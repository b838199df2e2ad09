// Package store is the run directory: it creates one, appends to it while a
// run goes on, and opens it again. A killed run keeps what it had. It knows
// the files' names and nothing of what their figures mean.
package store

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// The files of a run directory.
const (
	planFile    = "plan.yaml"
	recordsFile = "records.jsonl"
	ResultFile  = "result.json"
	PinFile     = "pin.json" // marks a baseline

	telemetryFile = "telemetry.jsonl"
	answersFile   = "quality.jsonl" // the worst answers with their text, where they may be kept
	engineLogFile = "engine.log"

	experimentFile = "experiment.json"
	secondPlanFile = "plan-b.yaml"
)

// files are all that a run may leave behind; a forced run removes them first.
var files = []string{recordsFile, planFile, ResultFile, telemetryFile, engineLogFile, experimentFile, secondPlanFile, PinFile, fullFile, answersFile, crewFile, "report.html"}

// StagesDir holds the run directories of an experiment's stages.
const StagesDir = "stages"

// Dir is one run's directory, or that of an experiment of several.
type Dir struct {
	Path        string
	createdDirs []string // directories that Create had to make, innermost first
	hold        *Hold    // nil where it is only read
}

// Name gives the default directory of a run: runs/<time>-<label>.
func Name(started time.Time, label string) string {
	name := started.UTC().Format("20060102-150405")
	if clean := strings.Trim(strings.Map(fileSafe, label), "-"); clean != "" {
		name += "-" + clean
	}
	return filepath.Join("runs", name)
}

// Claim makes the directory path, or, where it is taken already, the first of
// path-2, path-3, … that is not: two runs may start in the same second.
func (h *Hold) Claim(path string) (*Dir, error) {
	parents := missingDirs(filepath.Dir(path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, unwritable(path, err)
	}
	for n, free := 2, path; ; n++ {
		err := os.Mkdir(free, 0o755)
		if err == nil {
			d := &Dir{Path: free, createdDirs: append([]string{free}, parents...), hold: h}
			if err := h.Take(free); err != nil {
				d.unmake()
				return nil, err
			}
			return d, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, unwritable(free, err)
		}
		free = fmt.Sprintf("%s-%d", path, n)
	}
}

// unwritable says what to do about a directory that cannot be made.
func unwritable(path string, err error) error {
	return fmt.Errorf("%w; choose another directory with --out", cause(path, err))
}

func fileSafe(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
		return r
	}
	return '-'
}

// check reports whether a run can be written to path: a directory that holds a
// file that a run would replace is refused unless forced.
func check(path string, force bool) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return cause(path, err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file; --out wants a directory", path)
	}
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil && !force {
			return fmt.Errorf("%s already holds %s; choose another --out, or replace it with --force", path, name)
		}
	}
	return nil
}

// Create makes the directory of a new run. What is in it is removed only once
// it is locked.
func (h *Hold) Create(path string, force bool) (*Dir, error) {
	if err := check(path, force); err != nil {
		return nil, err
	}
	d := &Dir{Path: path, createdDirs: missingDirs(path), hold: h}
	if err := os.MkdirAll(path, 0o755); err != nil {
		d.unmake()
		return nil, unwritable(path, err)
	}
	if err := h.Take(path); err != nil {
		d.unmake()
		return nil, err
	}
	// Another run may have come and gone before the lock was had.
	if err := check(path, force); err != nil {
		h.drop(path)
		return nil, err
	}
	for _, name := range files {
		if err := os.Remove(filepath.Join(path, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, cause(path, err)
		}
	}
	return d, nil
}

// missingDirs lists path and those above it that do not exist, innermost first.
func missingDirs(path string) (list []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return list
		}
		list = append(list, path)
		path = filepath.Dir(path)
	}
}

// Discard takes back a run that never began: its files, and the directories
// that were made for it unless something else lies in them by now. It does
// what it can: what is left is as harmless as an error would be useless.
func (d *Dir) Discard() {
	for _, name := range files {
		_ = os.Remove(filepath.Join(d.Path, name))
	}
	d.hold.drop(d.Path)
	d.unmake()
}

// unmake removes the directories that were made for the run and are empty.
func (d *Dir) unmake() {
	for _, dir := range d.createdDirs {
		_ = os.Remove(dir)
	}
}

// WritePlan keeps the resolved plan.
func (d *Dir) WritePlan(yaml []byte) error { return d.write(planFile, yaml) }

// WritePin marks the run as a baseline.
func (d *Dir) WritePin(pin []byte) error { return d.write(PinFile, pin) }

// PlanPath is where the resolved plan lies.
func (d *Dir) PlanPath() string { return filepath.Join(d.Path, planFile) }

// RecordsPath is where the record log lies.
func (d *Dir) RecordsPath() string { return filepath.Join(d.Path, recordsFile) }

// TelemetryPath is where the run's telemetry log is.
func (d *Dir) TelemetryPath() string { return filepath.Join(d.Path, telemetryFile) }

// WriteResult keeps the run's answer.
func (d *Dir) WriteResult(r *result.Result) error {
	document, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("result.json: %w", err)
	}
	return d.write(ResultFile, append(text.PackNumbers(document), '\n'))
}

func (d *Dir) write(name string, content []byte) error {
	return ReplaceFile(filepath.Join(d.Path, name), content)
}

// ReplaceFile writes a file whole or not at all, whatever ends the process.
func ReplaceFile(path string, content []byte) error {
	draft := path + ".tmp"
	err := os.Remove(draft) // a killed process may have left it, or anybody a link
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = writeSynced(draft, content)
	}
	if err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		os.Remove(draft)
		return fmt.Errorf("%s: %w", path, innermost(err))
	}
	return nil
}

func writeSynced(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// fullFile is an empty file, for which there is room on a full disk: it says why
// nothing more was written.
const fullFile = "disk-full"

// NoteFull remembers that the disk was full, if that is what err says.
func (d *Dir) NoteFull(err error) {
	if !errors.Is(err, syscall.ENOSPC) {
		return
	}
	if f, err := os.Create(filepath.Join(d.Path, fullFile)); err == nil {
		_ = f.Close() // it is empty: there is nothing to lose
	}
}

// WasFull reports whether the disk was full when the run was to be kept.
func (d *Dir) WasFull() bool {
	_, err := os.Stat(filepath.Join(d.Path, fullFile))
	return err == nil
}

// NewID gives the first four groups of a random UUID; a request's number makes
// the fifth.
func NewID() string {
	var b [10]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:])
}

// WriteAnswers keeps answers with their text, a line each.
func (d *Dir) WriteAnswers(answers []result.KeptAnswer) error {
	var out bytes.Buffer
	lines := json.NewEncoder(&out)
	lines.SetEscapeHTML(false)
	for i := range answers {
		if err := lines.Encode(&answers[i]); err != nil {
			return cause(d.Path, err)
		}
	}
	// What people were told and what they asked is nobody else's business.
	if err := os.WriteFile(filepath.Join(d.Path, answersFile), out.Bytes(), 0o600); err != nil {
		return cause(d.Path, err)
	}
	return nil
}

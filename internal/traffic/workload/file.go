package workload

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/corpus"
	"redline/internal/traffic/hub"
	"redline/internal/traffic/job"
	"redline/internal/traffic/trace"
)

// The formats of a file besides those of corpus and trace.
const (
	// Fitted is a workload that was fitted to a log.
	Fitted = "workload"
	// anyTrace is a trace, whichever its columns say.
	anyTrace = "trace"
)

// FileFormats lists the names that say how to read a file.
func FileFormats() []string {
	names := text.Each(corpus.Formats, func(f corpus.FormatInfo) string { return string(f.Name) })
	for _, name := range slices.Concat(trace.Formats(), []string{anyTrace, Fitted}, job.Formats()) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// recognize says by its content how a file is to be read. A file of prompts
// that also counts tokens is taken for prompts; the format trace makes it a
// trace.
func recognize(path string) (format string, err error) {
	head, err := readHead(path)
	if err != nil {
		return "", err
	}
	if trace.IsFitted(head) {
		return Fitted, nil
	}
	traced, isTrace := trace.Recognize(head)
	if isTrace && traced != "jsonl" && traced != "csv" {
		return traced, nil
	}
	if text, ok := corpus.Recognize(head); ok && (text != corpus.Prose || !isTrace) {
		if kind := strings.ToLower(filepath.Ext(path)); text == corpus.Prose && slices.Contains([]string{".csv", ".tsv", ".json", ".jsonl"}, kind) {
			return "", fmt.Errorf("%s: holds prose, and its name says %s: expected rows with columns or keys of a trace or of prompts, or --workload-format text for prose", path, kind[1:])
		}
		return string(text), nil
	}
	if isTrace && traced == string(corpus.Lines) {
		return anyTrace, nil // the name is that of prompts
	}
	if isTrace {
		return traced, nil
	}
	return "", fmt.Errorf("%s: %s", path, describeUnknown(head))
}

// describeUnknown says what a file could have been, and what helps.
func describeUnknown(head []byte) string {
	for line := range bytes.Lines(head) {
		for _, block := range []string{"workload:", "load_profile:", "provider:"} {
			if bytes.HasPrefix(line, []byte(block)) {
				return "looks like a plan: give it by --plan"
			}
		}
	}
	known := text.Each(corpus.Formats, func(f corpus.FormatInfo) string { return f.About })
	return fmt.Sprintf("is not recognized: looked for %s; a trace or log (%s); jobs of agents (%s); a fitted workload (schema: redline/workload/1); "+
		"name the columns of a log with --column, such as --column prompt=input_tokens, or the format with --workload-format",
		strings.Join(known, "; "), strings.Join(trace.Formats(), ", "), strings.Join(job.Formats(), ", "))
}

// readHead reads the beginning of a file.
func readHead(path string) ([]byte, error) {
	local, err := hub.Dataset(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(local)
	if errors.Is(err, os.ErrNotExist) {
		return nil, &UnknownError{path}
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head := make([]byte, trace.HeadBytes)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	head = head[:n]
	switch {
	case len(bytes.TrimSpace(head)) == 0:
		return nil, fmt.Errorf("%s: is empty, expected prompts, a trace or a fitted workload", path)
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}), bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, fmt.Errorf("%s: is compressed; unpack it first", path)
	}
	return head, nil
}

// formatOf settles the format of a file: one of corpus's, one of trace's, or
// Fitted.
func (t Traffic) formatOf() (string, error) {
	if isJobs(t.Format) {
		return t.Format, nil
	}
	if jobs := job.RecognizePath(t.File); t.Format == "" && t.Columns == nil && jobs != "" {
		return jobs, nil
	}
	head, err := readHead(t.File)
	switch {
	case err != nil:
		return "", err
	case t.Format == "" && t.Columns != nil && !trace.IsFitted(head):
		return anyTrace, nil // only a log has columns to name
	case t.Format == "":
		return recognize(t.File)
	}
	// Prompts and traces both come as JSON Lines.
	if text, ok := corpus.Recognize(head); t.Format == string(corpus.Lines) && !(ok && text == corpus.Lines) {
		if _, isTrace := trace.Recognize(head); isTrace {
			return anyTrace, nil
		}
	}
	return t.Format, nil
}

// isCorpus says that a format is one of conversations or prose.
func isCorpus(format string) bool {
	return slices.ContainsFunc(corpus.Formats, func(f corpus.FormatInfo) bool { return string(f.Name) == format })
}

// UnknownError is a workload that is neither a file nor has a known name.
type UnknownError struct{ path string }

func (u *UnknownError) Error() string {
	return fmt.Sprintf("%s: no such file; the known workloads are %s", u.path, strings.Join(Names(), ", "))
}

func (u *UnknownError) Unwrap() error { return os.ErrNotExist }

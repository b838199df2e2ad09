//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// packRuns makes one small file of measured runs, so that predictions can be
// checked against a server long after it is gone: of every run below the named
// directories its plan, its result, its telemetry, and its records without the
// times of single tokens:
//
//	measure pack OUT.tar.gz DIR…
//
// What comes out are run directories, which every redline command reads; runs
// are named by their path below the directory.
func packRuns(h *harness) func() error {
	return func() error {
		if h.NArg() < 2 {
			return errors.New("usage: measure pack OUT.tar.gz DIR…")
		}
		return pack(h.Arg(0), h.Args()[1:])
	}
}

func pack(out string, roots []string) error {
	var file bytes.Buffer
	zip, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zip)
	for _, root := range roots {
		if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || d.Name() != "records.jsonl" {
				return err
			}
			return addRun(archive, root, filepath.Dir(path))
		}); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return os.WriteFile(out, file.Bytes(), 0o644)
}

// reduced says what is kept of each file of a run, by its name.
var reduced = map[string]func([]byte) ([]byte, error){
	"plan.yaml":       whole,
	"result.json":     compact,
	"telemetry.jsonl": whole,
	"records.jsonl":   thin,
}

func addRun(archive *tar.Writer, root, dir string) error {
	name, err := filepath.Rel(root, dir)
	if err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(reduced)) {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			text, err = reduced[file](text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
		}
		// Times of packing are left out, so that the same runs make the same file.
		header := &tar.Header{Name: filepath.ToSlash(filepath.Join(name, file)), Mode: 0o644, Size: int64(len(text))}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(text); err != nil {
			return err
		}
	}
	return nil
}

func whole(text []byte) ([]byte, error) { return text, nil }

func compact(text []byte) ([]byte, error) {
	var b bytes.Buffer
	err := json.Compact(&b, text)
	return b.Bytes(), err
}

// dropped are keys of a record that no prediction needs: each event's time and
// what happened on the way to the server.
var dropped = []string{"chunks_us", "chunk_tokens", "spread", "addr", "begin", "conn", "dialing", "dialed", "secured", "written", "head",
	"conn_new", "local_tokens", "local_by_event"}

// times are keys of a record in nanoseconds, kept to the microsecond.
var times = []string{"due", "sent", "first", "answer", "last", "end"}

func thin(text []byte) ([]byte, error) {
	var out bytes.Buffer
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		record := map[string]any{}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			return nil, err
		}
		_, header := record["schema"]
		if _, ended := record["outcome"]; !header && !ended {
			continue // the opening of a request whose end follows
		}
		if header {
			out.Write(append(bytes.Clone(lines.Bytes()), '\n'))
			continue
		}
		if _, streams := record["chunks_us"]; streams {
			record["first_estimate"] = 1
		}
		for _, key := range dropped {
			delete(record, key)
		}
		for _, key := range times {
			if at, ok := record[key].(float64); ok {
				record[key] = int64(math.Round(at/1e3)) * 1e3
			}
		}
		line, err := json.Marshal(record)
		if err != nil {
			return nil, err
		}
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), lines.Err()
}

//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
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
		for _, root := range h.Args()[1:] {
			if err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || d.Name() != "records.jsonl" {
					return err
				}
				return reduce(root, filepath.Dir(path), h.work)
			}); err != nil {
				return err
			}
		}
		// Times and owners are left out, so that the same runs make the same file.
		file, err := os.Create(h.Arg(0))
		if err != nil {
			return err
		}
		cmd := exec.Command("sh", "-c", "find * -type f | LC_ALL=C sort | tar --mtime=@0 --owner=0 --group=0 -cT - | gzip -n9")
		cmd.Dir, cmd.Stdout, cmd.Stderr = h.work, file, os.Stderr
		return errors.Join(cmd.Run(), file.Close())
	}
}

// reductions say what stays of each file of a run, by its name.
var reductions = map[string]func([]byte) ([]byte, error){
	"plan.yaml":       whole,
	"result.json":     compact,
	"telemetry.jsonl": whole,
	"records.jsonl":   thin,
}

// reduce writes what stays of a run below another directory.
func reduce(root, dir, into string) error {
	name, err := filepath.Rel(root, dir)
	if err == nil {
		into = filepath.Join(into, name)
		err = os.MkdirAll(into, 0o755)
	}
	for file, change := range reductions {
		var text []byte
		if err == nil {
			text, err = os.ReadFile(filepath.Join(dir, file))
		}
		if err == nil {
			text, err = change(text)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(into, file), text, 0o644)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
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

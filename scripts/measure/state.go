//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// openState opens a state file to be added to. A line that a kill cut short is
// taken away.
func openState(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = f.Truncate(int64(bytes.LastIndexByte(text, '\n') + 1))
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// appendState adds one line.
func appendState(f *os.File, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return err
}

// readState gives the lines of every state file in a directory.
func readState[T any](dir string) ([]T, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var all []T
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
			if len(line) == 0 {
				continue
			}
			var o T
			if err := json.Unmarshal(line, &o); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			all = append(all, o)
		}
	}
	return all, nil
}

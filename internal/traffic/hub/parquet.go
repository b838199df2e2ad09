package hub

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"redline/internal/traffic/columnar"
)

// readableFile gives a file that all readers here know: the rows of a Parquet file
// are written as lines of JSON, once, into the user's cache.
func readableFile(name, path string) (string, error) {
	if !strings.EqualFold(filepath.Ext(path), ".parquet") {
		return path, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return path, nil // whoever opens it says so
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return path, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%s: its rows have no place to be kept in: %w", name, err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", absolute, info.Size(), info.ModTime().UnixNano()))
	lines := filepath.Join(cache, "redline", "parquet", fmt.Sprintf("%x.jsonl", key[:16]))
	if _, err := os.Stat(lines); err == nil {
		return lines, nil
	}
	if err := writeRows(file, info.Size(), lines); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return lines, nil
}

// writeRows writes the file beside its place and moves it there whole.
func writeRows(file *os.File, size int64, lines string) error {
	if err := os.MkdirAll(filepath.Dir(lines), 0o755); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(lines), "new-")
	if err != nil {
		return err
	}
	defer os.Remove(fresh.Name())
	out := bufio.NewWriter(fresh)
	err = columnar.EachRow(file, size, func(row []byte) error {
		_, err := out.Write(append(row, '\n'))
		return err
	})
	if err == nil {
		err = out.Flush()
	}
	if failed := fresh.Close(); err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return os.Rename(fresh.Name(), lines)
}

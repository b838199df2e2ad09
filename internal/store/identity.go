package store

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"redline/internal/regular"
)

// oneRun refuses a directory whose files are of more than one run, as two
// processes leave it that wrote there at once. What is missing or cannot be
// read says nothing here.
func (d *Dir) oneRun() error {
	records := d.headValue(recordsFile, "run")
	if records == "" {
		return nil
	}
	for _, other := range []string{d.headValue(ResultFile, "id"), d.headValue(telemetryFile, "run")} {
		if other != "" && other != records {
			return fmt.Errorf("%s: %s is of run %s, but the files beside it are of run %s: two processes wrote there; measure again in another directory",
				d.Path, recordsFile, records, other)
		}
	}
	return nil
}

// maxHead is how much of a file is looked at for its run.
const maxHead = 1 << 20

// headValue is the value of a key at the top of a JSON document, as far as it
// stands before any other block.
func (d *Dir) headValue(file, key string) string {
	f, err := regular.Open(filepath.Join(d.Path, file))
	if err != nil {
		return ""
	}
	defer f.Close()
	tokens := json.NewDecoder(bufio.NewReaderSize(io.LimitReader(f, maxHead), 512))
	if begin, err := tokens.Token(); err != nil || begin != json.Delim('{') {
		return ""
	}
	for tokens.More() {
		name, err := tokens.Token()
		if err != nil {
			return ""
		}
		value, err := tokens.Token()
		if err != nil {
			return ""
		}
		if _, block := value.(json.Delim); block {
			return ""
		}
		if name == key {
			text, _ := value.(string)
			return text
		}
	}
	return ""
}

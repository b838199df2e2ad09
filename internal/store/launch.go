package store

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"redline/internal/regular"
)

// The files that a launched server leaves in the directory of its stage.
const (
	launchFile    = "launch.json"
	ServerLogFile = "server.log"
)

const launchSchema = "redline/launch/1"

// Launch is the server that was started for a stage, and what became of it. It
// is written when the stage has ended.
type Launch struct {
	Schema string            `json:"schema"`
	Values map[string]string `json:"values"`
	// StartUpS is the time until it was ready; absent where it never was, or
	// where it ran already.
	StartUpS *float64 `json:"start_up_s,omitempty"`
	// TookS is the time that the whole stage took.
	TookS float64 `json:"took_s"`
	// Failed says why the server could not be measured, with the end of its
	// log.
	Failed string   `json:"failed,omitempty"`
	Log    []string `json:"log,omitempty"`
}

// WriteLaunch keeps it in the directory of a stage.
func WriteLaunch(dir string, l Launch) error {
	l.Schema = launchSchema
	document, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", launchFile, err)
	}
	return (&Dir{Path: dir}).write(launchFile, append(document, '\n'))
}

// ReadLaunch finds it there; ok is false where there is none that can be read.
func ReadLaunch(dir string) (l Launch, ok bool) {
	content, err := regular.Read(filepath.Join(dir, launchFile))
	if err != nil || json.Unmarshal(content, &l) != nil {
		return Launch{}, false
	}
	return l, l.Schema == launchSchema
}

// ForgetLaunch takes it away, before the stage is run again.
func ForgetLaunch(dir string) { _ = os.Remove(filepath.Join(dir, launchFile)) } // it may not be there

// crewFile is what a conductor of workers leaves for one that takes its place.
const crewFile = "crew.json"

// WriteCrew keeps it.
func (d *Dir) WriteCrew(memo []byte) error { return d.write(crewFile, memo) }

// ReadCrew finds it in the directory of a run that has no result yet; ok is false
// where there is none.
func ReadCrew(dir string) (memo []byte, ok bool) {
	if _, err := os.Stat(filepath.Join(dir, ResultFile)); err == nil {
		return nil, false
	}
	memo, err := regular.Read(filepath.Join(dir, crewFile))
	return memo, err == nil
}

package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"redline/internal/observe/telemetry"
	"redline/internal/regular"
	"redline/internal/text"
)

// Telemetry is the run's telemetry log on disk.
type Telemetry struct {
	*telemetry.Log
	file *os.File
}

// StartTelemetry begins the run's telemetry log, in which secrets are masked.
func (d *Dir) StartTelemetry(h telemetry.Header, mask *text.Mask) (*Telemetry, error) {
	path := d.TelemetryPath()
	f, err := os.Create(path)
	if err != nil {
		return nil, cause(path, err)
	}
	log, err := telemetry.NewLog(mask.Writer(f), h)
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, cause(path, err)
	}
	return &Telemetry{log, f}, nil
}

// Close says whether every line was written.
func (t *Telemetry) Close() error {
	err := errors.Join(t.Err(), t.file.Close())
	if err != nil {
		return cause(t.file.Name(), err)
	}
	return nil
}

// StartEngineLog makes the file for what the engine's log adds.
func (d *Dir) StartEngineLog() (*os.File, error) {
	path := filepath.Join(d.Path, engineLogFile)
	f, err := os.Create(path)
	if err != nil {
		return nil, cause(path, err)
	}
	return f, nil
}

// ReadTelemetry reads the log back; a run without one gives nil.
func (d *Dir) ReadTelemetry() (*telemetry.LogFile, error) {
	path := d.TelemetryPath()
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, cause(path, err)
	}
	defer f.Close()
	logged, err := telemetry.ReadLog(f)
	if err != nil {
		return nil, cause(path, err)
	}
	return logged, nil
}

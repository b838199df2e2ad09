package telemetry

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"redline/internal/holdup"
	"redline/internal/observe/engine"
)

// Schema names the form of a telemetry log.
const Schema = "redline/telemetry/1"

// Header is the first line of a telemetry log.
type Header struct {
	Schema       string `json:"schema"`
	Run          string `json:"run"`
	OriginUnixNS int64  `json:"origin_unix_ns"`
	OriginMonoNS int64  `json:"origin_mono_ns"`
	// Subject is what is watched; nil where that was not known.
	Subject *Subject `json:"subject,omitempty"`
}

// Subject is who is watched, and by whom: what a run learns before its load
// and what a report could not name if the run were killed.
type Subject struct {
	// Command and Version are of the program that watches.
	Command string `json:"command,omitempty"`
	Version string `json:"version,omitempty"`
	// Model is the one that is asked, and Engine what serves it.
	Model         string `json:"model,omitempty"`
	Engine        string `json:"engine,omitempty"`
	EngineVersion string `json:"engine_version,omitempty"`
	API           string `json:"api,omitempty"`
	URL           string `json:"url,omitempty"`
	// SharesHost says that the engine runs on the machine that watches.
	SharesHost bool `json:"shares_host,omitempty"`
	// Facts are what the server said about itself.
	Facts *engine.Facts `json:"facts,omitempty"`
}

// Line is every other line of a telemetry log: what was seen at one moment, of
// this machine, of the server or of its accelerators. Lines of all are in the
// order in which they were written, which can differ from that of their times
// by one scrape.
type Line struct {
	// At is the moment, in nanoseconds from the run's origin.
	At int64 `json:"at"`
	// Worker is the number of the worker, from 1 on, whose host it is; 0 for the
	// host of this process.
	Worker int `json:"worker,omitempty"`
	// Host is what was used since the host's line before.
	Host *HostUse `json:"host,omitempty"`
	// Server is one scrape; its counters count from the server's start.
	Server *Scrape `json:"server,omitempty"`
	// Accelerator is one look at the server's accelerators.
	Accelerator *AcceleratorReading `json:"accelerator,omitempty"`
	// Spoils say what would make the run invalid, or its figures doubtful, were it
	// over then; a line without anything says that nothing does.
	Spoils *[]string `json:"spoils,omitempty"`
}

// Log appends lines to a writer, each with one Write, so that a kill loses
// none that is whole. A nil Log takes lines and drops them. It is safe for
// concurrent use.
type Log struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewLog begins a log on w.
func NewLog(w io.Writer, h Header) (*Log, error) {
	h.Schema = Schema
	l := &Log{w: w}
	l.add(h)
	return l, l.err
}

// Add appends a line. After an error nothing more is written.
func (l *Log) Add(line Line) {
	if l == nil {
		return
	}
	l.add(line)
}

func (l *Log) add(v any) {
	text, err := json.Marshal(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if err == nil {
		_, err = l.w.Write(append(text, '\n'))
	}
	l.err = err
}

// Err is the first error of writing.
func (l *Log) Err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// LogFile is a telemetry log that was read back.
type LogFile struct {
	Header Header
	Lines  []Line
	// Cut is set when the last line was incomplete, as a kill leaves it.
	Cut bool
}

// ReadLog reads a whole log. An incomplete last line is passed over; any other
// unreadable line is an error, and what came before it is given too.
func ReadLog(r io.Reader) (*LogFile, error) {
	all := &LogFile{}
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		text, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && number == 1:
			return all, errors.New("line 1: the telemetry log is empty")
		case errors.Is(err, io.EOF):
			all.Cut = len(text) > 0
			return all, nil
		case err == nil && number == 1:
			if err = json.Unmarshal(text, &all.Header); err != nil {
				err = fmt.Errorf("not a telemetry log: %w", err)
			} else if all.Header.Schema != Schema {
				err = fmt.Errorf("schema is %q, expected %q", all.Header.Schema, Schema)
			}
		case err == nil:
			err = all.add(text)
		}
		if err != nil {
			return all, fmt.Errorf("line %d: %w", number, err)
		}
	}
}

func (l *LogFile) add(text []byte) error {
	var line Line
	if err := json.Unmarshal(text, &line); err != nil {
		return err
	}
	if line.Server != nil {
		line.Server.At = line.At
	}
	if line.Accelerator != nil {
		line.Accelerator.At = line.At
	}
	l.Lines = append(l.Lines, line)
	return nil
}

// Server gives what the server said between two offsets, as a Scraper does.
func (l *LogFile) Server(start, end int64) ServerUse { return ServerOver(l.Scrapes(), start, end) }

// Scrapes gives every reading of the server's metrics.
func (l *LogFile) Scrapes() []Scrape {
	var scrapes []Scrape
	for _, line := range l.Lines {
		if line.Server != nil {
			scrapes = append(scrapes, *line.Server)
		}
	}
	return scrapes
}

// Accelerators gives every look at the server's accelerators.
func (l *LogFile) Accelerators() []AcceleratorReading {
	var readings []AcceleratorReading
	for _, line := range l.Lines {
		if line.Accelerator != nil {
			readings = append(readings, *line.Accelerator)
		}
	}
	return readings
}

// Holdups gives those of this host or, where workers sent the load, of each of
// theirs.
func (l *LogFile) Holdups() []holdup.Watch {
	hosts := make([]holdup.Watch, 1)
	for _, line := range l.Lines {
		if line.Host == nil || line.Worker < 0 {
			continue
		}
		for len(hosts) <= line.Worker {
			hosts = append(hosts, holdup.Watch{})
		}
		of := &hosts[line.Worker]
		of.Watched, of.Holdups = line.Host.Watched, append(of.Holdups, line.Host.Holdups...)
	}
	if len(hosts) > 1 {
		return hosts[1:]
	}
	return hosts
}

// Host gives what was used between two offsets, to the nearest lines around
// them.
func (l *LogFile) Host(start, end int64) HostUse {
	var use HostUse
	for _, line := range l.Lines {
		if h := line.Host; h != nil && line.Worker == 0 && line.At > start && line.At-int64(h.Wall) < end {
			use.add(*h)
		}
	}
	return use
}

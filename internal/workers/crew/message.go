package crew

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/result"
	"redline/internal/run/doctor"
	"redline/internal/run/measure"
)

// Hello is how a worker introduces itself.
type Hello struct {
	ID      string `json:"id"` // of this process, unlike any other's
	Name    string `json:"name"`
	Host    string `json:"host"`
	Version string `json:"version"`
	Cores   int    `json:"cores"`
	Files   int    `json:"files"` // that it may have open
	UnixNS  int64  `json:"unix_ns"`
	// Owner is the conductor that has the worker, "" for none.
	Owner string `json:"owner,omitempty"`
}

// Question is what a conductor has a worker do; one field beside From is set.
type Question struct {
	// From is the conductor who asks, by the name of its claim.
	From string `json:"from,omitempty"`
	// Claim takes a worker for a conductor, by its name, until it is released or
	// hears nothing for a while.
	Claim string `json:"claim,omitempty"`
	// Clock asks for the time on the worker's own clock.
	Clock bool `json:"clock,omitempty"`
	// Prepare hands over a share of a stage.
	Prepare *measure.Assignment `json:"prepare,omitempty"`
	// Start begins it at a time from the run's origin.
	Start int64 `json:"start,omitempty"`
	// Order is for the running stage.
	Order *load.Order `json:"order,omitempty"`
	// Examine has the worker look at its machine and at the server of a plan.
	Examine []byte `json:"examine,omitempty"`
	// Release lets the worker go.
	Release bool `json:"release,omitempty"`
}

// Answer is what a worker says to a question.
type Answer struct {
	// Refused says why it was not done, in one line; "" where it was.
	Refused string `json:"refused,omitempty"`
	Now     int64  `json:"now,omitempty"`
	// Found is what it found where it was to examine.
	Found *doctor.Report `json:"found,omitempty"`
}

// Batch is what a worker tells at one beat of a run: the lines of its log since
// the last one, which end with a mark of time.
type Batch struct {
	Run    string `json:"run"`
	Worker int    `json:"worker"` // by its share
	Seq    uint64 `json:"seq"`    // from 1, without a gap
	// Known is the time up to which the worker has told everything.
	Known int64 `json:"known"`
	// Output is how many output events came since the last batch.
	Output int64 `json:"output,omitempty"`
	// Done is set in the last one.
	Done  *Report `json:"done,omitempty"`
	Lines []byte  `json:"-"`

	parsed  bool
	records []*record.Record // of the lines
	err     error
}

// parse reads the lines, once.
func (b *Batch) parse() {
	if b.parsed {
		return
	}
	b.parsed = true
	for line := range bytes.Lines(b.Lines) {
		rec, err := record.ParseLine(line)
		if err != nil {
			b.err = err
			break
		}
		b.records = append(b.records, rec)
	}
}

// Report is what a worker says of itself at the end of a run.
type Report struct {
	Client   result.Client `json:"client"`
	Shortage int64         `json:"shortage,omitempty"`
	holdup.Watch
	// Error is what kept it from its part.
	Error string `json:"error,omitempty"`
}

// Encode gives a batch as bytes: a line of JSON, then its lines.
func (b *Batch) Encode() ([]byte, error) {
	head, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), b.Lines...), nil
}

// DecodeBatch reads what Encode gave. The lines share memory with data.
func DecodeBatch(data []byte) (*Batch, error) {
	head, lines, ok := bytes.Cut(data, []byte{'\n'})
	if !ok {
		return nil, errors.New("a batch without its first line")
	}
	b := &Batch{Lines: lines}
	return b, json.Unmarshal(head, b)
}

// Link is a conductor's way to one worker.
type Link interface {
	Hello() Hello
	// Ask gives the worker's answer, or an error where there is none.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Post brings the batches of a run to its conductor.
type Post interface {
	// Collect calls take with every batch of the run, those of one worker in
	// their order and each once, until ctx ends. It returns at once.
	Collect(ctx context.Context, run string, take func(*Batch)) error
	// Mark tells one join token from another.
	Mark() string
	// Find reports why the batches of a run are not there any more, or nil.
	Find(ctx context.Context, run string) error
	// Forget gives back what was kept of a run that is in its directory by now.
	Forget(run string)
}

// Outlet takes a worker's batches. It keeps them until they are safe.
type Outlet interface {
	Publish(b *Batch) error
	// Flush waits until all of them are.
	Flush(ctx context.Context) error
}

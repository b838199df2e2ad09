// Package launch starts servers from a command template. It takes the template
// with a port and values, and gives a server that is ready to be asked, with
// how long that took and the end of its log; or the reason why it is none. No
// server outlives this program. It knows nothing of what the server is asked.
package launch

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/child"
	"redline/internal/text"
)

// Options are what differs between two starts of one server.
type Options struct {
	// Port is where it has to serve; Values fill the command's placeholders.
	Port   int
	Values map[string]string
	// Log is a file for what the server writes; "" keeps only the end of it.
	Log string
	// Hide masks secrets in everything that is kept of that; nil masks nothing.
	Hide *text.Mask
}

// Server is a process that was ready to be asked.
type Server struct {
	process *child.Process
	log     *journal
	port    int
	startUp time.Duration
}

// Failure is a server that could not be used: what its configuration made of
// it, and no error of ours.
type Failure struct {
	Why string
	// Log holds the last lines that it wrote.
	Log []string
}

func (f *Failure) Error() string {
	if len(f.Log) == 0 {
		return "the server " + f.Why + " and wrote nothing"
	}
	return "the server " + f.Why + "; its last lines: " + strings.Join(f.Log, " | ")
}

const (
	// grace is what a server gets to end in order.
	grace = 10 * time.Second
	// shownLines is the number of log lines in a failure.
	shownLines = 8
)

// Start starts a server and waits until it is ready. The error is a *Failure
// where the server itself is at fault, and ctx's where that ended first. Whoever
// starts a server has to Stop it.
func Start(ctx context.Context, s Spec, o Options) (*Server, error) {
	line, err := s.Line(o.Port, o.Values)
	if err != nil {
		return nil, err
	}
	if err := waitForPort(o.Port); err != nil {
		return nil, err
	}
	v := &Server{port: o.Port}
	if v.log, err = newJournal(o); err != nil {
		return nil, err
	}
	begun := time.Now()
	v.process, err = child.Start(child.Spec{Command: line, Env: environment(s.Env), Output: v.log})
	if err != nil {
		v.log.close()
		return nil, err
	}
	if err := v.await(ctx, s, begun); err != nil {
		v.Stop()
		return nil, err
	}
	v.startUp = time.Since(begun)
	return v, nil
}

func environment(added map[string]string) []string {
	env := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(added)) {
		env = append(env, name+"="+added[name])
	}
	return env
}

// await returns when the server is ready, or why it never will be.
func (v *Server) await(ctx context.Context, s Spec, begun time.Time) error {
	limit := cmp.Or(s.ReadyTimeout, defaultReadyTimeout)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait := 20 * time.Millisecond
	const maxWait = time.Second
	for {
		if v.ready(within, s.Ready) {
			// Another program could have taken the port meanwhile.
			return v.Failure()
		}
		select {
		case <-v.process.Done():
			return v.failure(fmt.Sprintf("%s after %s, before it was ready", v.endText(), text.Length(time.Since(begun))))
		case <-within.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return v.failure(fmt.Sprintf("was not ready after %s (server.ready_timeout)", text.Length(limit)))
		case <-time.After(wait):
			wait = min(wait*3/2, maxWait)
		}
	}
}

// direct asks without a proxy and without waiting for ever.
var direct = &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// ready reports whether the server says that it can be asked. Where no path is
// given, one without a page for its health is ready once it lists its models,
// or has no such list either.
func (v *Server) ready(ctx context.Context, path string) bool {
	if path != "" {
		status := v.status(ctx, path)
		return status >= 200 && status < 300
	}
	switch status := v.status(ctx, "/health"); status {
	case http.StatusOK, http.StatusNoContent:
		return true
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusUnauthorized, http.StatusForbidden:
		listed := v.status(ctx, "/v1/models")
		return listed > 0 && listed < 500
	}
	return false
}

// status is that of a page, 0 where there is no answer.
func (v *Server) status(ctx context.Context, path string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL()+path, nil)
	if err != nil {
		return 0
	}
	reply, err := direct.Do(request)
	if err != nil {
		return 0
	}
	_ = reply.Body.Close() // only its head matters
	return reply.StatusCode
}

// URL is the server's base.
func (v *Server) URL() string { return "http://" + net.JoinHostPort(host, strconv.Itoa(v.port)) }

// StartUp is the time from the start of the process until it was ready.
func (v *Server) StartUp() time.Duration { return v.startUp }

// Done is closed when the process has ended.
func (v *Server) Done() <-chan struct{} { return v.process.Done() }

// Failure is how a server came to an end that nobody asked for, nil while it
// runs.
func (v *Server) Failure() error {
	select {
	case <-v.process.Done():
		return v.failure(v.endText())
	default:
		return nil
	}
}

// Tail is the end of what it wrote.
func (v *Server) Tail() []string { return v.log.lines(shownLines) }

// Stop ends the server and returns when nothing of it is left. It may be called
// more than once.
func (v *Server) Stop() {
	v.process.Stop(grace)
	v.log.close()
}

// endText words how the process ended.
func (v *Server) endText() string {
	switch code := v.process.ExitCode(); {
	case code == 137:
		return "was killed (exit 137), as systems do for want of memory,"
	case code > 128:
		return fmt.Sprintf("was ended by signal %d", code-128)
	default:
		return fmt.Sprintf("exited with code %d", code)
	}
}

// memory finds the words that engines have for too little of it.
var memory = regexp.MustCompile(`(?i)out of memory|outofmemory|cannot allocate memory|failed to allocate|not enough memory|insufficient memory|No available memory`)

func (v *Server) failure(why string) error {
	if slices.ContainsFunc(v.log.lines(1000), memory.MatchString) {
		why += " (out of memory)"
	}
	return &Failure{Why: why, Log: v.Tail()}
}

// Package launch starts servers from a command template. It takes the template
// with a port and values, and gives a server that is ready to be asked, with
// how long that took and the end of its log; or the reason why it is none. No
// server outlives this program. It knows nothing of what the server is asked.
package launch

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
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
	// Also takes the server's output as it comes, without secrets; nil for nobody.
	Also io.Writer
	// URL is where the server answers, if the command does not run it but has it
	// started elsewhere, as by scaling from zero: then it has to end with code 0.
	URL string
}

// Times are how long it took from the start of the command until the process ran,
// its port accepted connections, and it was ready to be asked.
type Times struct{ Up, Open, Ready time.Duration }

// Server is a process that was ready to be asked.
type Server struct {
	process *child.Process
	log     *journal
	url     string
	remote  bool // another machine or process serves
	times   Times
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
	// Resolution is the longest pause between two looks at a server that starts.
	Resolution = 100 * time.Millisecond
)

// Start starts a server and waits until it is ready. The error is a *Failure
// where the server itself is at fault, and ctx's where that ended first. Whoever
// starts a server has to Stop it.
func Start(ctx context.Context, s Spec, o Options) (*Server, error) {
	line, err := s.Line(o.Port, o.Values)
	if err != nil {
		return nil, err
	}
	v := &Server{url: strings.TrimRight(o.URL, "/"), remote: o.URL != ""}
	if !v.remote {
		v.url = "http://" + net.JoinHostPort(host, strconv.Itoa(o.Port))
		if err := waitForPort(o.Port); err != nil {
			return nil, err
		}
	}
	if v.log, err = newJournal(o); err != nil {
		return nil, err
	}
	leaves := child.IsThem // a command may put its server into the background
	if v.remote {
		leaves = child.LetsThemBe
	}
	begun := time.Now()
	v.process, err = child.Start(child.Spec{Command: line, Env: environment(s.Env), Output: v.log, Leaves: leaves})
	if err != nil {
		v.log.close()
		return nil, err
	}
	v.times.Up = time.Since(begun)
	if err := v.await(ctx, s, begun); err != nil {
		v.Stop()
		return nil, err
	}
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
	limit := cmp.Or(s.ReadyTimeout, DefaultReadyTimeout)
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	wait := 20 * time.Millisecond
	ended := v.process.Done()
	for {
		if v.times.Open == 0 && v.accepts(within) {
			v.times.Open = time.Since(begun)
		}
		if v.times.Open > 0 && v.ready(within, s.Ready) {
			v.times.Ready = time.Since(begun)
			// Another program could have taken the port meanwhile.
			return v.Failure()
		}
		select {
		case <-ended:
			if v.remote && v.process.ExitCode() == 0 {
				ended = nil
				continue
			}
			return v.failure(fmt.Sprintf("%s after %s, before it was ready", v.endText(), text.Length(time.Since(begun))))
		case <-within.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return v.failure(fmt.Sprintf("was not ready after %s (--ready-timeout)", text.Length(limit)))
		case <-time.After(wait):
			wait = min(wait*3/2, Resolution)
		}
	}
}

// accepts reports whether the port takes connections.
func (v *Server) accepts(ctx context.Context) bool {
	at, err := url.Parse(v.url)
	if err != nil {
		return false
	}
	port := cmp.Or(at.Port(), map[string]string{"https": "443"}[at.Scheme], "80")
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(at.Hostname(), port))
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was sent
	return true
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
func (v *Server) URL() string { return v.url }

// StartUp is the time from the start of the process until it was ready.
func (v *Server) StartUp() time.Duration { return v.times.Ready }

// Times are those of its start.
func (v *Server) Times() Times { return v.times }

// Done is closed when the process has ended.
func (v *Server) Done() <-chan struct{} { return v.process.Done() }

// Failure is how a server came to an end that nobody asked for, nil while it
// runs.
func (v *Server) Failure() error {
	select {
	case <-v.process.Done():
		if v.remote && v.process.ExitCode() == 0 {
			return nil
		}
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

// Kill is Stop without the time to end in order.
func (v *Server) Kill() {
	v.process.Stop(0)
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

// Package simserver puts a simulated engine on a socket: it speaks every dialect
// of package wire, shows the pages of the engine that it imitates, goes wrong
// where it is told to, and writes down when it really wrote each event.
package simserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"redline/internal/clock"
	"redline/internal/holdup"
	"redline/internal/observe/engine"
	"redline/internal/traffic/token"
	"redline/internal/twin/faults"
	"redline/internal/twin/sim"
)

// coresPerDriver leaves room for the handlers, and for the client beside them.
const coresPerDriver = 4

// Options says what a Server serves.
type Options struct {
	// Spec names the model and holds the knobs of the answers; ServedModelName and
	// MaxModelLen must be set.
	Spec  sim.Spec
	Core  sim.Core
	Clock *clock.Clock
	// Truth receives one line per generation that was begun; nil for none.
	Truth io.Writer
	// Late takes in what is written later than the schedule has it; nil for
	// nobody.
	Late *holdup.Recorder
	// Version is what /version tells.
	Version string
	// MetricsStyle is the engine whose metrics and pages it shows, one of
	// StyleNames; "" for vLLM's.
	MetricsStyle string
	// Loading is for how long it answers that its model is not there yet.
	Loading time.Duration
}

// Server is the HTTP face of the engine: every dialect of package wire, and
// the pages beside them that vLLM's API server has. It never ends an answer
// before the length that was asked for.
type Server struct {
	spec    sim.Spec
	version string
	engine  *engine.Engine // as which it shows itself
	vocab   *token.Vocabulary
	meters  []*meters // of each replica
	// drivers is one for an engine, whose jobs share its steps, and several for a
	// metronome, whose jobs share nothing but the cores that write their tokens.
	drivers []*driver
	turn    atomic.Uint64 // the driver of the next job
	truth   *truthLog
	routes  map[string]route
	serial  atomic.Uint64 // the last job's id
	faults  *faults.Plan
	failing map[int]float64 // shares of errors, by engine
	book    *book           // answers to a golden set, nil for none
	active  atomic.Int64    // generations under way
	// quota is guarded by mu.
	quota   *sim.RateLimiter
	arrived atomic.Uint64 // generations asked for
	latest  atomic.Pointer[string]
	doomed  sync.Map  // connections to close once they are idle
	created int64     // Unix seconds, for /v1/models
	loaded  time.Time // when the model is there

	http     http.Server
	stopping chan struct{} // closed when Close begins
	close    sync.Once
	closeErr error
	mu       sync.Mutex
	closed   bool
	ongoing  sync.WaitGroup // handlers and connections
}

type route struct {
	method string
	serve  http.HandlerFunc
}

// NewServer starts the goroutine that owns the core. Close ends it.
func NewServer(o Options) (*Server, error) {
	switch {
	case o.Core == nil || o.Clock == nil:
		return nil, errors.New("sim: a server needs a core and a clock")
	case o.Spec.ServedModelName == "":
		return nil, errors.New("sim: a server needs a model name")
	case o.Spec.MaxModelLen < 2:
		return nil, fmt.Errorf("sim: max-model-len is %d; must be at least 2, one token in and one out", o.Spec.MaxModelLen)
	case o.Spec.ReasoningTokens < 0:
		return nil, fmt.Errorf("sim: reasoning-tokens is %d; must be 0 or more", o.Spec.ReasoningTokens)
	case o.Spec.TokensPerChunk < 0:
		return nil, fmt.Errorf("sim: tokens-per-chunk is %d; must be 1 or more", o.Spec.TokensPerChunk)
	}
	faults, err := faults.NewPlan(o.Spec.Seed, o.Spec.Faults)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	known, err := openBook(o.Spec)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	shown, err := styleOf(o.MetricsStyle)
	if err != nil {
		return nil, fmt.Errorf("sim: metrics-style: %w", err)
	}
	failing, err := o.Spec.FailingShares()
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	s := &Server{
		spec:     o.Spec,
		failing:  failing,
		engine:   shown,
		faults:   faults,
		book:     known,
		quota:    sim.NewRateLimiter(o.Spec.RateLimit),
		version:  o.Version,
		vocab:    token.O200k(),
		truth:    newTruthLog(o.Truth),
		created:  time.Now().Unix(),
		loaded:   time.Now().Add(o.Loading),
		stopping: make(chan struct{}),
	}
	s.spec.TokensPerChunk = max(s.spec.TokensPerChunk, 1)
	for _, core := range sim.Spread(o.Core, runtime.GOMAXPROCS(0)/coresPerDriver) {
		d := newDriver(core, o.Clock)
		d.holdups = o.Late
		s.drivers = append(s.drivers, d)
	}
	for i := range s.drivers[0].replicas {
		s.meters = append(s.meters, newMeters(s.spec, i, s.snapshot))
	}
	s.routes = s.table()
	s.http = http.Server{Handler: s, ConnState: s.trackConn, ConnContext: func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}}
	for _, d := range s.drivers {
		go d.run(s.meters)
	}
	return s, nil
}

// table lists what is served where.
func (s *Server) table() map[string]route {
	routes := map[string]route{
		"/v1/models":          {http.MethodGet, s.serveModels},
		"/health":             {http.MethodGet, s.serveHealth},
		"/tokenize":           {http.MethodPost, s.serveTokenize},
		s.engine.Metrics.Path: {http.MethodGet, s.serveMeters},
	}
	if s.engine.Style.Series != nil {
		routes[s.engine.Metrics.Path] = route{http.MethodGet, s.serveStyle}
	}
	for path, page := range s.engine.Style.Pages {
		routes[path] = route{http.MethodGet, func(w http.ResponseWriter, _ *http.Request) {
			writeJSON(w, http.StatusOK, page(s.setup()))
		}}
	}
	if reset := s.engine.Reset; reset.Path != "" && reset.Each == "" {
		routes[reset.Path] = route{http.MethodPost, s.serveReset}
	}
	for path, spoken := range dialectsByPath(s.engine.Dialects) {
		routes[path] = route{http.MethodPost, func(w http.ResponseWriter, r *http.Request) {
			s.serveGeneration(w, r, spoken)
		}}
	}
	return routes
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		writeDetail(w, http.StatusServiceUnavailable, "Shutting down")
		return
	}
	defer s.ongoing.Done()
	if s.linger(s.spec.NetDelay, r.Context().Done()) != nil {
		panic(http.ErrAbortHandler) // nobody waits any more
	}
	if time.Now().Before(s.loaded) {
		writeDetail(w, http.StatusServiceUnavailable, "Loading model")
		return
	}
	to, known := s.routes[r.URL.Path]
	switch {
	case !known:
		writeDetail(w, http.StatusNotFound, "Not Found")
	case r.Method != to.method && (r.Method != http.MethodHead || to.method != http.MethodGet):
		w.Header().Set("Allow", to.method)
		writeDetail(w, http.StatusMethodNotAllowed, "Method Not Allowed")
	default:
		to.serve(w, r)
	}
}

// enter counts one more goroutine that Close has to wait for, unless Close has
// begun.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.ongoing.Add(1)
	return true
}

// trackConn makes Close wait for the goroutine of every connection too, whose
// last act is to report StateClosed. New ones are reported inside Serve, which
// Close waits for as well. One that slipped in while Close swept is closed here.
func (s *Server) trackConn(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.ongoing.Add(1)
		s.mu.Lock()
		closed := s.closed
		s.mu.Unlock()
		if closed {
			c.Close()
		}
	case http.StateIdle:
		if _, doomed := s.doomed.LoadAndDelete(c); doomed {
			c.Close()
		}
	case http.StateClosed, http.StateHijacked:
		s.doomed.Delete(c)
		s.ongoing.Done()
	}
}

// Serve answers on l until ctx ends or Close is called, and closes l. Close is
// needed in either case.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	if !s.enter() {
		return l.Close()
	}
	defer s.ongoing.Done()
	if s.spec.NetDelay > 0 {
		l = farListener{l, s.spec.NetDelay, &s.ongoing}
	}
	stop := context.AfterFunc(ctx, func() { s.http.Close() })
	defer stop()
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("sim: serve on %s: %w", l.Addr(), err)
}

// Close cuts every connection, waits for all that the server started, and
// tells whether the truth log is complete.
func (s *Server) Close() error {
	s.close.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		close(s.stopping)
		s.http.Close()
		s.ongoing.Wait()
		for _, d := range s.drivers {
			d.stop()
		}
		s.closeErr = s.truth.fault()
	})
	return s.closeErr
}

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"redline/internal/clock"
	"redline/internal/text"
)

// What a Scraper does unless told otherwise.
const (
	DefaultScrapeEvery = time.Second
	DefaultScrapeLimit = 2 * time.Second
)

// Fetch gets the server's metrics page.
type Fetch func(context.Context) ([]byte, error)

// ScrapeOptions says how a server is watched. Only Fetch is needed.
type ScrapeOptions struct {
	Fetch Fetch
	// Every is the time between two scrapes.
	Every time.Duration
	// Limit is how long one scrape may take.
	Limit time.Duration
	// Log receives a line for each scrape; nil for none.
	Log *Log
}

// Scraper reads a server's metrics page again and again. Whatever goes wrong
// there is data: it never ends the watch. All methods are safe for concurrent
// use.
type Scraper struct {
	ScrapeOptions
	clock  *clock.Clock
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup
	asked  chan chan struct{}
	// fetching is the answer to a fetch that is under way, nil for none.
	fetching chan fetchResult

	mu      sync.Mutex
	scrapes []Scrape
}

type fetchResult struct {
	page []byte
	err  error
}

// WatchServer scrapes at once and then regularly until Stop.
func WatchServer(c *clock.Clock, o ScrapeOptions) *Scraper {
	if o.Every <= 0 {
		o.Every = DefaultScrapeEvery
	}
	if o.Limit <= 0 {
		o.Limit = DefaultScrapeLimit
	}
	s := &Scraper{ScrapeOptions: o, clock: c, asked: make(chan chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.done.Go(s.watch)
	return s
}

func (s *Scraper) watch() {
	tick := time.NewTicker(s.Every)
	defer tick.Stop()
	s.scrape()
	for {
		select {
		case <-tick.C:
			s.scrape()
		case answered := <-s.asked:
			s.scrape()
			close(answered)
		case <-s.ctx.Done():
			return
		}
	}
}

// Now scrapes once out of turn and waits for it, so that a difference can be
// taken from an exact moment. It gives up when ctx ends.
func (s *Scraper) Now(ctx context.Context) {
	answered := make(chan struct{})
	select {
	case s.asked <- answered:
	case <-ctx.Done():
		return
	case <-s.ctx.Done():
		return
	}
	select {
	case <-answered:
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
}

// Stop ends the watch at once; a scrape under way is dropped. It may be called
// more than once.
func (s *Scraper) Stop() {
	s.cancel()
	s.done.Wait()
}

// Over gives what the server said between two offsets.
func (s *Scraper) Over(start, end int64) ServerUse {
	return ServerOver(s.Scrapes(), start, end)
}

// Scrapes gives all attempts so far, in the order of their times.
func (s *Scraper) Scrapes() []Scrape {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.scrapes)
}

// Last gives what the last page said, nil where there was none or it failed.
func (s *Scraper) Last() *Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.scrapes) == 0 {
		return nil
	}
	return s.scrapes[len(s.scrapes)-1].Reading
}

// scrape makes one attempt and keeps what came of it, unless the watch is
// stopped meanwhile.
func (s *Scraper) scrape() {
	begin := s.clock.Now()
	err := s.settle()
	var page []byte
	if err == nil {
		begin = s.clock.Now()
		page, err = s.fetch()
	}
	if s.ctx.Err() != nil {
		return
	}
	took := s.clock.Now() - begin
	one := Scrape{At: begin + took/2, Took: time.Duration(took)}
	if err != nil {
		one.Failed = text.Cut(err.Error(), maxFailure)
	} else {
		parsed := ParsePage(page)
		one.BadLines = len(parsed.Bad)
		if reading, known := parsed.Read(); known {
			one.Reading = reading
		} else {
			one.Failed = "the page has no metrics of a known engine"
		}
	}
	s.keep(one)
}

// maxFailure keeps a line of a log from growing with whatever a server
// answers.
const maxFailure = 200

// settle waits for the end of a fetch that was given up, so that a server that
// does not keep up is never asked twice at once.
func (s *Scraper) settle() error {
	if s.fetching == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.Limit)
	defer cancel()
	select {
	case <-s.fetching:
		s.fetching = nil
		return nil
	case <-ctx.Done():
		return errors.New("the scrape before has not ended")
	}
}

// fetch waits for the page no longer than the limit and the watch allow, even
// where Fetch itself does not listen to its context.
func (s *Scraper) fetch() ([]byte, error) {
	answer := make(chan fetchResult, 1)
	s.fetching = answer
	ctx, cancel := context.WithTimeout(s.ctx, s.Limit)
	defer cancel()
	go func() {
		page, err := s.Fetch(ctx)
		answer <- fetchResult{page, err}
	}()
	select {
	case f := <-answer:
		s.fetching = nil
		if errors.Is(f.err, context.DeadlineExceeded) {
			return nil, s.late()
		}
		return f.page, f.err
	case <-ctx.Done():
		return nil, s.late()
	}
}

func (s *Scraper) late() error { return fmt.Errorf("no answer within %v", s.Limit) }

func (s *Scraper) keep(one Scrape) {
	s.Log.Add(Line{At: one.At, Server: &one})
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, before := range slices.Backward(s.scrapes) {
		if before.Reading != nil && one.Reading != nil {
			one.Reading.share(before.Reading)
			break
		}
	}
	s.scrapes = append(s.scrapes, one)
}

// share lets a reading use the memory of an earlier one for what seldom
// changes, because a long run keeps thousands of them.
func (r *Reading) share(before *Reading) {
	if maps.Equal(r.Config, before.Config) {
		r.Config = before.Config
	}
	ours, theirs := r.histograms(), before.histograms()
	for i, h := range ours {
		if old := theirs[i]; h != nil && old != nil && slices.Equal(h.LE, old.LE) {
			h.LE = old.LE
		}
	}
}

func (r *Reading) histograms() [8]*Histogram {
	return [...]*Histogram{r.TTFT, r.ITL, r.Queue, r.Prefill, r.Decode, r.Inference, r.E2E, r.Transfer}
}

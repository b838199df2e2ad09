package gauge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"redline/internal/exposition"
	"redline/internal/judge/progress"
	"redline/internal/listen"
	"redline/internal/text"
)

// Publisher shows a run to monitoring while it goes on: on a page, at a collector,
// or both. It disturbs no run: a collector that does not answer is named once
// while the run goes on, and once more where it does not get the result.
type Publisher struct {
	// Version of the program, and the labels of every live gauge.
	Version string
	Labels  []exposition.Label
	// Say takes one line about what went wrong.
	Say func(format string, args ...any)

	mu     sync.Mutex
	latest []exposition.Family

	page     *http.Server
	addr     string
	receiver string
	quit     chan struct{}
	ended    sync.WaitGroup
	silent   bool // the receiver has been named
}

// Every is how often a collector is told, and patience how long it may take.
const (
	Every    = 5 * time.Second
	patience = 5 * time.Second
)

// Listen serves the page at an address; without a host that is this machine alone.
func (p *Publisher) Listen(ctx context.Context, address string) error {
	l, err := listen.Open(ctx, address)
	if err != nil {
		return err
	}
	p.addr = l.Addr().String()
	p.page = &http.Server{Handler: listen.Guard(l.Addr(), p), ReadHeaderTimeout: patience, WriteTimeout: patience}
	p.ended.Go(func() { _ = p.page.Serve(l) })
	return nil
}

// Address is where the page is.
func (p *Publisher) Address() string { return p.addr }

// ServeHTTP is the page.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metrics" {
		http.NotFound(w, r)
		return
	}
	p.mu.Lock()
	list := p.latest
	p.mu.Unlock()
	exposition.Serve(w, list)
}

// Push tells a collector every few seconds, from now on.
func (p *Publisher) Push(receiver string) {
	p.receiver, p.quit = receiver, make(chan struct{})
	p.ended.Go(func() {
		tick := time.NewTicker(Every)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.mu.Lock()
				list := p.latest
				p.mu.Unlock()
				if len(list) > 0 {
					p.complain(p.send(list))
				}
			case <-p.quit:
				return
			}
		}
	})
}

// Live takes a snapshot of the run.
func (p *Publisher) Live(s progress.Snapshot) {
	list := Live(s, p.Labels...)
	p.mu.Lock()
	p.latest = list
	p.mu.Unlock()
}

// Close tells a collector the figures of the finished run, where there are some,
// and ends the page.
func (p *Publisher) Close(final []exposition.Family) {
	if p.quit != nil {
		close(p.quit)
	}
	if p.page != nil {
		_ = p.page.Close()
	}
	p.ended.Wait()
	if p.receiver == "" || len(final) == 0 {
		return
	}
	if err := p.send(final); err != nil && p.Say != nil {
		p.Say("--otlp: %v; the figures of the result were not pushed", err)
	}
}

func (p *Publisher) complain(err error) {
	if err != nil && !p.silent && p.Say != nil {
		p.silent = true
		p.Say("--otlp: %v; the run goes on without it", err)
	}
}

// collectors are told where they are named to be, not where they would send us.
var collectors = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// send makes one request to the receiver.
func (p *Publisher) send(list []exposition.Family) error {
	body, err := OTLP(list, time.Now(), p.Version)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.receiver, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := collectors.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("%s does not answer (%s)", p.receiver, text.Line(err.Error()))
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if answer.StatusCode >= 300 {
		return fmt.Errorf("%s answers %s %s", p.receiver, answer.Status, text.Brief(text.Line(string(said))))
	}
	return nil
}

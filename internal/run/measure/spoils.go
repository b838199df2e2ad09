package measure

import (
	"slices"
	"sync"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/progress"
	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
	"redline/internal/run/assemble"
	"redline/internal/text"
)

const (
	// spoilsEvery is how often a run asks what would spoil it.
	spoilsEvery = 10 * time.Second
	// maxLatest is how many of the latest requests are asked about: enough to tell
	// a wrong length or a buffered stream, and judged in no time.
	maxLatest = 256
)

// spoils are what would spoil a run that goes on, by its latest requests.
type spoils struct {
	mu     sync.Mutex
	latest []*record.Record // the oldest is overwritten first
	next   int
	list   []string
}

func (s *spoils) add(r *record.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.latest) < maxLatest {
		s.latest = append(s.latest, r)
		return
	}
	s.latest[s.next] = r
	s.next = (s.next + 1) % maxLatest
}

func (s *spoils) records() assemble.Records {
	s.mu.Lock()
	list := slices.Clone(s.latest)
	s.mu.Unlock()
	return record.FromList(list)
}

func (s *spoils) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

// watchSpoils asks every ten seconds what would spoil the run, until the returned
// func is called. It goes to the live view and, for pages, to the telemetry log.
func (r *run) watchSpoils() (stop func()) {
	start := r.clock.Now()
	return background(func(quit <-chan struct{}) {
		tick := time.NewTicker(spoilsEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				list := r.spoilsOver(start, r.clock.Now())
				if len(list) > 0 || len(r.spoils.all()) > 0 {
					r.watched.lines().Add(telemetry.Line{At: r.clock.Now(), Spoils: &list})
				}
				r.spoils.mu.Lock()
				r.spoils.list = list
				r.spoils.mu.Unlock()
			case <-quit:
				return
			}
		}
	})
}

func (r *run) spoilsOver(start, now int64) []string {
	counts := r.target.tally().less(r.before)
	in := assemble.Run{Plan: r.Config, Records: r.spoils.records(), Start: start, End: now, Load: plannedLoad(r.Config, 0, now-start, 0),
		Evidence: validity.Evidence{Repeat: r.target.repeat, Shortage: counts.shortage}}
	held := ""
	if r.stint == nil {
		in.Client = r.client(counts, start, now)
		if share := r.watched.host.HoldupShare(heldUpOver); share >= progress.HeldUpShown {
			held = "hold-ups: this machine keeps redline from running " + text.RoughPercent(share) + " of the time, so figures are less certain"
		}
	}
	list, err := in.Spoils(r.target.facts.Tokenizer)
	if err != nil {
		return nil // the report will say why
	}
	if held != "" {
		list = append([]string{held}, list...)
	}
	return list
}

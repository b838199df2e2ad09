package crew

import (
	"cmp"

	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/holdup"
	"redline/internal/judge/result"
	"redline/internal/llm"
)

// account says what became of the requests of a worker that is lost: those on
// their way, and those that it still owed.
func (s *stint) account(m *member, w *workerNews, tell func(*record.Record)) {
	for _, rec := range w.open {
		end := *rec.Opening()
		end.Fail(&llm.Fault{Outcome: llm.Censored, At: max(w.reportedUntil, end.Begin, end.Sent, end.First), Message: "its worker was lost"})
		tell(&end)
	}
	if s.Stage.Arrivals == nil {
		return
	}
	i, until := 0, s.owedUntil()
	for offset := range s.Stage.Arrivals {
		due := s.start + offset
		if due >= until {
			return
		}
		if i%m.share.Of == m.share.Index && i > w.session {
			w.number += m.share.Of
			rec := &record.Record{ID: w.number, Session: i, Due: due}
			rec.Fail(&llm.Fault{Outcome: llm.Unsent, At: due, Message: "its worker was lost"})
			tell(rec)
		}
		i++
	}
}

// owedUntil is the time up to which workers were to send: until that was ended, but
// where the conductor was away for long, only to the planned end of the window or as
// long as they would have gone on without it.
func (s *stint) owedUntil() int64 {
	warmup := s.Stage.WarmupLimit()
	if s.Stage.Warmup != nil {
		warmup = *s.Stage.Warmup
	}
	planned := int64(0)
	if s.Stage.Duration > 0 {
		planned = s.start + int64(warmup+s.Stage.Duration)
	}
	until := cmp.Or(s.stopTime, s.Now())
	return min(until, max(planned, max(s.start, s.latestReport)+int64(silence)))
}

// Reports are what each worker says of itself.
func (s *stint) Reports() []result.Worker {
	var list []result.Worker
	for _, m := range s.members {
		h := m.link.Hello()
		w := result.Worker{Name: h.Name, Host: h.Host, Version: h.Version, Share: portion(s.Stage, m.share), Lost: m.lostReason, Clock: m.clock.clock()}
		if m.report != nil {
			w.Client, w.Shortage = m.report.Client, m.report.Shortage
		}
		list = append(list, w)
	}
	return list
}

// Watches are what each worker found of its machine's hold-ups.
func (s *stint) Watches() []holdup.Watch {
	list := make([]holdup.Watch, len(s.members))
	for i, m := range s.members {
		if m.report != nil {
			list[i] = m.report.Watch
		}
	}
	return list
}

// portion is a worker's part of a stage's load: of its requests where they are dealt
// out, of its users in a closed loop, and of its arrivals otherwise.
func portion(s *load.Stage, share load.Share) float64 {
	all := share.Of
	switch {
	case s.Plain && s.Requests > 0:
		all = s.Requests
	case s.Arrivals == nil:
		all = s.Cap
	}
	return float64(share.Part(all)) / float64(all)
}

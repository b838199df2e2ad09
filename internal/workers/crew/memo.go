package crew

import (
	"context"
	"encoding/json"
	"errors"

	"redline/internal/run/measure"
)

const memoSchema = "redline/crew/1"

// memo is what a conductor writes down of a stint, so that another can take its
// place: the batches tell the rest.
type memo struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`
	Claim  string `json:"claim"`
	Start  int64  `json:"start"`
	// Join tells whether whoever resumes has the same join token.
	Join    string       `json:"join,omitempty"`
	Workers []memoWorker `json:"workers"`
}

type memoWorker struct {
	Hello  Hello `json:"hello"`
	Origin int64 `json:"origin_ns"`
	TripNS int64 `json:"trip_ns"`
}

func (s *stint) keep() error {
	m := memo{Schema: memoSchema, Run: s.Assignment.Run, Claim: s.crew.Claim, Start: s.start, Join: s.crew.post.Mark()}
	for _, one := range s.members {
		m.Workers = append(m.Workers, memoWorker{one.link.Hello(), one.clock.used.origin, one.clock.used.trip})
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return s.Keep(append(data, '\n'))
}

// Resume makes the crew of a conductor that is gone, from what it wrote down and
// what the post has kept. Its first stint is the one that was under way.
func Resume(ctx context.Context, data []byte, post Post, link func(Hello) Link) (*Crew, error) {
	var m memo
	if json.Unmarshal(data, &m) != nil || m.Schema != memoSchema || len(m.Workers) == 0 || m.Start <= 0 {
		return nil, errors.New("it is not what a conductor of workers leaves behind")
	}
	if m.Join != post.Mark() {
		return nil, errors.New("the join token is not the one that it was started with")
	}
	if err := post.Find(ctx, m.Run); err != nil {
		return nil, err
	}
	var links []Link
	for _, w := range m.Workers {
		links = append(links, link(w.Hello))
	}
	c := newCrew(m.Claim, links, post)
	c.takeover = &m
	return c, nil
}

func (c *Crew) takeOver(e measure.Engagement) *stint {
	s := newStint(c, e, c.links)
	s.start, s.resumed = c.takeover.Start, true
	for i, w := range c.takeover.Workers {
		one := sounding{origin: w.Origin, trip: w.TripNS}
		s.members[i].clock = soundings{used: one, early: one, late: one, reads: 1}
	}
	c.takeover = nil
	return s
}

package crew

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/load"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/run/measure"
)

// TestFewerWorkersSendTheSame: where a stage has less to do than there are
// workers, or one is gone before it begins, the others offer the same load.
func TestFewerWorkersSendTheSame(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags map[string][]string
		fault *fault
		of, n int
		said  string
	}{
		{"a user for half of them", map[string][]string{"concurrency": {"2"}, "duration": {"15s"}, "workload": {"fixed(100,30)"}}, nil, 4, 2, ""},
		{"a request for half of them", map[string][]string{"concurrency": {"4"}, "requests": {"2"}, "plain": {"true"}, "warmup": {"0s"}, "workload": {"fixed(100,30)"}}, nil, 4, 2, ""},
		{"one is gone", map[string][]string{"rate": {"20"}, "duration": {"15s"}, "workload": {"fixed(100,30)"}},
			&fault{worker: 1, between: [2]time.Duration{70 * time.Millisecond, time.Hour}}, 3, 2, "worker w1: it does not answer: the load comes from 2 workers from here on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one, _, _ := together(t, 1, nil, tc.flags)
			res, _, said := together(t, tc.of, tc.fault, tc.flags)
			// Only when it began may differ: who is gone is waited for.
			// Two that begin at the same instant may come to the server in either order.
			together := tc.flags["plain"] != nil
			if got, want := res.Points[0], one.Points[0]; !together && !reflect.DeepEqual(got.Latency, want.Latency) || !reflect.DeepEqual(got.Requests, want.Requests) {
				t.Errorf("%+v, want %+v", got.Requests, want.Requests)
			}
			if len(res.Workers) != tc.n {
				t.Errorf("%d workers took part, want %d", len(res.Workers), tc.n)
			}
			if !strings.Contains(strings.Join(said, "\n"), tc.said) {
				t.Errorf("said %q, want %q", said, tc.said)
			}
			if kept := func(w result.Warning) bool { return w.Text == tc.said }; tc.said != "" && !slices.ContainsFunc(res.Warnings, kept) {
				t.Errorf("the result does not keep it: %v", res.Warnings)
			}
		})
	}
}

// hanging is a link over which somebody stops the run while it answers.
type hanging struct {
	wire
	asked int
	stop  func()
}

func (h *hanging) Ask(_ context.Context, q Question) (Answer, error) {
	if q.Clock {
		h.asked++
	}
	if h.asked == soundedBefore {
		h.stop()
	}
	return Answer{Now: 1}, nil
}

// TestStoppedWhileItMusters: whoever stops a run just after the last worker has
// answered gets no stint.
func TestStoppedWhileItMusters(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := &Crew{links: []Link{&hanging{stop: stop}}}
	s, err := c.Engage(ctx, measure.Engagement{Now: func() int64 { return 1 }, Stage: &load.Stage{}})
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
}

// TestALostWorkerSendsNoOldLoad: one that was cut off while a stage ended sends its
// load no longer than until it can be told, whether the next stage finds it or not.
func TestALostWorkerSendsNoOldLoad(t *testing.T) {
	for _, late := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var cut atomic.Bool
			cut.Store(late)
			var links []Link
			var workers []*Worker
			for i := range 2 {
				w := &Worker{Clock: clock.Virtual()}
				l := &wire{hello: Hello{ID: fmt.Sprint(i), Name: fmt.Sprintf("w%d", i)}, worker: w}
				if i == 1 {
					l.cut = cut.Load
				}
				w.Answer(t.Context(), Question{Claim: "one"})
				links, workers = append(links, l), append(workers, w)
			}
			w := workers[1]
			old := idleJob(nil)
			w.job = old
			ordered := make(chan load.Order, 1)
			go func() {
				ordered <- <-old.orders
				close(old.ended)
			}()
			c := New("one", links, &memory{})
			must.Get(c.muster(t.Context(), measure.Engagement{Now: clock.Virtual().Now, Say: t.Logf, Warn: t.Logf}))(t)
			if late {
				cut.Store(false)
				time.Sleep(attendEvery + 2*soundEvery)
			}
			synctest.Wait()
			select {
			case o := <-ordered:
				if !o.End || !o.Stopped {
					t.Errorf("ordered %+v", o)
				}
			default:
				t.Error("it goes on with the load of the stage before")
			}
			if free := w.Owner() == ""; free != late {
				t.Errorf("parted with: %v, free: %v", late, free)
			}
			// Another conductor may have it then, and keeps it.
			if a := w.Answer(t.Context(), Question{Claim: "two"}); (a.Refused == "") != late {
				t.Errorf("a claim of another: %q", a.Refused)
			}
			time.Sleep(silence / 2)
			if c.Release(); late && w.Owner() != "two" || !late && w.Owner() != "" || workers[0].Owner() != "" {
				t.Errorf("after the run: %q and %q", workers[0].Owner(), w.Owner())
			}
		})
	}
}

// TestSharesAreThoseOfTheLoad: users and requests that cannot be divided evenly are
// not said to be.
func TestSharesAreThoseOfTheLoad(t *testing.T) {
	arrivals := func(func(int64) bool) {}
	for _, tc := range []struct {
		stage load.Stage
		want  []float64
	}{
		{load.Stage{Cap: 3}, []float64{2. / 3, 1. / 3}},
		{load.Stage{Cap: 4, Requests: 9}, []float64{0.5, 0.5}},
		{load.Stage{Cap: 4, Requests: 5, Plain: true}, []float64{0.6, 0.4}},
		{load.Stage{Arrivals: arrivals, Cap: 3}, []float64{0.5, 0.5}},
	} {
		s := newStint(&Crew{}, measure.Engagement{Stage: &tc.stage}, []Link{&wire{}, &wire{}})
		var got []float64
		for _, w := range s.Reports() {
			got = append(got, w.Share)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%+v: the workers have %v of the load, want %v", tc.stage, got, tc.want)
		}
	}
}

// punctual is a link that notes how much time it is given until the begin.
type punctual struct {
	wire
	now  func() int64
	left int64
}

func (p *punctual) Ask(_ context.Context, q Question) (Answer, error) {
	if q.Start != 0 {
		p.left = q.Start - p.now()
	}
	return Answer{}, nil
}

// TestASlowDiskDelaysTheBegin: workers are told in time when to begin, however long
// it takes to write that down, and what is written down is what they are told.
func TestASlowDiskDelaysTheBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.Virtual().Now
		l := &punctual{now: now}
		var kept memo
		e := measure.Engagement{Now: now, Keep: func(data []byte) error {
			time.Sleep(3 * lead)
			return json.Unmarshal(data, &kept)
		}}
		s := newStint(&Crew{post: &memory{takes: map[string]func(*Batch){}}}, e, []Link{l})
		start := must.Get(s.Begin())(t)
		if s.end(); l.left < int64(lead)/2 || kept.Start != start {
			t.Errorf("told %v ahead; begin at %d, written down %d", time.Duration(l.left), start, kept.Start)
		}
	})
}

// TestWorkersHaveNamesOfTheirOwn: several of one machine, which are called as it is by
// default, can be told apart, also from one whose name was given.
func TestWorkersHaveNamesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var links []Link
		for i, name := range []string{"h", "alone", "h", "h-2", "h"} {
			w := &Worker{Clock: clock.Virtual()}
			w.Answer(t.Context(), Question{Claim: "one"})
			links = append(links, &wire{hello: Hello{ID: fmt.Sprint(i), Name: name, Host: "h"}, worker: w})
		}
		c := New("one", links, &memory{})
		defer c.Release()
		var got []string
		for _, l := range c.links {
			got = append(got, l.Hello().ID+" "+l.Hello().Name)
		}
		if want := []string{"1 alone", "0 h-1", "2 h-3", "4 h-4", "3 h-2"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

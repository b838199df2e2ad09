package crew

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/load"
	"redline/internal/drive/record"
	"redline/internal/run/measure"
)

// TestNobodyElseIsObeyed: a conductor that was away for so long that another has
// its worker cannot take it back, nor end what it does.
func TestNobodyElseIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{Clock: clock.Virtual()}
		ask := func(q Question) string { return w.Answer(t.Context(), q).Refused }
		if got := ask(Question{From: "one", Clock: true}); !strings.Contains(got, "released") {
			t.Errorf("nobody's worker says %q", got)
		}
		for _, q := range []Question{{Claim: "one"}, {From: "one", Clock: true}, {Claim: "one"}} {
			if got := ask(q); got != "" {
				t.Errorf("%+v: %q", q, got)
			}
		}
		time.Sleep(silence - time.Second)
		if got := ask(Question{Claim: "two"}); got != "it works for one" || w.Owner() == "" {
			t.Errorf("a second claim: %q", got)
		}
		time.Sleep(2 * time.Second) // a claim that was refused is no word of its conductor
		if got := ask(Question{Claim: "two"}); got != "" {
			t.Errorf("a claim after a silence: %q", got)
		}
		for _, q := range []Question{{From: "one", Clock: true}, {From: "one", Release: true}, {Clock: true}} {
			if got := ask(q); got != "it works for two" {
				t.Errorf("%+v: %q", q, got)
			}
		}
		if got := ask(Question{From: "two", Release: true}); got != "" || w.Owner() != "" {
			t.Errorf("released: %q, owned by %q", got, w.Owner())
		}
	})
}

// TestAClaimRevivesNoLoad: what a conductor that is gone had started ends, also where
// the next one claims the worker before that was noticed.
func TestAClaimRevivesNoLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{Clock: clock.Virtual()}
		w.Answer(t.Context(), Question{Claim: "one"})
		j := idleJob(&pile{until: 1 << 20})
		j.worker, j.owner, j.clock = w, "one", w.Clock
		stop := make(chan struct{})
		var beats sync.WaitGroup
		beats.Go(func() { j.beat(stop) })
		time.Sleep(silence + beat/2) // between two beats
		if why := j.endReason(); why != "" {
			t.Fatalf("ended before: %s", why)
		}
		if a := w.Answer(t.Context(), Question{Claim: "two"}); a.Refused != "" {
			t.Fatal(a.Refused)
		}
		time.Sleep(beat)
		if o := len(j.orders); o != 1 || j.endReason() == "" {
			t.Errorf("%d orders, ended by %q", o, j.endReason())
		}
		close(stop)
		beats.Wait()
	})
}

// TestASuspendedConductorLosesNobody: after a pause of its own it reads what the
// workers told meanwhile, before it counts any of them as lost.
func TestASuspendedConductorLosesNobody(t *testing.T) {
	now := int64(time.Second)
	e := measure.Engagement{Now: func() int64 { return now }, Say: func(format string, args ...any) { t.Logf(format, args...) }}
	c := &Crew{links: []Link{&wire{hello: Hello{Name: "w0"}}}}
	s := newStint(c, e, c.links)
	s.members[0].lastBatch = now
	pass := func(d time.Duration) bool {
		now += int64(d)
		s.look()
		return s.isOver()
	}
	if pass(time.Second) || pass(time.Hour) {
		t.Error("a worker is lost that was not waited for")
	}
	for range int(silence/time.Second) + 1 {
		pass(time.Second)
	}
	if !s.isOver() || s.members[0].lostReason == "" {
		t.Error("a worker that says nothing is not lost")
	}
}

// TestAPauseIsNoCredit: a worker that was heard after the conductor's pause has no
// more patience than any other.
func TestAPauseIsNoCredit(t *testing.T) {
	now := int64(time.Second)
	e := measure.Engagement{Now: func() int64 { return now }, Say: t.Logf}
	c := &Crew{links: []Link{&wire{hello: Hello{Name: "w0"}}}}
	s := newStint(c, e, c.links)
	s.look()
	now += int64(time.Hour)
	s.add(&Batch{Seq: 1, Known: now}) // before the first look
	s.look()
	for range int(silence/time.Second) + 1 {
		now += int64(time.Second)
		s.look()
	}
	if !s.isOver() {
		t.Errorf("a worker that died just after is expected for another %v", time.Duration(s.members[0].lastBatch-now)+silence)
	}
}

// TestALostWorkerIsNotBack: one that is lost comes back by what it says alone, not
// because the others end.
func TestALostWorkerIsNotBack(t *testing.T) {
	now := int64(time.Second)
	var said []string
	e := measure.Engagement{Now: func() int64 { return now }, Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	c := &Crew{links: []Link{&wire{hello: Hello{Name: "w0"}}, &wire{hello: Hello{Name: "w1"}}}}
	s := newStint(c, e, c.links)
	for range int(lossAfter/time.Second) + 2 {
		now += int64(time.Second)
		s.members[1].lastBatch = now
		s.look()
	}
	s.members[1].report = &Report{}
	for range int(absentAfter/time.Second) + 2 {
		now += int64(time.Second)
		s.look()
	}
	if !s.isOver() || len(said) != 1 || !strings.Contains(said[0], "worker w0 is lost") {
		t.Errorf("over %v, said %q", s.isOver(), said)
	}
	s.members[0].lastBatch = now
	if s.look(); s.isOver() || len(said) != 2 || said[1] != "worker w0 is back" {
		t.Errorf("over %v, said %q", s.isOver(), said)
	}
}

// TestIdleWorkersStayClaimed: stages may lie minutes apart.
func TestIdleWorkersStayClaimed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &Worker{Clock: clock.Virtual()}
		l := &wire{hello: Hello{ID: "0", Name: "w0"}, worker: w}
		if a := w.Answer(t.Context(), Question{Claim: "one"}); a.Refused != "" {
			t.Fatal(a.Refused)
		}
		c := New("one", []Link{l}, &memory{})
		time.Sleep(10 * silence)
		if w.Owner() == "" {
			t.Error("it is free although its conductor is there")
		}
		c.Release()
		if w.Owner() != "" {
			t.Error("it is not free although it was released")
		}
	})
}

// TestAServantEndsWithItsConductor: by its word, or by its silence; and waits for
// the first one as long as it takes.
func TestAServantEndsWithItsConductor(t *testing.T) {
	for _, released := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := &Worker{Clock: clock.New()}
			began := time.Now()
			over := make(chan time.Duration, 1)
			go func() {
				w.Serve(t.Context())
				over <- time.Since(began)
			}()
			time.Sleep(time.Hour)
			if got := w.Answer(t.Context(), Question{Claim: "one"}); got.Refused != "" {
				t.Fatal(got.Refused)
			}
			if released {
				w.Answer(t.Context(), Question{From: "one", Release: true})
			}
			least := time.Hour
			if !released {
				least += silence + flushWait
			}
			if took := <-over; took < least || took > least+2*time.Second {
				t.Errorf("released %v: ended after %v", released, took)
			}
		})
	}
}

// TestALateConductorOwesNoMore: whoever takes over after hours accounts for what was
// owed until the window's end, or until the workers gave up, not for what would have
// been due since.
func TestALateConductorOwesNoMore(t *testing.T) {
	const gap = int64(time.Second) / 100
	stage := func(duration time.Duration) *load.Stage {
		return &load.Stage{Warmup: new(10 * time.Second), Duration: duration, Arrivals: func(yield func(int64) bool) {
			for at := int64(0); yield(at); at += gap {
			}
		}}
	}
	begun := int64(time.Hour)
	for _, tc := range []struct {
		name   string
		stage  *load.Stage
		known  time.Duration // when the workers were last heard of, from the begin
		halted time.Duration
		want   time.Duration
	}{
		{"in time", stage(time.Minute), 40 * time.Second, 50 * time.Second, 50 * time.Second},
		{"late, in the window", stage(time.Minute), 20 * time.Second, 12 * time.Hour, 70 * time.Second},
		{"late, after the window", stage(time.Minute), 65 * time.Second, 12 * time.Hour, 65*time.Second + silence},
		{"late, no planned end", stage(0), 20 * time.Second, 12 * time.Hour, 20*time.Second + silence},
	} {
		s := newStint(&Crew{}, measure.Engagement{Stage: tc.stage, Now: func() int64 { return begun }}, []Link{&wire{}})
		s.start, s.stopTime = begun, begun+int64(tc.halted)
		s.add(&Batch{Seq: 1, Known: begun + int64(tc.known)})
		n := int64(0)
		s.account(s.members[0], s.merge.workers[0], func(*record.Record) { n++ })
		if want := int64(tc.want) / gap; n != want {
			t.Errorf("%s: %d requests unsent, want %d", tc.name, n, want)
		}
	}
}

// TestNobodyWaitsForTheSilent: once the user has stopped a run, workers that say
// nothing neither delay its end nor that of the command; one that does is heard out.
func TestNobodyWaitsForTheSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := clock.Virtual().Now
		gone := &wire{hello: Hello{ID: "0", Name: "w0"}, cut: func() bool { return true }}
		there := &wire{hello: Hello{ID: "1", Name: "w1"}, worker: &Worker{Clock: clock.Virtual()}}
		there.worker.Answer(t.Context(), Question{Claim: "one"})
		c := New("one", []Link{gone, there}, &memory{})
		said := 0
		s := newStint(c, measure.Engagement{Now: now, Stage: &load.Stage{Cap: 2}, Say: func(string, ...any) { said++ }}, c.links)
		s.end = func() {}
		go func() {
			for seq := range uint64(40) { // it ends, but takes its time
				s.in <- &Batch{Worker: 1, Seq: seq + 1, Known: now()}
				time.Sleep(beat)
			}
			s.in <- &Batch{Worker: 1, Seq: 41, Known: now(), Done: &Report{}}
		}()
		stopped := now()
		s.Order(load.Order{Halt: true, End: true, Stopped: true})
		s.News(func(load.News) {})
		if took := time.Duration(now() - stopped); took > 40*beat+stoppedWait {
			t.Errorf("the run ended %v after it was stopped", took)
		}
		if r := s.Reports(); r[0].Lost == "" || r[1].Lost != "" || said != 1 {
			t.Errorf("lost: %q and %q, said in %d lines", r[0].Lost, r[1].Lost, said)
		}
		over := now()
		if c.Release(); time.Duration(now()-over) > stoppedWait || there.worker.Owner() != "" {
			t.Errorf("released after %v, owner %q", time.Duration(now()-over), there.worker.Owner())
		}
	})
}

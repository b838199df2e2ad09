package simserver

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/twin/sim"
)

// scribe is a core that wants a step every ten milliseconds and writes down
// what it is told.
type scribe struct {
	told []string
	next int64
}

func (s *scribe) tell(now int64, what string, args ...any) {
	s.told = append(s.told, fmt.Sprintf("%v ", time.Duration(now))+fmt.Sprintf(what, args...))
}

func (s *scribe) Submit(now int64, j *sim.Job) error {
	if j.Output == 0 {
		return errors.New("nothing asked for")
	}
	s.tell(now, "submit %d", j.ID)
	return nil
}

func (s *scribe) Cancel(now int64, id uint64) { s.tell(now, "cancel %d", id) }

func (s *scribe) Step(now int64, _ func(sim.Token)) int64 {
	if now >= s.next {
		s.tell(now, "step")
		s.next = now + int64(10*time.Millisecond)
	}
	return s.next
}

func (s *scribe) Stats() sim.Stats { return sim.Stats{} }

// TestDriverKeepsTheCoresTime gives orders at odd times, also within the last
// stretch of a sleep: each reaches the core with its own time, steps are made
// exactly when they are due, and time never goes back.
func TestDriverKeepsTheCoresTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core := &scribe{}
		d := newDriver(core, clock.Virtual())
		go d.run([]*meters{newMeters(sim.Spec{ServedModelName: "m", MaxModelLen: 8}, 0, d.snapshot)})
		flights := map[uint64]*flight{}
		submit := func(id uint64, output int) {
			flights[id] = &flight{job: sim.Job{ID: id, Output: output}}
			d.submit(flights[id])
		}
		time.Sleep(5 * time.Millisecond)
		submit(1, 4)
		time.Sleep(9 * time.Millisecond)
		submit(2, 4)
		submit(3, 0)
		time.Sleep(4 * time.Millisecond)
		d.cancel(flights[1])
		d.cancel(flights[1])
		time.Sleep(8 * time.Millisecond)
		d.stop()
		want := []string{"5ms submit 1", "5ms step", "14ms submit 2", "15ms step", "18ms cancel 1", "25ms step"}
		expect.NoDiff(t, cmp.Diff(want, core.told), "the core was told (-want +got)")
		if err := flights[3].box.read().refused; err == nil {
			t.Error("the refused job was not told so")
		}
	})
}

func TestLateness(t *testing.T) {
	t.Parallel()
	s := &Server{drivers: []*driver{newDriver(&scribe{}, clock.New()), newDriver(&scribe{}, clock.New())}}
	for _, d := range s.drivers {
		d.meters = []*meters{newMeters(sim.Spec{MaxModelLen: 8}, 0, s.snapshot)}
	}
	expect.NoDiff(t, cmp.Diff(Lateness{}, s.lateness()), "before any step (-want +got)")
	for i := range 1000 {
		s.drivers[i%2].noteLateness(int64(i) * 1000)
	}
	s.drivers[1].noteLateness(int64(time.Hour))
	got := s.lateness()
	if got.Steps != 1001 || got.Max != time.Hour {
		t.Errorf("got %+v, want 1001 steps and at most an hour", got)
	}
	if got.P99 < 989*time.Microsecond || got.P99 > 992*time.Microsecond {
		t.Errorf("p99 of 0 to 999 µs is %v", got.P99)
	}
}

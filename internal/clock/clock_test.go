package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestSleepUntilNeverReturnsEarly(t *testing.T) {
	c := New()
	for _, d := range []time.Duration{-time.Second, 0, 20 * time.Microsecond, time.Millisecond, 7 * time.Millisecond} {
		offset := c.Now() + int64(d)
		if c.SleepUntil(offset, nil) {
			t.Errorf("sleep of %v was woken, with nothing to wake it", d)
		}
		if now := c.Now(); now < offset {
			t.Errorf("sleep of %v ended %d ns early", d, offset-now)
		}
		offset = c.Now() + int64(d)
		c.SleepPast(offset, nil)
		if now := c.Now(); now < offset {
			t.Errorf("rough sleep of %v ended %d ns early", d, offset-now)
		}
	}
}

func TestVirtualSleepIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Virtual()
		for _, offset := range []time.Duration{time.Microsecond, time.Second, time.Hour} {
			c.SleepUntil(int64(offset), nil)
			if got := time.Duration(c.Now()); got != offset {
				t.Errorf("woke at %v, want %v", got, offset)
			}
		}
	})
}

func TestWakeEndsASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Virtual()
		wake := make(chan struct{})
		go func() {
			time.Sleep(time.Second)
			wake <- struct{}{}
		}()
		if !c.SleepUntil(int64(time.Hour), wake) {
			t.Error("the sleep was not woken")
		}
		if got := time.Duration(c.Now()); got != time.Second {
			t.Errorf("woke at %v, want 1s", got)
		}
	})
}

func TestRealStampsMapToOffsets(t *testing.T) {
	c := New()
	before := c.Now()
	stamp := time.Now().UnixNano()
	after := c.Now()
	// The two clocks are read one after the other, so allow what a busy
	// machine can put between two instructions.
	const slack = int64(time.Millisecond)
	if got := c.FromReal(stamp); got < before-slack || got > after+slack {
		t.Errorf("a stamp between %d and %d maps to %d", before, after, got)
	}
}

func TestReanchorSeesAStep(t *testing.T) {
	c := New()
	c.Step(5 * time.Second)
	c.Reanchor()
	if got := c.MaxStep().Round(time.Second); got != 5*time.Second {
		t.Errorf("largest step %v, want 5s", got)
	}
	stamp := time.Now()
	if got := c.FromReal(stamp.UnixNano()) - int64(stamp.Sub(c.origin)); got > int64(time.Millisecond) || got < -int64(time.Millisecond) {
		t.Errorf("after the step a stamp is off by %d ns", got)
	}
}

// TestOldStepsStayBehind: a clock that begins later has nothing to do with what the
// real-time clock did before.
func TestOldStepsStayBehind(t *testing.T) {
	c := New()
	c.anchor.Add(-int64(5 * time.Second))
	later := c.From(1000)
	later.Reanchor()
	if got := later.MaxStep().Round(time.Second); got != 0 {
		t.Errorf("largest step %v, want none", got)
	}
	stamp := time.Now()
	if got := later.FromReal(stamp.UnixNano()) + 1000 - int64(stamp.Sub(c.origin)); got > int64(time.Millisecond) || got < -int64(time.Millisecond) {
		t.Errorf("a stamp is off by %d ns", got)
	}
}

package workload

import (
	"testing"
	"time"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	if c := newWorkload(t, "chat", 1).Conversation(); c != nil {
		t.Errorf("sessions of one request: %+v", c)
	}
	c := newWorkload(t, "multi_turn_chat", 1).Conversation()
	// Two to eight turns, each equally likely.
	if c == nil || c.Turns < 4.7 || c.Turns > 5.3 {
		t.Fatalf("%+v, want about five turns", c)
	}
	instant, slow := c.SettleTime(0), c.SettleTime(10*time.Second)
	// The last of seven pauses of eleven seconds each comes after 77 s; with
	// shorter sessions among them, nineteen in twenty turns are due before that.
	if instant < 40*time.Second || instant > 90*time.Second {
		t.Errorf("turns settle in %v, where replies take no time", instant)
	}
	if grown := slow - instant; grown < 20*time.Second || grown > 70*time.Second {
		t.Errorf("replies of 10 s make that %v longer, want two to seven of them", grown)
	}
}

func TestShareOfTurnsInAWindow(t *testing.T) {
	t.Parallel()
	// A first turn, one a minute behind it, and one at three minutes by its user or
	// by the reply before, whichever takes longer.
	c := &Conversation{turns: []laterTurn{{}, {before: 1, think: time.Minute}, {before: 2, think: 3 * time.Minute, paced: true}}}
	for _, row := range []struct {
		warmup, e2e time.Duration
		want        float64
	}{
		{0, 0, (1 + 0.5 + 0) / 3},
		{time.Minute, 0, (1 + 1 + 0) / 3.0},
		{2 * time.Minute, 0, (1 + 1 + 0.5) / 3},
		{2 * time.Minute, 105 * time.Second, (1 + 0.625 + 0.25) / 3},
	} {
		if got := c.ShareIn(row.warmup, 2*time.Minute, row.e2e); got < row.want-1e-9 || got > row.want+1e-9 {
			t.Errorf("behind %v, with replies of %v: %g of the turns, want %g", row.warmup, row.e2e, got, row.want)
		}
	}
}

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

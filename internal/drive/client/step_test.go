package client

import (
	"io"
	"net"
	"testing"
	"time"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

// A step of the real-time clock, on which the kernel stamps, moves no event out of
// its order, before its request or into the future.
func TestAStepOfTheClockMovesNoEvent(t *testing.T) {
	t.Parallel()
	for _, by := range []time.Duration{5 * time.Second, -5 * time.Second, time.Hour, -time.Hour} {
		next := make(chan struct{})
		url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
			_, err := io.WriteString(c, chunkedHead)
			for range 4 {
				if err == nil {
					_, err = io.WriteString(c, chunk(hello))
				}
				<-next
			}
			_, err = io.WriteString(c, chunk("data: [DONE]\n\n")+"0\r\n\r\n")
			return err == nil
		})
		k := clock.New()
		c := must.Get(New(Spec{URLs: []string{url}}, Options{Clock: k}))(t)
		outputs := 0
		var last int64
		events, fault := collect(t, t.Context(), c, requestOf(true), func(ev llm.Event) {
			if ev.Kind != llm.Output {
				return
			}
			if outputs++; outputs == 2 {
				k.Step(by)
			}
			next <- struct{}{}
		})
		if fault != nil || outputs != 4 {
			t.Fatalf("step of %v: %d outputs, %v", by, outputs, fault)
		}
		for _, ev := range events {
			if ev.At < last || ev.At > k.Now() {
				t.Errorf("step of %v: event %v at %d, after one at %d, now %d", by, ev.Kind, ev.At, last, k.Now())
			}
			if ev.Kind != llm.Written { // which may be noted after the reply has arrived
				last = max(last, ev.At)
			}
		}
		c.Close()
	}
}

package client

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestVirtualTime: in virtual time every stamp is exact. The server thinks for
// 300 ms and then sends an event every 20 ms; the second request, on the kept
// connection, begins a second after the first has ended.
func TestVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := must.Get(New(Spec{URLs: []string{"http://pipe"}}, Options{Clock: clock.Virtual(), Dial: pipeTo(func(server net.Conn) {
			converse(server, 0, func(net.Conn, int, int) bool {
				_, _ = io.WriteString(server, chunkedHead)
				time.Sleep(300 * time.Millisecond)
				for _, part := range []string{role + hello, bang, hello} {
					time.Sleep(20 * time.Millisecond)
					_, _ = io.WriteString(server, chunk(part))
				}
				_, err := io.WriteString(server, inChunks(done))
				return err == nil
			})
		})}))(t)
		const ms = int64(time.Millisecond)
		events, fault := collect(t, t.Context(), c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "stamps", stamps(events), []stamp{{llm.Dialed, 0}, {llm.Ready, 0}, {llm.Sent, 0}, {llm.Written, 0},
			{llm.Head, 0}, {llm.Output, 320 * ms}, {llm.Output, 340 * ms}, {llm.Output, 360 * ms}, {llm.End, 360 * ms}})
		time.Sleep(time.Second)
		events, fault = collect(t, t.Context(), c, requestOf(true), nil)
		equal(t, "fault", fault, (*llm.Fault)(nil))
		equal(t, "stamps", stamps(events), []stamp{{llm.Ready, 1360 * ms}, {llm.Sent, 1360 * ms}, {llm.Written, 1360 * ms},
			{llm.Head, 1360 * ms}, {llm.Output, 1680 * ms}, {llm.Output, 1700 * ms}, {llm.Output, 1720 * ms}, {llm.End, 1720 * ms}})
		c.Close()
	})
}

// TestVirtualTimeout: the limit counts from the request, not from the last
// byte.
func TestVirtualTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := must.Get(New(Spec{URLs: []string{"http://pipe"}, Timeouts: Timeouts{Total: time.Minute}}, Options{Clock: clock.Virtual(), Dial: pipeTo(func(server net.Conn) {
			converse(server, 0, func(net.Conn, int, int) bool {
				_, err := io.WriteString(server, chunkedHead)
				for err == nil {
					time.Sleep(7 * time.Second)
					_, err = io.WriteString(server, chunk(hello))
				}
				return false
			})
		})}))(t)
		events, fault := collect(t, t.Context(), c, requestOf(true), nil)
		equal(t, "fault", fault, &llm.Fault{Outcome: llm.Timeout, At: int64(time.Minute),
			Message: "not finished within 1m0s: raise --timeout if that is no fault"})
		equal(t, "last event", stamps(events[len(events)-1:]), []stamp{{llm.Output, int64(56 * time.Second)}})
		c.Close()
		time.Sleep(time.Minute) // the server sees that nobody is there
	})
}

// TestLateEnd: a body that does not end soon after its stream costs the
// connection and a moment, not the request.
func TestLateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := clock.Virtual()
		c := must.Get(New(Spec{URLs: []string{"http://pipe"}}, Options{Clock: k, Dial: pipeTo(func(server net.Conn) {
			converse(server, 0, func(net.Conn, int, int) bool {
				_, err := io.WriteString(server, chunkedHead+chunk(greeting))
				time.Sleep(time.Hour)
				return err == nil
			})
		})}))(t)
		for i := range int64(2) {
			events, fault := collect(t, t.Context(), c, requestOf(true), nil)
			equal(t, "fault", fault, (*llm.Fault)(nil))
			equal(t, "kinds", kinds(events), greetingOnNew)
			equal(t, "time passed", k.Now(), (i+1)*int64(closing))
		}
		c.Close()
		time.Sleep(2 * time.Hour) // the server sees that nobody is there
	})
}

type stamp struct {
	Kind llm.EventKind
	At   int64
}

func stamps(events []llm.Event) (list []stamp) {
	for _, ev := range events {
		list = append(list, stamp{ev.Kind, ev.At})
	}
	return list
}

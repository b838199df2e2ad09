package client

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/llm"
	"redline/internal/must"
)

// beat is something that a server sends after a while.
type beat struct {
	after time.Duration
	sends string
}

// plays answers one request with beats and then says nothing until it is left.
func plays(beats []beat) func(net.Conn) {
	return func(server net.Conn) {
		converse(server, 0, func(c net.Conn, _, _ int) bool {
			for _, b := range beats {
				time.Sleep(b.after)
				if _, err := io.WriteString(c, b.sends); err != nil {
					return false
				}
			}
			_, _ = c.Read(make([]byte, 1))
			return false
		})
	}
}

const (
	wholeReply = `{"choices":[{"message":{"role":"assistant","content":"Hello"}}]}`
	s          = time.Second
)

// TestTimeLimits: when a server falls silent, which limit ends the request, and
// exactly when.
func TestTimeLimits(t *testing.T) {
	whole := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(wholeReply), wholeReply)
	const (
		header = "no reply within 5s: raise --header-timeout if that is no fault"
		first  = "no output within 8s: raise --first-token-timeout if that is no fault"
		idle   = "silent for 5s in mid stream: raise --idle-timeout if that is no fault"
		total  = "not finished within 20s: raise --timeout if that is no fault"
	)
	for _, tc := range []struct {
		name    string
		limits  Timeouts
		beats   []beat
		unasked bool // not streamed
		want    string
		at      time.Duration
	}{
		{"no reply", Timeouts{Header: 5 * s}, nil, false, header, 5 * s},
		{"half a head", Timeouts{Header: 5 * s}, []beat{{3 * s, "HTTP/1.1 200 OK\r\n"}}, false, header, 5 * s},
		{"a head in time", Timeouts{Header: 5 * s, FirstToken: 8 * s}, []beat{{4 * s, chunkedHead}}, false, first, 8 * s},
		{"no reply and no output", Timeouts{Header: 10 * s, FirstToken: 8 * s}, nil, false, first, 8 * s},
		{"nothing but signs of life", Timeouts{FirstToken: 8 * s, Idle: 5 * s},
			[]beat{{1 * s, chunkedHead}, {5 * s, chunk(role)}, {1 * s, chunk(": ping\n\n")}}, false, first, 8 * s},
		{"silence in mid stream", Timeouts{FirstToken: 8 * s, Idle: 5 * s},
			[]beat{{1 * s, chunkedHead + chunk(hello)}, {2 * s, chunk(bang)}, {4 * s, chunk(bang)}}, false, idle, 12 * s},
		{"silence after the first output", Timeouts{Idle: 5 * s}, []beat{{7 * s, chunkedHead + chunk(role+hello)}}, false, idle, 12 * s},
		{"a ping breaks the silence", Timeouts{Idle: 5 * s},
			[]beat{{1 * s, chunkedHead + chunk(hello)}, {4 * s, chunk(": ping\n\n")}}, false, idle, 10 * s},
		{"a stream that never ends", Timeouts{Idle: 5 * s, Total: 20 * s},
			[]beat{{1 * s, chunkedHead + chunk(hello)}, {4 * s, chunk(bang)}, {4 * s, chunk(bang)}, {4 * s, chunk(bang)},
				{4 * s, chunk(bang)}, {4 * s, chunk(bang)}}, false, total, 20 * s},
		{"silence before the first output", Timeouts{Idle: 5 * s}, []beat{{1 * s, chunkedHead}, {30 * s, inChunks(greeting)}}, false, "", 31 * s},
		{"a whole reply in time", Timeouts{FirstToken: 8 * s, Idle: 5 * s, Total: 20 * s}, []beat{{15 * s, whole}}, true, "", 15 * s},
		{"a whole reply too late", Timeouts{Header: 5 * s}, []beat{{6 * s, whole}}, true, header, 5 * s},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/secure=%t", tc.name, secure), func(t *testing.T) {
				server, url := plays(tc.beats), "http://pipe"
				if secure {
					server, url = behindTLS(t, server), "https://pipe"
				}
				synctest.Test(t, func(t *testing.T) {
					k := clock.Virtual()
					c := must.Get(New(Spec{URLs: []string{url}, Timeouts: tc.limits, TLS: TLS{Insecure: true}}, Options{Clock: k, Dial: pipeTo(server)}))(t)
					_, fault := collect(t, t.Context(), c, requestOf(!tc.unasked), nil)
					var want *llm.Fault
					if tc.want != "" {
						want = &llm.Fault{Outcome: llm.Timeout, At: int64(tc.at), Message: tc.want}
					}
					equal(t, "fault", fault, want)
					equal(t, "time passed", time.Duration(k.Now()), tc.at)
					c.Close()
					time.Sleep(time.Minute) // the server sees that nobody is there
				})
			})
		}
	}
}

// behindTLS puts a server behind a certificate of its own.
func behindTLS(t *testing.T, server func(net.Conn)) func(net.Conn) {
	t.Helper()
	file := clientCertificate(t)
	pair := must.Get(tls.LoadX509KeyPair(file, file))(t)
	return func(c net.Conn) {
		secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{pair}})
		server(secure)
		_ = secure.Close()
	}
}

// TestLimitAfterAnotherForm: a request that is asked again in another form is
// bounded too, from its new beginning.
func TestLimitAfterAnotherForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := `{"error":{"message":"Unrecognized request argument supplied: stream_options"}}`
		c := must.Get(New(Spec{URLs: []string{"http://pipe"}, Timeouts: Timeouts{Header: 5 * s}}, Options{Clock: clock.Virtual(),
			Dial: pipeTo(func(server net.Conn) {
				converse(server, 0, func(c net.Conn, _, request int) bool {
					if request == 0 {
						time.Sleep(2 * s)
						_, err := fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: %d\r\n\r\n%s", len(refused), refused)
						return err == nil
					}
					_, _ = c.Read(make([]byte, 1))
					return false
				})
			})}))(t)
		_, fault := collect(t, t.Context(), c, requestOf(true), nil)
		equal(t, "fault", fault, &llm.Fault{Outcome: llm.Timeout, At: int64(7 * s),
			Message: "no reply within 5s: raise --header-timeout if that is no fault"})
		c.Close()
	})
}

// TestHalfARefusal: the status of a refusal stands although its words never
// come.
func TestHalfARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := must.Get(New(Spec{URLs: []string{"http://pipe"}, Timeouts: Timeouts{Header: 5 * s, FirstToken: 8 * s}}, Options{Clock: clock.Virtual(),
			Dial: pipeTo(plays([]beat{{4 * s, "HTTP/1.1 500 Oops\r\nContent-Length: 9\r\n\r\nhalf"}}))}))(t)
		_, fault := collect(t, t.Context(), c, requestOf(true), nil)
		equal(t, "fault", fault, &llm.Fault{Outcome: llm.HTTP, Status: 500, At: int64(8 * s), Message: "half"})
		c.Close()
	})
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"7": 7 * s, "0": 0, "-1": 0, "soon": 0, "": 0, "1.5": 0, "99999999999": 0,
		"Sun, 01 Mar 2026 12:01:30 GMT":  90 * s,
		"Sunday, 01-Mar-26 12:01:30 GMT": 90 * s,
		"Sun Mar  1 12:01:30 2026":       90 * s,
		"Sun, 01 Mar 2026 11:59:00 GMT":  0,
	} {
		if got := parseRetryAfter(value, now); got != want {
			t.Errorf("Retry-After: %s is %v, want %v", value, got, want)
		}
	}
}

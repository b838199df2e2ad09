package client

import (
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
)

// tokens frames n events of about 150 bytes, each a chunk of its own.
func tokens(n int) []string {
	const event = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"m","choices":[{"index":0,"delta":{"content":" tok"}}]}` + "\n\n"
	list := make([]string, n)
	for i := range list {
		list[i] = chunk(event)
	}
	return list
}

func drain(t testing.TB, c *Client, r *llm.Request) (outputs int) {
	for ev, err := range c.Stream(t.Context(), r) {
		must.Do(t, err)
		if ev.Kind == llm.Output {
			outputs++
		}
	}
	return outputs
}

// TestTokensAllocateNothing: the read path allocates as little for a long
// answer as for a short one, also where every token is a read of its own.
func TestTokensAllocateNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector makes pools forget a part of what they are given")
	}
	const short, long = 10, 1010
	event := []byte(tokens(1)[0])
	allocations := func(n int) float64 {
		seen := make(chan struct{})
		url, _ := serveRaw(t, func(c net.Conn, _, _ int) bool {
			_, err := io.WriteString(c, chunkedHead)
			for range n {
				if err == nil {
					_, err = c.Write(event)
				}
				<-seen
			}
			if err == nil {
				_, err = io.WriteString(c, inChunks(done))
			}
			return err == nil
		})
		c := newClient(t, Spec{}, url)
		r := requestOf(true)
		return testing.AllocsPerRun(5, func() {
			for ev, err := range c.Stream(t.Context(), r) {
				must.Do(t, err)
				if ev.Kind == llm.Output {
					seen <- struct{}{}
				}
			}
		})
	}
	if per := (allocations(long) - allocations(short)) / (long - short); per > 0.01 {
		t.Errorf("%.3f allocations per token, want none", per)
	}
}

// BenchmarkToken measures what one streamed token costs, with a server that
// writes each token by itself and so shares the machine.
func BenchmarkToken(b *testing.B) {
	for _, perRead := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d-per-write", perRead), func(b *testing.B) {
			const n = 1000
			var list [][]byte
			for batch := range n / perRead {
				list = append(list, []byte(strings.Join(tokens(n)[batch*perRead:(batch+1)*perRead], "")))
			}
			url, _ := serveRaw(b, func(c net.Conn, _, _ int) bool {
				_, err := io.WriteString(c, chunkedHead)
				for _, event := range list {
					if err == nil {
						_, err = c.Write(event)
					}
				}
				if err == nil {
					_, err = io.WriteString(c, inChunks(done))
				}
				return err == nil
			})
			c := newClient(b, Spec{}, url)
			r := requestOf(true)
			drain(b, c, r)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			b.ResetTimer()
			for range b.N {
				if got := drain(b, c, r); got != n {
					b.Fatalf("%d outputs, want %d", got, n)
				}
			}
			b.StopTimer()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/token")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(b.N*n), "allocs/token")
		})
	}
}

package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/must"
)

func successPage(n int) []byte { return fmt.Appendf(nil, "vllm:request_success_total %d\n", n) }

// script answers each fetch by the next of its funcs, the last one for ever.
func script(answers ...Fetch) Fetch {
	n := -1
	return func(ctx context.Context) ([]byte, error) {
		n = min(n+1, len(answers)-1)
		return answers[n](ctx)
	}
}

func says(text []byte, after time.Duration) Fetch {
	return func(context.Context) ([]byte, error) {
		time.Sleep(after)
		return text, nil
	}
}

func fetchNothing(context.Context) ([]byte, error) { return nil, errors.New("connection refused") }

// stuck answers only when it is told to give up.
func stuck(ctx context.Context) ([]byte, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func ms(n int64) int64 { return n * int64(time.Millisecond) }

func TestScraperKeepsToItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		log := must.Get(NewLog(&file, Header{Run: "r", OriginUnixNS: 7, OriginMonoNS: 8}))(t)
		reading := func(n float64) *Reading { return &Reading{Engine: "vllm", Replicas: 1, Requests: &n} }
		s := WatchServer(clock.Virtual(), ScrapeOptions{Log: log, Limit: 1500 * time.Millisecond, Fetch: script(
			says(successPage(10), 20*time.Millisecond),
			says(successPage(30), 40*time.Millisecond),
			fetchNothing,
			says([]byte("<html>\nhello\n"), 0),
			stuck, // from 4 s to 5.5 s: the scrape of 5 s follows at once
			says(append([]byte("vllm:torn{\n"), successPage(70)...), 0),
			says(successPage(80), 0),
		)})
		time.Sleep(6*time.Second + 500*time.Millisecond)
		s.Stop()
		s.Stop()
		const d = time.Millisecond
		want := []Scrape{
			{At: ms(10), Took: 20 * d, Reading: reading(10)},
			{At: ms(1020), Took: 40 * d, Reading: reading(30)},
			{At: ms(2000), Failed: "connection refused"},
			{At: ms(3000), Failed: "the page has no metrics of a known engine", BadLines: 2},
			{At: ms(4750), Took: 1500 * d, Failed: "no answer within 1.5s"},
			{At: ms(5500), Reading: reading(70), BadLines: 1},
			{At: ms(6000), Reading: reading(80)},
		}
		got := s.Scrapes()
		expect.NoDiff(t, cmp.Diff(want, got), "scrapes (-want +got)")
		wantUse := ServerUse{Engine: "vllm", Replicas: 1, Samples: 2, Failures: 3, Failure: "no answer within 1.5s",
			ScrapeMS: &Gauge{30, 40}, CoveredS: 4.99, Requests: new(20 + 50*3.98/4.98)}
		expect.NoDiff(t, cmp.Diff(wantUse, s.Over(0, 5*second), nearly), "over (-want +got)")
		logged := must.Get(ReadLog(&file))(t)
		wantLog := &LogFile{Header: Header{Schema: Schema, Run: "r", OriginUnixNS: 7, OriginMonoNS: 8}}
		for i := range want {
			wantLog.Lines = append(wantLog.Lines, Line{At: want[i].At, Server: &want[i]})
		}
		expect.NoDiff(t, cmp.Diff(wantLog, logged), "log (-want +got)")
		expect.NoDiff(t, cmp.Diff(wantUse, logged.Server(0, 5*second), nearly), "over the log (-want +got)")
	})
}

func TestStopDoesNotWaitForThePage(t *testing.T) {
	deaf := make(chan struct{})
	for name, fetch := range map[string]Fetch{
		"a fetch that listens": stuck,
		"a fetch that does not": func(context.Context) ([]byte, error) {
			<-deaf
			return nil, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				deaf = make(chan struct{})
				c := clock.Virtual()
				s := WatchServer(c, ScrapeOptions{Fetch: fetch, Limit: time.Hour})
				time.Sleep(time.Second / 2)
				s.Stop()
				if at := time.Duration(c.Now()); at != time.Second/2 {
					t.Errorf("stopped at %v, want 500ms", at)
				}
				if got := s.Scrapes(); len(got) != 0 {
					t.Errorf("a scrape that was stopped left %v", got)
				}
				close(deaf)
			})
		})
	}
}

func TestADeafFetchIsNotJoinedByASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running, most atomic.Int64
		s := WatchServer(clock.Virtual(), ScrapeOptions{Limit: 500 * time.Millisecond, Fetch: func(context.Context) ([]byte, error) {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(1700 * time.Millisecond)
			running.Add(-1)
			return successPage(1), nil
		}})
		time.Sleep(2600 * time.Millisecond)
		s.Stop()
		const late, before = "no answer within 500ms", "the scrape before has not ended"
		want := []Scrape{
			{At: ms(250), Took: 500 * time.Millisecond, Failed: late},
			{At: ms(1250), Took: 500 * time.Millisecond, Failed: before},
			{At: ms(2250), Took: 500 * time.Millisecond, Failed: late},
		}
		expect.NoDiff(t, cmp.Diff(want, s.Scrapes()), "scrapes (-want +got)")
		if n := most.Load(); n != 1 {
			t.Errorf("%d fetches at once", n)
		}
		time.Sleep(10 * time.Second) // the last one ends
	})
}

func TestNowScrapesOutOfTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := WatchServer(clock.Virtual(), ScrapeOptions{Every: time.Minute, Limit: time.Minute,
			Fetch: script(says(successPage(1), 0), says(successPage(5), time.Second), stuck)})
		time.Sleep(3 * time.Second)
		s.Now(t.Context())
		if got := s.Over(0, 10*second); got.Samples != 2 || *got.Requests != 4 {
			t.Errorf("after Now: %+v", got)
		}
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Now(brief) // gives up
		s.Stop()
		s.Now(t.Context()) // does not hang
		if got := len(s.Scrapes()); got != 2 {
			t.Errorf("%d scrapes, want 2", got)
		}
	})
}

func TestLongRunsShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := WatchServer(clock.Virtual(), ScrapeOptions{Fetch: says(largePage(), 0)})
		time.Sleep(1500 * time.Millisecond)
		s.Stop()
		got := s.Scrapes()
		if a, b := got[0].Reading.TTFT.LE, got[1].Reading.TTFT.LE; len(a) != len(firstTokenEdges) || &a[0] != &b[0] {
			t.Error("each reading keeps the edges again")
		}
	})
}

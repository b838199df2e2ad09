package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
)

const second = int64(time.Second)

// nearly compares figures that were added up in another order.
var nearly = cmpopts.EquateApprox(1e-9, 1e-9)

// page is a good scrape at a second of the run that took 2 ms.
func page(at float64, r Reading) Scrape {
	r.Engine, r.Replicas = "vllm", 1
	return Scrape{At: int64(at * 1e9), Took: 2 * time.Millisecond, Reading: &r}
}

func requests(at, n float64) Scrape { return page(at, Reading{Requests: &n}) }

// use is a ServerUse over pages that took 2 ms.
func use(samples int, covered float64, rest ServerUse) ServerUse {
	rest.Engine, rest.Replicas, rest.Samples, rest.CoveredS = "vllm", 1, samples, covered
	if samples > 0 {
		rest.ScrapeMS = &Gauge{2, 2}
	}
	return rest
}

func TestServerOverAWindow(t *testing.T) {
	t.Parallel()
	rising := []Scrape{requests(0, 100), requests(1, 110), requests(2, 130), requests(3, 130), requests(4, 170)}
	restart := []Scrape{requests(0, 100), requests(1, 110), requests(2, 3), requests(3, 8)}
	started := func(at, began, n float64) Scrape { return page(at, Reading{StartedUnixS: &began, Requests: &n}) }
	bad := func(at, n float64) Scrape {
		s := requests(at, n)
		s.BadLines = 1
		return s
	}
	failed := Scrape{At: 2 * second, Took: time.Second, Failed: "HTTP 500"}
	for _, c := range []struct {
		name       string
		scrapes    []Scrape
		start, end float64
		want       ServerUse
	}{
		{"nothing at all", nil, 0, 10, ServerUse{}},
		{"from page to page", rising, 1, 4, use(4, 3, ServerUse{Requests: new(60.0)})},
		{"between pages: straight lines", rising, 0.5, 1.25, use(1, 0.75, ServerUse{Requests: new(5 + 0.25*20)})},
		{"within one pair", rising, 3.25, 3.75, use(0, 0.5, ServerUse{Requests: new(20.0)})},
		{"wider than the pages", rising, -5, 99, use(5, 4, ServerUse{Requests: new(70.0)})},
		{"after the last page", rising, 5, 9, use(0, 0, ServerUse{})},
		{"one page: no difference", rising[:1], 0, 9, use(1, 0, ServerUse{})},
		{"a failure is bridged", []Scrape{requests(1, 10), failed, requests(3, 30)}, 1, 2.5,
			use(1, 1.5, ServerUse{Requests: new(15.0), Failures: 1, Failure: "HTTP 500"})},
		{"only failures", []Scrape{failed, failed}, 0, 9, ServerUse{Failures: 2, Failure: "HTTP 500"}},
		{"a restart: what fell between is lost", restart, 0, 3, use(4, 3, ServerUse{Requests: new(15.0), Restarted: true})},
		{"a restart before the window", restart, 2, 3, use(2, 1, ServerUse{Requests: new(5.0)})},
		{"a restart after the window", restart, 0, 1, use(2, 1, ServerUse{Requests: new(10.0)})},
		{"a restart that overtook the old count", []Scrape{started(0, 7, 1), started(1, 8, 50), started(2, 8, 51)}, 0, 2,
			use(3, 2, ServerUse{Requests: new(1.0), Restarted: true})},
		{"a page with a line missing is no restart", []Scrape{requests(1, 100), bad(2, 60), requests(3, 120)}, 1, 3,
			use(3, 2, ServerUse{Requests: new(20.0)})},
		{"a line that is bad from some time on does not matter", []Scrape{requests(1, 100), bad(2, 110), bad(3, 130)}, 1, 3,
			use(3, 2, ServerUse{Requests: new(30.0)})},
		{"a counter that falls while the process goes on is not believed", []Scrape{started(0, 7, 50), started(1, 7, 40), started(2, 7, 60)}, 0, 2,
			use(3, 2, ServerUse{})},
		{"the only page may have bad lines", []Scrape{bad(2, 110)}, 1, 3, use(1, 0, ServerUse{})},
	} {
		got := ServerOver(c.scrapes, int64(c.start*1e9), int64(c.end*1e9))
		expect.NoDiff(t, cmp.Diff(c.want, got, nearly), "%s (-want +got)", c.name)
	}
}

func TestServerOverEverything(t *testing.T) {
	t.Parallel()
	h := func(sum, count float64) *Histogram { return &Histogram{SumS: sum, Count: count} }
	at := func(k, sum float64) Reading {
		return Reading{Running: new(k), Waiting: new(2 * k), KVUsage: new(k / 10), PrefixHits: new(3 * k), PrefixQueries: new(12 * k),
			Preemptions: new(k), PromptTokens: new(100 * k), GenerationTokens: new(50 * k), Requests: new(5 * k),
			TTFT: h(sum, k), ITL: h(2*sum, k), Queue: h(3*sum, k), Prefill: h(4*sum, k), Decode: h(5*sum, k), E2E: h(6*sum, k),
			Config: map[string]string{"block_size": "16"}}
	}
	slow := page(2, at(3, 0.5))
	slow.Took = 6 * time.Millisecond
	got := ServerOver([]Scrape{page(1, at(1, 0.1)), slow}, second, 2*second)
	timing := func(mean float64) *Timing { return &Timing{N: 2, Mean: mean} }
	want := ServerUse{Engine: "vllm", Replicas: 1, Config: map[string]string{"block_size": "16"}, Samples: 2,
		ScrapeMS: &Gauge{4, 6}, CoveredS: 1, Running: &Gauge{2, 3}, Waiting: &Gauge{4, 6}, KVUsage: &Gauge{0.2, 0.3},
		PrefixHitRate: new(0.25), PrefixHits: new(6.0), PrefixQueries: new(24.0), Preemptions: new(2.0),
		PromptTokens: new(200.0), GenerationTokens: new(100.0), Requests: new(10.0),
		TTFT: timing(200), ITL: timing(400), Queue: timing(600), Prefill: timing(800), Decode: timing(1000), E2E: timing(1200)}
	expect.Same(t, want, got, nearly)
}

// A gateway that passes the page on in turn is no server that restarts.
func TestPagesOfReplicasInTurnAreNoRestart(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what              string
		counts            []float64
		inTurn, restarted bool
	}{
		{"one process", []float64{88, 90, 96, 99, 107, 119, 132}, false, false},
		{"two in turn", []float64{88, 90, 17, 107, 28, 119, 39, 132}, true, false},
		{"a restart", []float64{88, 90, 96, 3, 7, 12, 20}, false, true},
		{"two restarts", []float64{88, 90, 96, 3, 7, 2, 6}, false, true},
	} {
		var scrapes []Scrape
		for i, n := range c.counts {
			scrapes = append(scrapes, Scrape{At: int64(i) * 1e9, Reading: &Reading{Engine: "vllm", Requests: &n}})
		}
		if got := ServerOver(scrapes, 0, int64(len(scrapes))*1e9); got.InTurn != c.inTurn || got.Restarted != c.restarted {
			t.Errorf("%s: in turn %v, restarted %v", c.what, got.InTurn, got.Restarted)
		}
	}
}

func TestEveryCounterCanTellARestart(t *testing.T) {
	t.Parallel()
	full := func(n float64) *Reading {
		h := &Histogram{Count: n}
		return &Reading{PrefixHits: &n, PrefixQueries: &n, Preemptions: &n, PromptTokens: &n, GenerationTokens: &n, Requests: &n,
			TTFT: h, ITL: h, Queue: h, Prefill: h, Decode: h, E2E: h}
	}
	if hasRestarted(full(5), full(5)) || hasRestarted(full(5), full(6)) || hasRestarted(full(5), &Reading{}) {
		t.Error("a restart was seen where nothing fell")
	}
	low := &Histogram{Count: 4}
	for name, fall := range map[string]func(*Reading){
		"hits": func(r *Reading) { r.PrefixHits = new(4.0) }, "queries": func(r *Reading) { r.PrefixQueries = new(4.0) },
		"preemptions": func(r *Reading) { r.Preemptions = new(4.0) }, "prompt": func(r *Reading) { r.PromptTokens = new(4.0) },
		"generation": func(r *Reading) { r.GenerationTokens = new(4.0) }, "requests": func(r *Reading) { r.Requests = new(4.0) },
		"ttft": func(r *Reading) { r.TTFT = low }, "itl": func(r *Reading) { r.ITL = low }, "queue": func(r *Reading) { r.Queue = low },
		"prefill": func(r *Reading) { r.Prefill = low }, "decode": func(r *Reading) { r.Decode = low }, "e2e": func(r *Reading) { r.E2E = low },
		"engine": func(r *Reading) { r.Engine = "another" },
	} {
		now := full(5)
		fall(now)
		if !hasRestarted(full(5), now) {
			t.Errorf("%s fell, and no restart was seen", name)
		}
	}
}

func TestTimingGivesOnlyNarrowQuantiles(t *testing.T) {
	t.Parallel()
	edges := []float64{1, 10, 11, 20}
	queue := func(at, count, sum float64, n ...float64) Scrape {
		return page(at, Reading{Queue: &Histogram{SumS: sum, Count: count, LE: edges, N: n}})
	}
	other := queue(2, 100, 1000, 0, 50, 100, 100)
	other.Reading.Queue.LE = []float64{1, 9, 11, 20}
	for _, c := range []struct {
		name string
		last Scrape
		want *Timing
	}{
		{"nothing new", queue(2, 0, 0, 0, 0, 0, 0), nil},
		{"all in a narrow bucket", queue(2, 100, 1050, 0, 0, 100, 100),
			&Timing{N: 100, Mean: 10500, P50: new(10500.0), P90: new(10900.0), P95: new(10950.0), P99: new(10990.0)}},
		{"the first half in a wide one", queue(2, 100, 800, 0, 60, 100, 100),
			&Timing{N: 100, Mean: 8000, P90: new(10750.0), P95: new(10875.0), P99: new(10975.0)}},
		{"the last part beyond all edges", queue(2, 100, 3000, 0, 0, 92, 92),
			&Timing{N: 100, Mean: 30000, P50: new(10000 + 1000*50/92.0), P90: new(10000 + 1000*90/92.0)}},
		{"other edges than before", other, &Timing{N: 100, Mean: 10000}},
	} {
		got := ServerOver([]Scrape{queue(1, 0, 0, 0, 0, 0, 0), c.last}, second, 2*second).Queue
		expect.NoDiff(t, cmp.Diff(c.want, got, nearly), "%s (-want +got)", c.name)
	}
}

func TestReplicasOverAWindow(t *testing.T) {
	t.Parallel()
	two := func(at, a, b float64) Scrape {
		return page(at, Reading{Each: []Replica{{Name: "0", Running: new(3.0), GenerationTokens: &a}, {Name: "1", Running: new(1.0), GenerationTokens: &b}}})
	}
	running := func(name string, n float64) ReplicaUse { return ReplicaUse{Name: name, Running: &Gauge{n, n}} }
	for _, c := range []struct {
		name      string
		each      []ReplicaUse
		imbalance *float64
	}{
		{"nobody", nil, nil},
		{"one of them is silent on tokens, so running decides", []ReplicaUse{
			{Name: "0", Running: &Gauge{6, 6}, GenerationTokens: new(10.0)}, running("1", 2)}, new(0.5)},
		{"all idle", []ReplicaUse{running("0", 0), running("1", 0)}, nil},
		{"three alike", []ReplicaUse{running("0", 2), running("1", 2), running("2", 2)}, new(0.0)},
	} {
		expect.NoDiff(t, cmp.Diff(c.imbalance, imbalance(c.each), nearly), "%s (-want +got)", c.name)
	}
	got := ServerOver([]Scrape{two(0, 100, 100), two(10, 400, 200)}, 0, 10*second)
	want := use(2, 10, ServerUse{Imbalance: new(0.5), Each: []ReplicaUse{
		{Name: "0", Running: &Gauge{3, 3}, GenerationTokens: new(300.0)},
		{Name: "1", Running: &Gauge{1, 1}, GenerationTokens: new(100.0)}}})
	expect.Same(t, want, got, nearly)
}

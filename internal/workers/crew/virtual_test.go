package crew

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"redline/internal/clock"
	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// memory is a network in memory: links that ask at once, and a post that
// delivers at once. What goes over it is encoded and decoded all the same.
type memory struct {
	mu    sync.Mutex
	takes map[string]func(*Batch)
}

type wire struct {
	hello  Hello
	worker *Worker
	cut    func() bool // nothing goes through
}

func (w *wire) Hello() Hello { return w.hello }

func (w *wire) Ask(ctx context.Context, q Question) (Answer, error) {
	if w.cut != nil && w.cut() {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}
	data, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	var asked Question
	if err := json.Unmarshal(data, &asked); err != nil {
		return Answer{}, err
	}
	return w.worker.Answer(ctx, asked), nil
}

func (m *memory) Collect(_ context.Context, run string, take func(*Batch)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.takes[run] = take
	return nil
}

func (m *memory) Mark() string { return "a token" }

func (m *memory) Find(context.Context, string) error { return nil }

func (m *memory) Forget(string) {}

// letterbox is a worker's outlet; what is published while it is cut stays in it
// until it is not.
type letterbox struct {
	post *memory
	cut  func() bool
	kept []*Batch
}

func (l *letterbox) Publish(b *Batch) error {
	l.kept = append(l.kept, b)
	if l.cut != nil && l.cut() {
		return nil
	}
	return l.Flush(context.Background())
}

func (l *letterbox) Flush(ctx context.Context) error {
	for l.cut != nil && l.cut() {
		if !pause(ctx, beat) {
			return ctx.Err()
		}
	}
	for _, b := range l.kept {
		data, err := b.Encode()
		if err != nil {
			return err
		}
		read, err := DecodeBatch(data)
		if err != nil {
			return err
		}
		l.post.mu.Lock()
		take := l.post.takes[b.Run]
		l.post.mu.Unlock()
		take(read)
	}
	l.kept = nil
	return nil
}

// fault is what happens to one worker, by its index, over a run.
type fault struct {
	worker  int
	between [2]time.Duration // since the bubble's begin: nothing goes through
	stopped time.Duration    // since then: it is ended, as by a signal; 0 for never
	keep    string           // where all workers keep complete records
}

// together measures a plan with n workers in a bubble of virtual time, or with
// none where n is 0.
func together(t *testing.T, n int, f *fault, flags map[string][]string) (res *result.Result, records []record.Record, said []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "run")
	given := map[string][]string{"out": {out}, "url": {"http://engine"}}
	for k, v := range flags {
		given[k] = v
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		cfg := must.Get(config.Resolve(config.Input{Flags: given, Seed: 7}))(t)
		// The server's own page would be read between requests that begin and end at
		// the same instant, in either order.
		cfg.Telemetry.Scrape = new(false)
		spec := must.Get(sim.Spec{}.Resolve())(t)
		core := must.Get(sim.NewBatching(spec))(t)
		server := must.Get(simserver.NewServer(simserver.Options{Spec: spec, Core: core, Clock: clock.Virtual()}))(t)
		l := pipe.Listen("memory")
		served := make(chan error, 1)
		go func() { served <- server.Serve(t.Context(), l) }()

		post := &memory{takes: map[string]func(*Batch){}}
		var links []Link
		for i := range n {
			time.Sleep(17 * time.Millisecond) // clocks begin at different times
			var cut func() bool
			hit := f != nil && f.worker == i
			if hit {
				cut = func() bool {
					at := time.Since(begun)
					return at >= f.between[0] && at < f.between[1]
				}
			}
			w := &Worker{Clock: clock.Virtual(), Dial: l.Dial, Name: fmt.Sprintf("w%d", i)}
			if f != nil {
				w.Keep = f.keep
			}
			if hit && f.stopped != 0 {
				time.AfterFunc(f.stopped, w.Release)
			}
			w.Outlet = func(string, int) Outlet { return &letterbox{post: post, cut: cut} }
			links = append(links, &wire{hello: Hello{ID: fmt.Sprint(i), Name: fmt.Sprintf("w%d", i)}, worker: w, cut: cut})
		}
		var mu sync.Mutex
		o := measure.Options{Config: cfg, Clock: clock.Virtual(), Dial: l.Dial, Say: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, fmt.Sprintf(format, args...))
		}}
		for _, l := range links {
			must.Get(l.Ask(t.Context(), Question{Claim: "test"}))(t)
		}
		crew := New("test", links, post)
		if n > 0 {
			o.Crew = crew
		}
		res, _ = must.Get2(measure.Run(t.Context(), o))(t)
		crew.Release()
		for _, one := range links {
			one.(*wire).worker.Release()
		}
		expect.OK(t, server.Close())
		expect.OK(t, <-served)
		dir := must.Get(store.Open(out))(t)
		for r, err := range dir.Records() {
			must.Do(t, err)
			records = append(records, own(t, r))
		}
	})
	return res, records, said
}

// figures is a result as JSON without what differs between any two runs, and
// what is about the processes that sent the load.
func figures(t *testing.T, res *result.Result) string {
	t.Helper()
	bare := *res
	bare.Client, bare.Workers, bare.Conductor = result.Client{}, nil, nil
	// What the real machine had to do meanwhile.
	bare.Warnings = slices.DeleteFunc(slices.Clone(bare.Warnings), func(w result.Warning) bool { return w.Figure == "client" })
	bare.Points = slices.Clone(bare.Points)
	for i := range bare.Points {
		bare.Points[i].Invalid = ""
	}
	data := must.Get(json.Marshal(bare))(t)
	var all map[string]any
	must.Do(t, json.Unmarshal(data, &all))
	for _, key := range []string{"run", "id", "started", "verdict"} {
		delete(all, key)
	}
	data = must.Get(json.MarshalIndent(all, "", " "))(t)
	return string(data)
}

// TestWorkersOfferTheLoadOfOne: whatever the number of workers, every figure is
// the same: they send the same requests at the same times.
func TestWorkersOfferTheLoadOfOne(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags map[string][]string
	}{
		{"open loop, adaptive warm-up", map[string][]string{"rate": {"20"}, "duration": {"10s"}, "workload": {"in=lognormal(200,0.5) out=lognormal(60,0.5)"}}},
		{"a number of requests", map[string][]string{"rate": {"30"}, "requests": {"200"}, "warmup": {"2s"}, "workload": {"fixed(100,30)"}}},
		{"closed loop", map[string][]string{"concurrency": {"14"}, "duration": {"15s"}, "workload": {"fixed(100,30)"}}},
		{"token times of some", map[string][]string{"rate": {"20"}, "duration": {"10s"}, "token-times": {"30%"}, "slo": {"ttft:p95<2s", "itl:p90<1s", "good:fraction>50%"},
			"workload": {"in=lognormal(200,0.5) out=lognormal(60,0.5)"}}},
		{"until decided", map[string][]string{"rate": {"10"}, "slo": {"ttft:p95<2s"}, "workload": {"fixed(100,20)"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one, records, _ := together(t, 1, nil, tc.flags)
			if len(records) < 100 || one.Points[0].Requests.OK < 100 {
				t.Fatalf("%d records, %d ok: too few to compare", len(records), one.Points[0].Requests.OK)
			}
			want := figures(t, one)
			for _, n := range effort.Of([]int{7}, []int{2, 7}) {
				res, _, said := together(t, n, nil, tc.flags)
				if len(res.Workers) != n {
					t.Errorf("%d workers in the result, want %d", len(res.Workers), n)
				}
				if got := figures(t, res); got != want {
					t.Errorf("%d workers: %s\nsaid: %q", n, difference(got, want), said)
				}
				for _, w := range res.Workers {
					if w.Lost != "" || w.LagP99MS == nil || *w.LagP99MS != 0 || w.Clock.UncertaintyMS != 0 || w.Clock.Reads < soundedBefore {
						t.Errorf("%d workers: %+v", n, w)
					}
				}
			}
		})
	}
}

// TestWorkersSendTheSchedule: the due times of several workers together are
// those of a run without any, request by request.
func TestWorkersSendTheSchedule(t *testing.T) {
	flags := map[string][]string{"rate": {"20"}, "duration": {"10s"}, "warmup": {"2s"}, "workload": {"in=lognormal(200,0.5) out=lognormal(60,0.5)"}}
	schedule := func(n int) (list []string) {
		_, records, _ := together(t, n, nil, flags)
		first := records[0].Due
		for _, r := range records {
			first = min(first, r.Due)
		}
		for _, r := range records {
			if r.Phase != record.Cooldown { // how long that lasts depends on when the end of the window is noticed
				list = append(list, fmt.Sprint(r.ID, r.Session, r.Due-first, r.AskedPrompt, r.AskedOutput, r.Phase, r.Outcome))
			}
		}
		slices.Sort(list)
		return list
	}
	want := schedule(0)
	if len(want) < 200 {
		t.Fatalf("%d requests: too few", len(want))
	}
	for _, n := range []int{1, 3} {
		if got := schedule(n); !slices.Equal(got, want) {
			t.Errorf("%d workers: %s", n, difference(strings.Join(got, "\n"), strings.Join(want, "\n")))
		}
	}
}

// TestSessionsStayOnOneWorker: every turn of a conversation comes from the worker
// that began it.
func TestSessionsStayOnOneWorker(t *testing.T) {
	_, records, _ := together(t, 3, nil, map[string][]string{"rate": {"1"}, "duration": {"20s"}, "workload": {"multi_turn_chat"}})
	worker, turns := map[int]int{}, 0
	for _, r := range records {
		if before, known := worker[r.Session]; known && before != r.ID%3 { // as a share numbers its requests
			t.Errorf("session %d is with workers %d and %d", r.Session, before, r.ID%3)
		}
		worker[r.Session] = r.ID % 3
		turns = max(turns, r.Turn)
	}
	if len(worker) < 10 || turns < 2 {
		t.Errorf("%d conversations of up to %d turns", len(worker), turns+1)
	}
}

// TestWorkerCutOff: a worker that nothing is heard of for a while, and one that
// never comes back: every request is accounted for, and the result says so.
func TestWorkerCutOff(t *testing.T) {
	flags := map[string][]string{"rate": {"10"}, "duration": {"60s"}, "warmup": {"2s"}, "workload": {"fixed(100,10)"}}
	whole, all, _ := together(t, 4, nil, flags)
	for _, tc := range []struct {
		name  string
		fault fault
		lost  string
	}{
		{"back soon", fault{between: [2]time.Duration{8 * time.Second, 10 * time.Second}}, ""},
		{"back after it was given up", fault{between: [2]time.Duration{8 * time.Second, 21 * time.Second}}, ""},
		{"back after it gave up its conductor", fault{between: [2]time.Duration{8 * time.Second, 45 * time.Second}}, "heard nothing from its conductor for 30s"},
		{"gone", fault{between: [2]time.Duration{8 * time.Second, time.Hour}}, "nothing heard from it since"},
		{"stopped", fault{stopped: 8 * time.Second}, "it was stopped"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.fault.worker = 2
			res, records, said := together(t, 4, &tc.fault, flags)
			lost := tc.lost != ""
			n := res.Points[0].Requests
			if n.Due != whole.Points[0].Requests.Due {
				t.Errorf("%d due in the window, want %d as without a fault (%q)", n.Due, whole.Points[0].Requests.Due, said)
			}
			seen := map[int]bool{}
			for _, r := range records {
				if seen[r.ID] || r.Outcome == "" {
					t.Errorf("record %d: twice, or without an outcome", r.ID)
				}
				seen[r.ID] = true
			}
			if why := res.Workers[2].Lost; why != "" != lost || !strings.Contains(why, tc.lost) {
				t.Errorf("lost: %q, want %q", why, tc.lost)
			}
			failed := slices.ContainsFunc(res.Verdict.Checks, func(c result.Check) bool {
				return c.Name == "workers" && !c.OK && strings.Contains(c.Figure, "w2")
			})
			if failed != lost || failed && res.Verdict.Valid != result.Invalid {
				t.Errorf("the check on workers failed: %v, valid %q", failed, res.Verdict.Valid)
			}
			if !lost && (n.OK != whole.Points[0].Requests.OK || len(records) < len(all)*9/10) {
				t.Errorf("%d ok of %d records, want %d of about %d", n.OK, len(records), whole.Points[0].Requests.OK, len(all))
			}
			if len(records) > len(all)*12/10 {
				t.Errorf("%d records, without a fault %d: the others went on until nobody could end what was lost", len(records), len(all))
			}
			if lost && (n.Unsent < 50 || n.OK+n.Unsent+n.Censored+n.Cancelled != n.Due) {
				t.Errorf("requests %+v", n)
			}
		})
	}
}

// difference shows the first lines in which two texts differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	var out bytes.Buffer
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] && out.Len() < 1500 {
			fmt.Fprintf(&out, "line %d: %s, want %s\n", i, strings.TrimSpace(a[i]), strings.TrimSpace(b[i]))
		}
	}
	return out.String()
}

//go:build linux

package main

import (
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"redline/internal/drive/record"
	"redline/internal/stats"
	"redline/internal/store"
)

const beat = 20 * time.Millisecond

// accuracyTrial is one load on one server.
type accuracyTrial struct {
	title    string
	streams  int
	output   int // tokens of a reply
	duration time.Duration
	busy     bool // a busy loop on every core beside it
	foreign  bool // a server that shares no code with redline
}

const metronome = "scripts/measure/testdata/metronome.py"

// accuracy compares redline with servers that note when each token was really
// sent.
func accuracy(h *harness) func() error {
	short := h.Bool("short", false, "a few seconds of the smallest load, to try it")
	return func() error {
		// A window of 24 s holds twelve batches of twice a reply's second, which is
		// what it takes for confidence in a figure.
		var loads []accuracyTrial
		for i, streams := range []int{20, 200, 900} {
			t := accuracyTrial{title: []string{"1k", "10k", "45k"}[i], streams: streams, output: 50, duration: 24 * time.Second}
			busy := t
			busy.busy = true
			loads = append(loads, t, busy)
		}
		servers := []accuracyTrial{
			{title: "redline sim --pace 20ms", streams: 50, output: 100, duration: 10 * time.Second},
			{title: metronome, streams: 50, output: 100, duration: 10 * time.Second, foreign: true},
		}
		if *short {
			loads = loads[:2]
			for i := range loads {
				loads[i].duration = 4 * time.Second
			}
		}
		var all []*comparison
		for _, t := range append(loads, servers...) {
			c, err := h.compare(t)
			if err != nil {
				return fmt.Errorf("%s: %w", t.title, err)
			}
			all = append(all, c)
		}
		return h.writePage("Accuracy", accuracyPage(all[:len(loads)], all[len(loads):]))
	}
}

func (t accuracyTrial) cores() string {
	if t.busy {
		return "busy"
	}
	return "idle"
}

func (t accuracyTrial) flags() []string {
	return []string{"--concurrency", fmt.Sprint(t.streams), "--workload", fmt.Sprintf("fixed(64,%d)", t.output), "--duration", t.duration.String(), "--warmup", "2s"}
}

// compare makes one trial.
func (h *harness) compare(t accuracyTrial) (*comparison, error) {
	before := watchBystanders()
	server, err := h.serve(func(port, truth string) *exec.Cmd {
		if t.foreign {
			return place{}.command("python3", metronome, port, fmt.Sprint(beat.Seconds()), truth)
		}
		return place{}.command(h.redline, "sim", "--listen", "127.0.0.1:"+port, "--pace", beat.String(), "--truth", truth)
	})
	if err != nil {
		return nil, err
	}
	defer server.kill()
	drive, loops := h.driveAt, 0
	if t.busy { // it may well be invalid, and the page shows how far it is off
		drive, loops = h.tryAt, runtime.NumCPU()
	}
	stop, err := occupy(place{priority: low}, loops)
	if err != nil {
		return nil, err
	}
	f, err := drive(place{}, append(t.flags(), "--url", server.url)...)
	stop()
	if err != nil {
		return nil, err
	}
	truth, err := server.stop()
	if err != nil {
		return nil, err
	}
	c := &comparison{trial: t, others: before.share(), outcome: f}
	return c, c.join(f.dir, truth)
}

// comparison is what redline says, and what was so.
type comparison struct {
	trial  accuracyTrial
	others string // share of the machine that bystanders took
	*outcome

	latencies                // true
	stampErrors    []float64 // of stamps that are not coalesced, µs
	events, shared int
}

// join lays the records beside the truth.
func (c *comparison) join(dir *store.Dir, truth []reply) error {
	if err := joinTruth(dir, truth, c.add); err != nil {
		return err
	}
	slices.Sort(c.stampErrors)
	_, err := c.latencies.figures()
	return err
}

// add takes in one request that both sides know.
func (c *comparison) add(r *record.Record, truth reply, origin int64) {
	if r.Phase == record.Measure {
		c.ttft = append(c.ttft, float64(truth.Before[0]-origin-r.Sent)/1e6)
		c.tpot = append(c.tpot, truth.tpot())
	}
	c.itl = append(c.itl, truth.gapsWithin(origin, c.point.Window)...)
	var times []int64
	for at := range r.Chunks() {
		times = append(times, at)
	}
	for i, at := range times {
		c.events++
		// Of events that share a stamp, it is the last one's.
		if i+1 < len(times) && times[i+1] == at {
			c.shared++
			continue
		}
		low, high := truth.Before[i]-origin, truth.After[i]-origin
		// Stamps are kept in whole microseconds.
		c.stampErrors = append(c.stampErrors, math.Max(0, float64(max(low-at-500, at-high-500)))/1e3)
	}
}

// trueFigure is one number that redline reports, and the truth.
type trueFigure struct {
	name      string
	got, want float64
	firm      bool
}

func (f trueFigure) off() float64 { return 100 * math.Abs(f.got-f.want) / f.want }

func (c *comparison) figures() (all []trueFigure) {
	truth, _ := c.latencies.figures() // join has seen that there are some
	for _, name := range figureNames {
		figure, key, _ := strings.Cut(name, " ")
		all = append(all, trueFigure{name, c.latency(figure, key), truth[name], c.point.Latency.Of(figure).IsFirm(key)})
	}
	return all
}

// wrongAndFirm lists the figures that are off by more than the bound, in percent,
// although redline does not call its confidence in them low.
func wrongAndFirm(all []*comparison, bound float64) (found []string) {
	for _, c := range all {
		for _, f := range c.figures() {
			if f.firm && f.off() > bound {
				found = append(found, fmt.Sprintf("%s at %s, %s cores", f.name, c.trial.title, c.trial.cores()))
			}
		}
	}
	return found
}

func accuracyPage(loaded, servers []*comparison) string {
	var b strings.Builder
	fmt.Fprintf(&b, `Server and client are on this machine, over loopback. A server that brings a token every %v, as a process of its own, notes its
clock just before and just after each write. A stamp's error is its distance outside that interval; of events that came in
one read only the last one's time is known, the others are coalesced and say so. Figures are in ms, ± is the distance to the
truth; true TTFT is counted from redline's own sending. Low confidence is what redline itself says of a figure.
Others: what programs that have no part in this took of all cores during a run, good to about 5 points: it is the difference
of two accounts. Busy: beside one busy loop per core at nice 10.

## Under load

`+"`redline run %s` and so on\nagainst `redline sim --pace %v --truth`.\n\n", beat, shellWords(loaded[0].trial.flags()), beat)
	stampTable(&b, loaded)
	figureTable(&b, loaded)
	wrong := wrongAndFirm(loaded, 5)
	if len(wrong) == 0 {
		wrong = []string{"none"}
	}
	fmt.Fprintf(&b, "\nOff by more than 5%% and not of low confidence: %s.\n", strings.Join(wrong, "; "))
	fmt.Fprintf(&b, "\n## Two servers that share no code\n\n`redline run %s`\n\n", shellWords(servers[0].trial.flags()))
	stampTable(&b, servers)
	figureTable(&b, servers)
	return b.String()
}

// stampTable shows how far stamps are from the writes, a row for each trial.
func stampTable(b *strings.Builder, all []*comparison) {
	b.WriteString("| server or tokens/s | cores | others | served, tokens/s | events | coalesced | stamp error p50, µs | p99 | max | checks |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		fmt.Fprintf(b, "| %s | %s | %s | %.0f | %d | %.2f%% | %.1f | %.1f | %.0f | %s |\n", c.trial.title, c.trial.cores(), c.others,
			c.point.Throughput.Output, c.events, 100*float64(c.shared)/float64(c.events),
			stats.Quantile(c.stampErrors, 0.5), stats.Quantile(c.stampErrors, 0.99), slices.Max(c.stampErrors), c.checks())
	}
}

// figureTable shows what redline reports beside the truth.
func figureTable(b *strings.Builder, all []*comparison) {
	b.WriteString("\n| server or tokens/s | cores | figure | redline | truth | ± | low confidence |\n|---|---|---|---|---|---|---|\n")
	for _, c := range all {
		for _, f := range c.figures() {
			fmt.Fprintf(b, "| %s | %s | %s | %.3f | %.3f | %.2f%% | %s |\n", c.trial.title, c.trial.cores(), f.name, f.got, f.want, f.off(), yesNo(!f.firm))
		}
	}
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

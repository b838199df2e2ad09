package compare

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"

	"redline/docs/pages"
	"redline/internal/drive/record"
	"redline/internal/effort"
	"redline/internal/expect"
	"redline/internal/judge/account"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/stats"
)

// call is one request of a service whose truth is known, in seconds.
type call struct {
	due, took float64 // infinite for one that failed
	session   int
}

// service is a process of latencies under load. Its parameters are none that any
// rule was chosen on.
type service struct {
	name string
	warm float64
	// all says that what a request takes is its whole reply, tokens and all.
	all  bool
	play func(r draws, from, to float64) []call
}

// draws are what a run draws: its requests, and what its server does by itself. Two runs
// of the same requests share the first alone; without an own source all comes from it.
type draws struct {
	*rand.Rand
	own *rand.Rand
}

// server is the source of what the server does by itself.
func (d draws) server() *rand.Rand { return cmp.Or(d.own, d.Rand) }

// jitter is by how much a server of its own takes another time for the same request.
func (d draws) jitter() float64 {
	if d.own == nil {
		return 1
	}
	return stats.LogNormal(d.own, 0, 0.1)
}

// arrivals are Poisson, or gamma with bursts where shape is below 1.
func arrivals(r *rand.Rand, rate, shape, from, to float64) (at []float64) {
	for t := from; ; {
		if t += stats.Gamma(r, shape) / (shape * rate); t >= to {
			return at
		}
		at = append(at, t)
	}
}

// line is servers that take what comes first; it gives when work is done.
func line(servers int) func(at, work float64) float64 {
	free := make([]float64, servers)
	return func(at, work float64) float64 {
		i := slices.Index(free, slices.Min(free))
		free[i] = max(at, free[i]) + work
		return free[i]
	}
}

// talk is a conversation: its turns come a pause after the reply before.
type talk struct {
	at, factor float64
	id, turn   int
}

// talks plays conversations; begin gives the factor of each, serve when a turn is
// done.
func talks(r draws, rate float64, turns int, pause, from, to float64, begin func() float64, serve func(t talk) float64) (list []call) {
	var pending []talk
	for i, at := range arrivals(r.Rand, rate, 1, from, to) {
		pending = append(pending, talk{at: at, factor: begin(), id: i + 1})
	}
	for len(pending) > 0 {
		next := slices.IndexFunc(pending, func(t talk) bool {
			return !slices.ContainsFunc(pending, func(o talk) bool { return o.at < t.at })
		})
		t := pending[next]
		done := serve(t)
		list = append(list, call{t.at, done - t.at, t.id})
		t.at, t.turn = done+pause*stats.Exponential(r.Rand), t.turn+1
		if pending[next] = t; t.turn == turns || t.at >= to {
			pending = slices.Delete(pending, next, next+1)
		}
	}
	return list
}

var services = []service{
	{name: "M/M/1 at 60%", play: func(r draws, from, to float64) []call {
		return serveInOrder(r, arrivals(r.Rand, 20, 1, from, to), 1, func(float64) float64 { return 0.03 * stats.Exponential(r.Rand) })
	}},
	{name: "bursty arrivals", play: func(r draws, from, to float64) []call {
		return serveInOrder(r, arrivals(r.Rand, 12, 0.3, from, to), 6, func(float64) float64 { return stats.LogNormal(r.Rand, math.Log(0.25), 0.5) })
	}},
	{name: "batch jobs among chats", play: func(r draws, from, to float64) []call {
		at := arrivals(r.Rand, 6, 1, from, to)
		for t := from + 40*r.Float64(); t < to; t += 40 {
			at = append(at, slices.Repeat([]float64{t}, 35)...)
		}
		slices.Sort(at)
		return serveInOrder(r, at, 1, func(float64) float64 { return stats.LogNormal(r.Rand, math.Log(0.03), 0.4) })
	}},
	{name: "outages of 2 s", play: func(r draws, from, to float64) (list []call) {
		next := from + 120*stats.Exponential(r.server())
		for _, at := range arrivals(r.Rand, 10, 1, from, to) {
			for at > next+2 {
				next += 2 + 118*stats.Exponential(r.server())
			}
			took := stats.LogNormal(r.Rand, math.Log(0.1), 0.3)
			if at >= next {
				took = math.Inf(1)
			}
			list = append(list, call{at, took, 0})
		}
		return list
	}},
	{name: "conversations of 16 turns", warm: 240, play: func(r draws, from, to float64) []call {
		serve := line(1)
		return talks(r, 0.35, 16, 6, from, to, func() float64 { return stats.LogNormal(r.Rand, 0, 0.4) },
			func(t talk) float64 { return serve(t.at, t.factor*r.jitter()*(0.02+0.007*float64(t.turn))) })
	}},
	{name: "2% of sessions 8 times slower", warm: 240, play: func(r draws, from, to float64) []call {
		begin := func() float64 {
			if r.Float64() < 0.02 {
				return 8
			}
			return 1
		}
		return talks(r, 0.6, 14, 6, from, to, begin, func(t talk) float64 { return t.at + t.factor*r.jitter()*stats.LogNormal(r.Rand, math.Log(0.1), 0.3) })
	}},
	{name: "noisy neighbor, 2 minutes", all: true, play: wanderingServer(0.3, 120)},
	{name: "noisy neighbor, half a minute", all: true, play: wanderingServer(0.2, 30)},
}

// serveInOrder serves what arrives in its order.
func serveInOrder(r draws, at []float64, servers int, work func(at float64) float64) (list []call) {
	serve := line(servers)
	for _, t := range at {
		list = append(list, call{t, serve(t, work(t)*r.jitter()) - t, 0})
	}
	return list
}

// wanderingServer is a server whose speed wanders (Ornstein and Uhlenbeck's process).
func wanderingServer(sigma, tau float64) func(draws, float64, float64) []call {
	return func(r draws, from, to float64) []call {
		level, last := sigma*r.server().NormFloat64(), from
		return serveInOrder(r, arrivals(r.Rand, 10, 1, from, to), 4, func(at float64) float64 {
			keep := math.Exp((last - at) / tau)
			level, last = keep*level+sigma*math.Sqrt(1-keep*keep)*r.server().NormFloat64(), at
			return stats.LogNormal(r.Rand, math.Log(0.12), 0.4) * math.Exp(level)
		})
	}
}

// point is one run of a service, measured as runs are: through records. Where own is
// given the requests are those of their seed, and what the server does by itself is its own.
func (s service) point(t testing.TB, seed, own uint64, seconds float64, slow delay) result.Point {
	r := draws{Rand: stats.Rand(seed, "pairs "+s.name, 0)}
	if own != 0 {
		r.own = stats.Rand(own, "server "+s.name, 0)
	}
	warm := max(s.warm, 60)
	var list []*record.Record
	for i, c := range s.play(r, 1, warm+1+seconds) {
		if c.due >= warm {
			list = append(list, s.record(r, i+1, c, slow))
		}
	}
	objective := must.Get(slo.Parse("ttft:p99<300ms"))(t)
	rate := 10.0
	sum := must.Get(account.Summarize(record.FromList(list), account.Options{Start: int64((warm + 1) * 1e9), End: int64((warm + 1 + seconds) * 1e9), AskedRate: rate, Objectives: []slo.Objective{objective}, Seed: seed}))(t)
	return result.Point{Load: result.Load{Mode: "open", Rate: &rate}, Summary: sum}
}

// delay is how many times as long B takes for first tokens, and for all others.
type delay struct{ first, pace float64 }

// record is a request as the load engine would have written it down: a reply of
// some words whose pace varies from one to the next.
func (s service) record(r draws, id int, c call, slow delay) *record.Record {
	due := int64(c.due * 1e9)
	rec := &record.Record{ID: id, Session: c.session, Due: due, Begin: due, Slot: due, Try: 1, Streamed: true}
	if r.own != nil {
		rec.Session = cmp.Or(c.session, id)
	}
	rec.Observe(llm.Event{Kind: llm.Sent, At: due})
	if math.IsInf(c.took, 1) {
		rec.End, rec.Outcome = due+1e6, llm.HTTP
		return rec
	}
	words := 2 + int(stats.LogNormal(r.Rand, math.Log(12), 0.6))
	first, pace := c.took, 0.02*stats.LogNormal(r.server(), 0, 0.03)
	if s.all {
		first, words = c.took/5, 9
		pace = c.took / 10
	}
	for i := range words {
		at := due + int64((first*slow.first+float64(i)*pace*slow.pace)*1e9)
		rec.Observe(llm.Event{Kind: llm.Output, At: at, Text: []byte("word")})
		rec.End = at
	}
	rec.Observe(llm.Event{Kind: llm.UsageSeen, Usage: llm.Usage{OutputTokens: words}})
	rec.Observe(llm.Event{Kind: llm.End, At: rec.End})
	rec.Settle()
	return rec
}

// pairCell is what came of some pairs of runs of one service.
type pairCell struct {
	Service string  `json:"service"`
	Seconds float64 `json:"seconds"`
	Longer  float64 `json:"longer"`
	// Same says that both runs send the same requests, and that only the pace of B's tokens is longer.
	Same bool `json:"same,omitempty"`
	// Live says that a pair is a live comparison, and Wander by how much the machine of both servers
	// slows them down for minutes.
	Live   bool    `json:"live,omitempty"`
	Wander float64 `json:"wander,omitempty"`
	First  uint64  `json:"first"`
	Pairs  int     `json:"pairs"`
	// Called counts the pairs of which any figure was called, Found those of
	// which one was called worse, Agreed the figures that were called the same
	// of all Figures, and Wrongly those of them that differ by more than that.
	// Equal counts the pairs that are the same over all.
	Called, Found, Agreed, Figures, Wrongly, Equal int
	By                                             map[string]int
	// All are those of live comparisons that run all their rounds, Rounds how many the others ran.
	All    [3]int `json:",omitzero"`
	Rounds int    `json:",omitempty"`
}

func (c *pairCell) play(t testing.TB) {
	c.By = map[string]int{}
	s := services[slices.IndexFunc(services, func(s service) bool { return s.name == c.Service })]
	if c.Live {
		c.playLive(t, s)
		return
	}
	for i := range uint64(c.Pairs) {
		seed := c.First + 2*i
		a, b := run("a", 1), run("b", 1)
		if c.Same {
			a.Points[0], b.Points[0] = s.point(t, seed, seed, c.Seconds, delay{1, 1}), s.point(t, seed, seed+1, c.Seconds, delay{1, c.Longer})
		} else {
			a.Points[0], b.Points[0] = s.point(t, seed, 0, c.Seconds, delay{1, 1}), s.point(t, seed+1, 0, c.Seconds, delay{c.Longer, c.Longer})
		}
		got := must.Get(Runs(one(a), one(b), Options{}))(t)
		called, found := false, false
		for _, m := range got.Metrics {
			c.Figures++
			switch m.Standing {
			case slo.Better, slo.Worse:
				called, found = true, found || m.Standing == slo.Worse
				c.By[m.Name]++
			case slo.Same:
				c.Agreed++
				if c.Longer > 1 && m.Unit == "ms" && (!c.Same || m.Name == "tpot:p50") {
					c.Wrongly++
				}
			}
		}
		if called {
			c.Called++
		}
		if found {
			c.Found++
		}
		if got.Standing == slo.Same {
			c.Equal++
		}
	}
}

// firstPair is the first seed of the tables: none below it has one of them.
const firstPair, pairsPerCell = 7_000_000, 25

// firstSamePair is the first of pairs that judge what was chosen on others.
const firstSamePair = 13_000_000

// pairCells are those of so many pairs each.
func pairCells(pairs int) (cells []*pairCell) {
	for _, s := range services {
		for _, seconds := range []float64{60, 300} {
			for _, longer := range []float64{1, 1.1} {
				for i := 0; i < pairs; i += pairsPerCell {
					cells = append(cells, &pairCell{Service: s.name, Seconds: seconds, Longer: longer, First: firstPair + 2*uint64(i), Pairs: min(pairsPerCell, pairs-i)})
				}
			}
		}
	}
	return cells
}

func (c *pairCell) key() string {
	return fmt.Sprint(c.Service, c.Seconds, c.Longer, c.First, c.Pairs, c.Same, c.Live, c.Wander)
}

// TestPairRates measures how often two single runs of equal servers are called
// different, and of servers of which one is a tenth slower. `make pairs` runs it
// at full length and writes docs/measured/RATES.md; what is done stands in the file that
// REDLINE_PAIRS_STATE names, so that it resumes, and REDLINE_SHARD=1/4 does every
// fourth cell.
func TestPairRates(t *testing.T) {
	t.Parallel()
	pairs, _ := strconv.Atoi(os.Getenv("REDLINE_PAIRS"))
	if pairs == 0 {
		for _, s := range services[:2] { // what the usual test can afford
			cell := &pairCell{Service: s.name, Seconds: 60, Longer: 1, First: 1000, Pairs: effort.Of(8, 20)}
			if cell.play(t); cell.Called > maxFalseAlarms(cell.Pairs) {
				t.Errorf("%s: %d of %d equal pairs are called different: %v", s.name, cell.Called, cell.Pairs, cell.By)
			}
		}
		return
	}
	playPairs(t, pairCells(pairs), writePairs)
}

// samePairCells are those of runs that send the same requests.
func samePairCells(pairs int) (cells []*pairCell) {
	for _, s := range services {
		for _, longer := range samePaces {
			for i := 0; i < pairs; i += pairsPerCell {
				cells = append(cells, &pairCell{Service: s.name, Seconds: 60, Longer: longer, First: firstSamePair + 2*uint64(i), Pairs: min(pairsPerCell, pairs-i), Same: true})
			}
		}
	}
	return cells
}

// samePaces are by how many times the tokens of B take longer.
var samePaces = []float64{1, 1.1, 1.25, 1.5}

// TestSamePairRates measures the same of runs that sent the same requests; `make pairs` runs it too.
func TestSamePairRates(t *testing.T) {
	t.Parallel()
	pairs, _ := strconv.Atoi(os.Getenv("REDLINE_PAIRS"))
	if pairs > 0 {
		playPairs(t, samePairCells(pairs), writeSamePairs)
		return
	}
	name := services[0].name
	equal, slower := &pairCell{Service: name, Seconds: 60, Longer: 1, First: 1000, Pairs: 4, Same: true}, &pairCell{Service: name, Seconds: 60, Longer: 1.25, First: 1000, Pairs: 3, Same: true}
	equal.play(t)
	if slower.play(t); equal.Called > 0 || slower.By["tpot:p50"] < slower.Pairs {
		t.Errorf("%d of %d equal pairs are called different: %v; a quarter slower is called in %v of %d", equal.Called, equal.Pairs, equal.By, slower.By, slower.Pairs)
	}
}

// playPairs plays the cells that are not done yet, and writes the table once all are.
func playPairs(t *testing.T, cells []*pairCell, write func(testing.TB, []*pairCell, map[string]*pairCell)) {
	state := os.Getenv("REDLINE_PAIRS_STATE")
	done := readPairs(t, state)
	shard, of := 0, 1
	fmt.Sscanf(os.Getenv("REDLINE_SHARD"), "%d/%d", &shard, &of)
	log := must.Get(os.OpenFile(state, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644))(t)
	defer log.Close()
	var mu sync.Mutex
	var busy sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, c := range cells {
		if done[c.key()] != nil || i%of != shard%of {
			continue
		}
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			c.play(t)
			mu.Lock()
			defer mu.Unlock()
			done[c.key()] = c
			expect.OK(t, json.NewEncoder(log).Encode(c))
		})
	}
	busy.Wait()
	if !t.Failed() && !slices.ContainsFunc(cells, func(c *pairCell) bool { return done[c.key()] == nil }) {
		write(t, cells, done)
	}
}

func readPairs(t testing.TB, path string) map[string]*pairCell {
	done := map[string]*pairCell{}
	file, err := os.Open(path)
	if err != nil {
		return done // the first time
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		c := &pairCell{}
		if err := json.Unmarshal(lines.Bytes(), c); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		done[c.key()] = c
	}
	return done
}

// writePairs adds cells up and puts the table into docs/measured/RATES.md.
func writePairs(t testing.TB, cells []*pairCell, done map[string]*pairCell) {
	type row struct{ equal, slower pairCell }
	rows, order := map[string]*row{}, []string{}
	for _, key := range cells {
		c := done[key.key()]
		name := fmt.Sprintf("| %s | %.0f s |", c.Service, c.Seconds)
		if rows[name] == nil {
			rows[name], order = &row{}, append(order, name)
		}
		sum := &rows[name].equal
		if c.Longer > 1 {
			sum = &rows[name].slower
		}
		sum.Pairs, sum.Called, sum.Found = sum.Pairs+c.Pairs, sum.Called+c.Called, sum.Found+c.Found
		sum.Agreed, sum.Figures, sum.Wrongly = sum.Agreed+c.Agreed, sum.Figures+c.Figures, sum.Wrongly+c.Wrongly
	}
	percent := func(n, of int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(of, 1))) }
	table := "| process | each run | equal pairs: any figure called | their figures called equal | B 10% slower: found | latencies called equal then |\n|---|---|---|---|---|---|\n"
	for _, name := range order {
		r := rows[name]
		table += fmt.Sprintf("%s %s | %s | %s | %s |\n", name, percent(r.equal.Called, r.equal.Pairs), percent(r.equal.Agreed, r.equal.Figures),
			percent(r.slower.Found, r.slower.Pairs), percent(r.slower.Wrongly, r.slower.Figures))
	}
	head := fmt.Sprintf("%d pairs of each row, B 10%% slower in as many more.\n\n", rows[order[0]].equal.Pairs)
	must.Do(t, pages.Write("RATES.md", "pairs", head+table))
}

// writeSamePairs does so for runs that sent the same requests.
func writeSamePairs(t testing.TB, cells []*pairCell, done map[string]*pairCell) {
	type key struct {
		service string
		longer  float64
	}
	sums := map[key]*pairCell{}
	for _, one := range cells {
		c, at := done[one.key()], key{one.Service, one.Longer}
		if sums[at] == nil {
			sums[at] = &pairCell{}
		}
		sum := sums[at]
		sum.Pairs, sum.Called, sum.Agreed, sum.Figures, sum.Equal = sum.Pairs+c.Pairs, sum.Called+c.Called, sum.Agreed+c.Agreed, sum.Figures+c.Figures, sum.Equal+c.Equal
		sum.Found += c.By["tpot:p50"]
	}
	percent := func(n, of int) string { return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(max(of, 1))) }
	table := "| process | equal pairs: any figure called | their figures called equal | whole pairs called equal | tpot +10%: called | +25% | +50% |\n|---|---|---|---|---|---|---|\n"
	for _, s := range services {
		equal := sums[key{s.name, 1}]
		table += fmt.Sprintf("| %s | %s | %s | %s |", s.name, percent(equal.Called, equal.Pairs), percent(equal.Agreed, equal.Figures), percent(equal.Equal, equal.Pairs))
		for _, longer := range samePaces[1:] {
			c := sums[key{s.name, longer}]
			table += " " + percent(c.Found, c.Pairs) + " |"
		}
		table += "\n"
	}
	head := fmt.Sprintf("%d pairs of runs of 60 s in each cell; both send the same requests.\n\n", sums[key{services[0].name, 1}].Pairs)
	must.Do(t, pages.Write("RATES.md", "same requests", head+table))
}

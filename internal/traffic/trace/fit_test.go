package trace

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/stats"
	"redline/internal/text"
)

// writeLog writes a log in the shape of Azure's traces: arrivals as given, prompts
// log-normal, outputs that fall as prompts grow.
func writeLog(t testing.TB, times []int64) string {
	t.Helper()
	r := stats.Rand(7, "lengths", 0)
	start := time.Date(2024, 2, 1, 9, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	b.WriteString(header)
	for _, at := range times {
		prompt := 1 + int(stats.LogNormal(r, math.Log(900), 0.9))
		output := 1 + int(stats.LogNormal(r, math.Log(200)-0.4*math.Log(float64(prompt)/900), 0.6))
		fmt.Fprintf(&b, "%s,%d,%d\n", start.Add(time.Duration(at)).Format("2006-01-02 15:04:05.0000000"), prompt, output)
	}
	path := must.File(t, "made.csv", b.Bytes())
	return path
}

// modulatedArrivals gives Poisson arrivals whose rate changes at random between low
// and high, every hold on average.
func modulatedArrivals(low, high float64, hold, span time.Duration) []int64 {
	r := stats.Rand(3, "modulated", 0)
	rate, other := low, high
	var times []int64
	at, change := 0.0, stats.Exponential(r)*hold.Seconds()
	for {
		next := at + stats.Exponential(r)/rate
		if next > change {
			at, change = change, change+stats.Exponential(r)*hold.Seconds()
			rate, other = other, rate
			continue
		}
		if at = next; at > span.Seconds() {
			return times
		}
		times = append(times, int64(at*1e9))
	}
}

// even gives arrivals at a fixed distance, give or take a part of it.
func even(gap, jitter, span time.Duration) []int64 {
	r := stats.Rand(4, "even", 0)
	var times []int64
	for at := time.Duration(0); at < span; at += gap {
		times = append(times, int64(at)+r.Int64N(int64(jitter)+1))
	}
	return times
}

func fitLog(t testing.TB, o FitOptions, path string) (*FittedWorkload, *Summary) {
	t.Helper()
	f := must.Get(Open(path, Options{}))(t)
	defer f.Close()
	summary := must.Get(Summarize(f))(t)
	w := must.Get(Fit(o, f))(t)
	must.Do(t, w.validate())
	return w, summary
}

// drawLengths gives n pairs of lengths.
func drawLengths(w *FittedWorkload, n int) (prompts, outputs []int32) {
	r := stats.Rand(11, "draw", 0)
	for range n {
		p, o := w.Lengths(r)
		prompts, outputs = append(prompts, int32(p)), append(outputs, int32(o))
	}
	return prompts, outputs
}

// checkLengths holds the percentiles of what is drawn against the log's own.
func checkLengths(t testing.TB, w *FittedWorkload, s *Summary) {
	t.Helper()
	prompts, outputs := drawLengths(w, 50_000)
	for _, c := range []struct {
		name      string
		got, want Percentiles
	}{{"prompt", percentiles(sortedLengths(prompts)), s.Prompt}, {"output", percentiles(sortedLengths(outputs)), s.Output}} {
		got, worst := []float64{c.got.P50, c.got.P90, c.got.P95, c.got.P99, c.got.Mean}, 0.0
		for i, want := range []float64{c.want.P50, c.want.P90, c.want.P95, c.want.P99, c.want.Mean} {
			worst = max(worst, math.Abs(got[i]/want-1))
		}
		t.Logf("%s: at most %.2f%% from the log's", c.name, 100*worst)
		if worst > 0.05 {
			t.Errorf("%s: %v, want within 5%% of %v", c.name, c.got, c.want)
		}
	}
}

// dispersion is the mean index over twenty seeds, for as long as the log.
func dispersion(w *FittedWorkload, span time.Duration) (second, minute float64) {
	const seeds = 20
	for seed := range uint64(seeds) {
		var times []int64
		for at := range w.Times(seed) {
			if at > int64(span) {
				break
			}
			times = append(times, at)
		}
		second += stats.IndexOfDispersion(times, int64(time.Second)) / seeds
		minute += stats.IndexOfDispersion(times, int64(time.Minute)) / seeds
	}
	return second, minute
}

// checkDispersion holds the burstiness of what is drawn against the log's own.
func checkDispersion(t testing.TB, w *FittedWorkload, s *Summary) {
	t.Helper()
	second, minute := dispersion(w, time.Duration(*s.Span*1e9))
	t.Logf("index of dispersion over 1 s: %.3f (log %.3f, ratio %.3f), over 60 s: %.3f (log %.3f, ratio %.3f)",
		second, *s.Dispersion1s, second / *s.Dispersion1s, minute, *s.Dispersion60s, minute / *s.Dispersion60s)
	// An index of next to 0 is that of a metronome, whatever its digits.
	far := func(got, want float64) bool { return math.Abs(got-want) > max(0.25*want, 0.01) }
	if far(second, *s.Dispersion1s) || far(minute, *s.Dispersion60s) {
		t.Errorf("want both within 25%% of the log's")
	}
}

func TestAFittedWorkloadBehavesLikeItsLog(t *testing.T) {
	t.Parallel()
	for name, times := range map[string][]int64{
		"Poisson":                       modulatedArrivals(6, 6, time.Hour, 40*time.Minute),
		"bursts of half a minute":       modulatedArrivals(2, 12, 30*time.Second, 40*time.Minute),
		"bursts of a second":            modulatedArrivals(1, 30, time.Second, 40*time.Minute),
		"busy and idle quarter hours":   modulatedArrivals(1, 9, 15*time.Minute, time.Hour),
		"nearly even":                   even(100*time.Millisecond, 60*time.Millisecond, 20*time.Minute),
		"more even within than between": even(130*time.Millisecond, 2*time.Second, 20*time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			slices.Sort(times)
			w, s := fitLog(t, FitOptions{}, writeLog(t, times))
			checkLengths(t, w, s)
			checkDispersion(t, w, s)
			if rate := w.Arrivals.mean(); math.Abs(rate / *s.Rate - 1) > 0.03 {
				t.Errorf("%.3f requests/s, want within 3%% of %.3f", rate, *s.Rate)
			}
		})
	}
}

// rankCorrelation is Spearman's.
func rankCorrelation(a, b []int32) float64 {
	x, y := ranksOf(a), ranksOf(b)
	mx, my := stats.Mean(x), stats.Mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

func ranksOf(values []int32) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for rank, i := range order {
		ranks[i] = float64(rank)
	}
	return ranks
}

func TestPairsAreKeptUnlessBroken(t *testing.T) {
	t.Parallel()
	path := writeLog(t, modulatedArrivals(6, 6, time.Hour, 30*time.Minute))
	f := open(t, path, Options{})
	var prompts, outputs []int32
	for _, row := range all(t, f) {
		prompts, outputs = append(prompts, int32(row.Prompt)), append(outputs, int32(row.Output))
	}
	log := rankCorrelation(prompts, outputs)
	if log > -0.4 {
		t.Fatalf("the log's own correlation is %.3f: too weak to test with", log)
	}
	kept, _ := fitLog(t, FitOptions{}, path)
	if got := rankCorrelation(drawLengths(kept, 20_000)); math.Abs(got-log) > 0.03 {
		t.Errorf("correlation %.3f, want the log's %.3f", got, log)
	}
	broken, s := fitLog(t, FitOptions{Independent: true}, path)
	if got := rankCorrelation(drawLengths(broken, 20_000)); math.Abs(got) > 0.03 {
		t.Errorf("correlation %.3f of broken pairs, want 0", got)
	}
	checkLengths(t, broken, s)
}

func TestAFewRowsAreEnoughToFit(t *testing.T) {
	t.Parallel()
	w, _ := fitLog(t, FitOptions{}, "testdata/azure.csv")
	want := []float64{68.5714}
	expect.NoDiff(t, gocmp.Diff(want, w.Arrivals.Rates), "rates (-want +got)")
	r := stats.Rand(1, "few", 0)
	for range 1000 {
		if p, o := w.Lengths(r); p < 95 || p > 1200 || o < 7 || o > 310 {
			t.Fatalf("%d and %d tokens, outside of the log's", p, o)
		}
	}
}

func TestDispersionIsThatOfTheStatistics(t *testing.T) {
	t.Parallel()
	times := modulatedArrivals(1, 20, 3*time.Second, 5*time.Minute)
	for _, window := range []time.Duration{time.Second, 10 * time.Second, time.Minute} {
		want := round(stats.IndexOfDispersion(times, int64(window)), 4)
		if got := dispersionOf(times, window); got == nil || *got != want {
			t.Errorf("over %v: %v, want %v", window, got, want)
		}
	}
	for name, times := range map[string][]int64{"none": nil, "one": {0}, "one window": {0, 1, int64(time.Second)}} {
		if got := dispersionOf(times, time.Second); got != nil {
			t.Errorf("%s: %v, want nothing", name, *got)
		}
	}
}

func TestACenturyIsTooLongToFit(t *testing.T) {
	t.Parallel()
	f := open(t, must.File(t, "log.csv", header+"1924-02-01 09:00:00,1,2\n2024-02-01 09:00:00,1,2\n"), Options{})
	if _, err := Summarize(f); err != nil {
		t.Error(err)
	}
	want := "the logs span 876600h0m0s; must be at most 69 days; cut them"
	if _, err := Fit(FitOptions{}, f); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestTimesAreReproducibleAndGoOn(t *testing.T) {
	t.Parallel()
	w := &FittedWorkload{Arrivals: &Bursty{Rates: []float64{60, 0, 120}, Chance: 0, Evenness: 1, Levels: []Level{{6, 0.3}, {10, 1}}}}
	take := func(seed uint64) []int64 {
		var times []int64
		for at := range w.Times(seed) {
			if at >= 6*int64(time.Minute) {
				break
			}
			times = append(times, at)
		}
		return times
	}
	first := take(1)
	counts := countIn(first, int64(time.Minute), 6)
	// Without chance a minute has its rate, give or take what is left of one.
	expect.NoDiff(t, gocmp.Diff([]float64{60, 0, 120, 60, 0, 120}, counts), "arrivals a minute (-want +got)")
	if !slices.IsSorted(first) {
		t.Error("times are not ascending")
	}
	expect.NoDiff(t, gocmp.Diff(first, take(1)), "the same seed gives other times")
	if slices.Equal(first, take(2)) {
		t.Error("another seed gives the same times")
	}
	if slices.Equal(first[:60], first[180:240]) {
		t.Error("the second round is the first")
	}
	if (&FittedWorkload{}).Times(1) != nil {
		t.Error("a workload without arrivals has times")
	}
}

func TestNamesAndTextStayInTheLog(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		fmt.Fprintf(&b, `{"ts":%d.5,"session":"sess-secret-%d","user":"ada-%d@example.com","model":"private-model","prompt":%q,"prompt_tokens":%d,"output_tokens":%d}`+"\n",
			1706778000+i, i/3, min(i%4, 1), "You are the secret assistant. "+strings.Repeat("Never tell. ", 50), 160, r.IntN(50)+1)
	}
	b.WriteString(`{"ts":1,"session":"x","user":"spoilt-secret","prompt_tokens":-1,"output_tokens":2}` + "\n")
	f := open(t, must.File(t, "secret-name.jsonl", b.String()), Options{SkipBadRows: true})
	w := must.Get(Fit(FitOptions{}, f))(t)
	var out bytes.Buffer
	must.Do(t, w.Write(&out))
	for _, word := range []string{"secret", "ada", "example", "private", "tell", "assistant", "170677"} {
		if strings.Contains(out.String(), word) {
			t.Errorf("the workload holds %q:\n%s", word, out.String())
		}
	}
	expect.NoDiff(t, gocmp.Diff([]Share{{"tenant_1", 0.75}, {"tenant_2", 0.25}}, w.Tenants), "tenants (-want +got)")
	expect.NoDiff(t, gocmp.Diff([]Share{{"class_1", 1}}, w.Classes), "classes (-want +got)")
	if w.Sessions != nil || !strings.Contains(strings.Join(w.Source.Notes, "\n"), "do not grow from turn to turn (0 of 200 do)") {
		t.Errorf("sessions %+v of prompts that are all alike; notes %q", w.Sessions, w.Source.Notes)
	}
	// Every prompt but the first is one that was there before.
	expect.NoDiff(t, gocmp.Diff(&Sharing{Share: round(299.0/300, 4), Requests: round(299.0/300, 4), Groups: 1}, w.Prefix), "prefix (-want +got)")
	named, err := Fit(FitOptions{KeepNames: true}, f)
	if err != nil || named.Tenants[0].Name != "ada-1@example.com" {
		t.Errorf("kept names: %v, %v", named.Tenants, err)
	}
}

func TestLogsOfSeveralReplicasAddUp(t *testing.T) {
	t.Parallel()
	log := func(second, n int) *File {
		var b strings.Builder
		b.WriteString(header)
		for i := range n {
			fmt.Fprintf(&b, "2024-02-01 09:%02d:%02d,10,10\n", (i+second)/60, (i+second)%60)
		}
		return open(t, must.File(t, "replica.csv", b.String()), Options{})
	}
	w := must.Get(Fit(FitOptions{}, log(0, 181), log(0, 61)))(t)
	counts := []float64{120, 61, 60}
	mean := stats.Mean(counts)
	keep := math.Sqrt((stats.Variance(counts) - mean) / stats.Variance(counts))
	want := []float64{text.Round(mean+keep*(120-mean), 6), text.Round(mean+keep*(61-mean), 6), text.Round(mean+keep*(60-mean), 6)}
	expect.NoDiff(t, gocmp.Diff(want, w.Arrivals.Rates), "rates (-want +got)")
	untimed := open(t, must.File(t, "lengths.csv", "input_tokens,output_tokens\n1,2\n"), Options{})
	if _, err := Fit(FitOptions{}, log(0, 3), untimed); err == nil || !strings.Contains(err.Error(), "fit them apart") {
		t.Errorf("logs with and without times: %v", err)
	}
	if _, err := Fit(FitOptions{}); err == nil {
		t.Error("a fit to nothing")
	}
	if w, err := Fit(FitOptions{}, untimed); err != nil || w.Arrivals != nil || w.Times(1) != nil {
		t.Errorf("a fit without times: %v, %+v", err, w.Arrivals)
	}
}

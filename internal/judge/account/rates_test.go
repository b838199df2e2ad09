package account

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"redline/docs/pages"
	"redline/internal/judge/metric"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/twin/process"
)

var (
	ratesFile  = flag.String("rates", "", "play every process and add what its verdicts come to to this file")
	ratesRuns  = flag.Int("rates.runs", 400, "runs of each process and length")
	ratesOnly  = flag.String("rates.only", "", "play processes whose name has this in it")
	ratesShard = flag.String("rates.shard", "1/1", "play the i-th of n parts of the processes")
	ratesPage  = flag.Bool("rates.page", false, "write the tables of the file into docs/measured/RATES.md, and play nothing")
)

// processRates is what a file of results says of a process: its truth and, for each length,
// how its verdicts came out.
type processRates struct {
	Process string
	Metric  string
	P       float64
	Rate    float64
	HeldOut bool
	Truth   float64
	Period  float64
	Known   map[string]float64
	First   uint64
	Runs    int
	Rows    []rowRates
}

type rowRates struct {
	Length              float64 // 0 for runs that end when they are decided
	Intervals, Covering int
	Cells               []cellRates
}

type cellRates struct {
	Ratio, Share, Within       float64
	Met, Missed, Early, Misled int
}

func (s processRates) key() string { return s.Process + " " + s.Metric }

// readRates reads a file of results; none where there is no file.
func readRates(t *testing.T, path string) (list []processRates) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	must.Do(t, err)
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one processRates
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		list = append(list, one)
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
	return list
}

// measureRates plays the processes that the file does not have, or writes its tables.
func measureRates(t *testing.T) {
	known := readRates(t, *ratesFile)
	if *ratesPage {
		writeRates(t, known)
		return
	}
	var shard, shards int
	if _, err := fmt.Sscanf(*ratesShard, "%d/%d", &shard, &shards); err != nil || shard < 1 || shard > shards {
		t.Fatalf("-rates.shard %s: want 1/4", *ratesShard)
	}
	file := must.Get(os.OpenFile(*ratesFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))(t)
	defer file.Close()
	for i, p := range slices.Concat(process.All(), engineProcesses()) {
		one := &trial{Process: p}
		has := slices.ContainsFunc(known, func(s processRates) bool { return s.key() == one.rates().key() && s.Runs == *ratesRuns })
		if has || i%shards != shard-1 || !strings.Contains(p.Name, *ratesOnly) {
			continue
		}
		one = one.play(*ratesRuns)
		one.log(t)
		line := must.Get(json.Marshal(one.rates()))(t)
		must.Get(file.Write(append(line, '\n')))(t)
	}
}

// play plays so many runs of each length that is asked for.
func (t *trial) play(runs int) *trial {
	windows, length := 60, 10_000.0
	if t.IsSimulated() {
		length = 1000
	}
	one := newTrial(t.Process, windows, length)
	lengths := []float64{60, 300}
	for _, periods := range []float64{somePeriods, manyPeriods} {
		if long := periods * one.Period; long > 300 && long <= 2400 && !t.IsSimulated() {
			lengths = append(lengths, long)
		}
	}
	one.judge(runs, append(lengths, untilDecided)...)
	one.know(runs)
	return one
}

func (t *trial) rates() processRates {
	s := processRates{Process: t.Name, Metric: t.objective(), P: t.P, Rate: t.Rate, HeldOut: t.HeldOut, Truth: t.Value, Period: t.Period,
		Known: map[string]float64{}, First: firstJudged}
	for ratio, decided := range t.known {
		s.Known[fmt.Sprint(ratio)] = decided
	}
	for _, r := range t.rows {
		s.Runs = r.runs
		row := rowRates{Length: r.length, Intervals: r.intervals, Covering: r.covering}
		for _, c := range r.cells {
			row.Cells = append(row.Cells, cellRates{c.ratio, c.share, c.within, c.met, c.missed, c.early, c.misled})
		}
		s.Rows = append(s.Rows, row)
	}
	return s
}

// trial is what a file of results says, to be summed up.
func (s processRates) trial() *trial {
	one := &trial{Process: process.Process{Name: s.Process, Metric: s.Metric, P: s.P, Rate: s.Rate, HeldOut: s.HeldOut},
		Truth: process.Truth{Value: s.Truth, Period: s.Period}, known: map[float64]float64{}}
	for _, from := range s.Rows {
		r := &row{length: from.Length, runs: s.Runs, intervals: from.Intervals, covering: from.Covering}
		for _, c := range from.Cells {
			one.known[c.Ratio] = s.Known[fmt.Sprint(c.Ratio)]
			r.cells = append(r.cells, &cell{ratio: c.Ratio, share: c.Share, within: c.Within, met: c.Met, missed: c.Missed, early: c.Early, misled: c.Misled})
		}
		one.rows = append(one.rows, r)
	}
	return one
}

// writeRates puts the tables of docs/measured/RATES.md between their marks.
func writeRates(t *testing.T, list []processRates) {
	if len(list) == 0 {
		t.Fatalf("%s has no results", *ratesFile)
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%d runs of each process and length, seeds from %s on, in virtual time (`make verdicts`).\n\n", list[0].Runs, text.Count(firstJudged))
	// In the order of the processes, whichever was measured first.
	var all []*trial
	for _, p := range slices.Concat(process.All(), engineProcesses()) {
		key := (&trial{Process: p}).rates().key()
		if i := slices.IndexFunc(list, func(s processRates) bool { return s.key() == key }); i >= 0 {
			all = append(all, list[i].trial())
		}
	}
	writeSums(&b, all)
	writePower(&b, all)
	writeDistances(&b, all)
	writeKinds(&b, list[0].Runs)
	writeProcesses(&b, all)
	must.Do(t, pages.Write("RATES.md", "verdicts", b.String()))
}

func (t *trial) objective() string {
	switch {
	case strings.Contains(t.Metric, ":"): // of a file
		return t.Metric
	case t.P == 0:
		return t.Metric + ":rate"
	}
	return t.Metric + ":" + metric.PercentileKey(100*t.P)
}

func (r *row) name() string {
	if r.length == untilDecided {
		return "until decided"
	}
	return fmt.Sprintf("%.0f s", r.length)
}

func writeProcesses(b *bytes.Buffer, all []*trial) {
	b.WriteString("\nEvery process and length:\n\n| process | objective | requests/s | period | length | periods | met wrongly | missed wrongly | one limit | decided, clear | of what could be | bound wrong | interval covers |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	share := func(v float64, given bool) string {
		if !given {
			return "–"
		}
		return fmt.Sprintf("%.0f%%", math.Floor(v))
	}
	for _, t := range all {
		name := t.Name
		if t.HeldOut {
			name += "*"
		}
		service := fmt.Sprintf("%s | `%s` | %g | %s s", name, t.objective(), t.Rate, text.Number(t.Period))
		for _, r := range t.rows {
			s, few := t.outcome(r), ""
			if t.periods(r) < somePeriods*(1-1e-9) {
				few = " ¹"
			}
			covers := share(s.covering, s.intervals > 0)
			if s.intervals > 0 && s.intervals < 99.5 {
				covers += fmt.Sprintf(" of %.0f%%", s.intervals)
			}
			fmt.Fprintf(b, "| %s | %s | %s%s | %.1f%% | %.1f%% | %.1f%% | %s | %s | %s | %s |\n", service, r.name(), text.Trim(fmt.Sprintf("%.1f", t.periods(r))), few, s.wrongMet, s.wrongMissed, s.worst, share(s.clear, s.clearCells > 0), share(s.power, s.powerCells > 0),
				share(math.Ceil(s.misled), t.P > 0), covers)
			service = " | | |" // as above
		}
	}
}

// writeSums lists what the rows come to, and which miss what is asked for.
func writeSums(b *bytes.Buffer, all []*trial) {
	b.WriteString("| windows | rows | met wrongly | missed wrongly | beyond what is asked for |\n|---|---|---|---|---|\n")
	for _, kind := range []struct {
		name     string
		from, to float64
	}{{"10 periods and more", manyPeriods, math.Inf(1)}, {"5 to 10 periods", somePeriods, manyPeriods}, {"fewer (no rate is asked for)", 0, somePeriods}} {
		met, missed, rows := 0.0, 0.0, 0
		var over []string
		for _, t := range all {
			for _, r := range t.rows {
				if periods := t.periods(r) * (1 + 1e-9); periods < kind.from || periods >= kind.to {
					continue
				}
				s := t.outcome(r)
				rows, met, missed = rows+1, met+s.wrongMet, missed+s.wrongMissed
				if wrong := t.faults(r, 0); len(wrong) > 0 {
					over = append(over, fmt.Sprintf("%s, %s (%s)", t.Name, r.name(), strings.Join(wrong, ", ")))
				}
			}
		}
		fmt.Fprintf(b, "| %s | %d | %.1f%% | %.1f%% | %s |\n", kind.name, rows, met/float64(max(rows, 1)), missed/float64(max(rows, 1)), strings.Join(over, "; "))
	}
}

// writePower says what windows of 300 s decide of what could be decided.
func writePower(b *bytes.Buffer, all []*trial) {
	var power, cells [2]float64 // of met, of missed
	clear, decided := 0, 0
	for _, t := range all {
		for _, r := range t.rows {
			if r.length != 300 {
				continue
			}
			for _, c := range r.cells {
				right, known := c.right(r.runs), t.known[c.ratio]
				switch side := min(int(c.ratio), 1); {
				case c.clear():
					clear++
					if right >= minClear {
						decided++
					}
				case known >= 10:
					power[side] += min(100, 100*right/known)
					cells[side]++
				}
			}
		}
	}
	fmt.Fprintf(b, "\nWhere error rates and power cannot both be had, error rates go before. At 300 s, met is called in %.0f%% and missed in %.0f%% of the cases in which a test by counts decides that knows how violations come (80%% were wanted); of %d limits that are clear, %d are decided in 90%% of runs or more. Most of the others are of windows with few periods, where such a test decides nothing, or of clusters that come like clockwork, which the rule takes for random.\n",
		power[0]/max(cells[0], 1), power[1]/max(cells[1], 1), clear, decided)
}

// writeDistances says how often verdicts are given, by how far the limit is.
func writeDistances(b *bytes.Buffer, all []*trial) {
	b.WriteString("\nHow often a verdict is given, and right, by the truth over the limit, over all processes of which the window holds five periods or more:\n\n| length |")
	ratios := append(append([]float64{}, keeping...), missing...)
	line := "|---|"
	for _, ratio := range ratios {
		fmt.Fprintf(b, " %g |", ratio)
		line += "---|"
	}
	b.WriteString("\n" + line + "\n")
	for _, length := range []float64{60, 300, untilDecided} {
		fmt.Fprintf(b, "| %s |", (&row{length: length}).name())
		for _, ratio := range ratios {
			right, rows := 0.0, 0
			for _, t := range all {
				for _, r := range t.rows {
					for _, c := range r.cells {
						if r.length == length && c.ratio == ratio && t.periods(r) >= somePeriods {
							right += c.right(r.runs)
							rows++
						}
					}
				}
			}
			fmt.Fprintf(b, " %.0f%% |", right/float64(max(rows, 1)))
		}
		b.WriteString("\n")
	}
}

func writeKinds(b *bytes.Buffer, seeds int) {
	b.WriteString("\nRare slow requests, 20 times slower than the others, under a p99 limit between the kinds (met is wrong in every row):\n\n| slow | requests | met | missed |\n|---|---|---|---|\n")
	for _, share := range []float64{0.011, 0.015, 0.02, 0.03} {
		for _, n := range []int{100, 300, 450, 1000, 2000, 5000} {
			met, missed := kindRates("ttft", kindLimit, n, seeds, share)
			fmt.Fprintf(b, "| %.1f%% | %d | %.1f%% | %.1f%% |\n", 100*share, n, met, missed)
		}
	}
	b.WriteString("\nIndependent failures under `error:rate<1%`:\n\n| failing | requests | met | missed |\n|---|---|---|---|\n")
	for _, share := range []float64{0, 0.001, 0.005, 0.0098, 0.0102, 0.02, 0.1} {
		for _, n := range []int{500, 2000} {
			met, missed := kindRates("error", errorLimit, n, seeds, share)
			fmt.Fprintf(b, "| %.2f%% | %d | %.1f%% | %.1f%% |\n", 100*share, n, met, missed)
		}
	}
}

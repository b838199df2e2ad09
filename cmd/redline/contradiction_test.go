package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"redline/internal/effort"
)

// Whole reports, of runs of many kinds in virtual time, are read as a careful
// person reads them: for figures that contradict one another, verdicts without a
// reason, notes that lead nowhere, and units nobody would use.
func TestReportsDoNotContradictThemselves(t *testing.T) {
	small := []string{"--max-num-seqs", "4", "--workload", "in=fixed(200) out=fixed(150)"}
	for name, args := range map[string][]string{
		"no objectives": {"run", "--rate", "5", "--duration", "30s"},
		"chat":          {"run", "--rate", "5", "--duration", "60s", "--slo", "chat"},
		"missed":        {"run", "--rate", "5", "--duration", "60s", "--slo", "ttft:p99<20ms", "--slo", "tpot:p95<40ms"},
		"at the limit":  {"run", "--rate", "5", "--duration", "60s", "--slo", "ttft:p99<60ms", "--slo", "e2e:p90<4s"},
		"wrong usage":   {"run", "--rate", "5", "--duration", "30s", "--slo", "chat", "--fault", "wrong-usage"},
		"failing":       {"run", "--rate", "5", "--duration", "60s", "--slo", "chat", "--fault", "500:3%"},
		"stalling":      {"run", "--rate", "5", "--duration", "30s", "--slo", "chat", "--fault", "stall(50s):5%", "--drain", "10s"},
		"one request":   {"run", "--requests", "1", "--concurrency", "1", "--slo", "ttft:p99<1s"},
		"closed loop":   {"run", "--concurrency", "4", "--duration", "30s", "--slo", "e2e:p95<2s"},
		"capped":        append([]string{"run", "--rate", "8", "--concurrency", "2", "--duration", "30s", "--slo", "ttft:p99<200ms"}, small...),
		"overloaded":    append([]string{"run", "--rate", "8", "--slo", "ttft:p99<200ms", "--slo", "tpot:p95<6.9ms"}, small...),
		"sweep":         append([]string{"sweep", "--rates", "1,2,8", "--duration", "20s", "--slo", "ttft:p99<100ms"}, small...),
	} {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains([]string{"missed", "wrong usage", "stalling", "one request", "overloaded", "sweep"}, name) {
				effort.Long(t)
			}
			virtually(t, func(w *world) {
				out := filepath.Join(t.TempDir(), "run")
				_, terminal, live := w.redline(append(args, "--out", out)...)
				page, err := os.ReadFile(filepath.Join(out, "report.html"))
				if err != nil {
					t.Fatalf("%v\n%s%s", err, terminal, live)
				}
				texts := map[string]string{"terminal": terminal, "live": live, "page": readable(string(page))}
				for how, flags := range map[string][]string{"explained": {"--explain"}, "markdown": {"--format", "markdown"}} {
					_, texts[how], _ = w.redline(append([]string{"report", out}, flags...)...)
				}
				for how, text := range texts {
					if strings.TrimSpace(text) == "" {
						t.Errorf("%s: nothing is said", how)
					}
					for _, fault := range readFor(how, text) {
						t.Errorf("%s: %s", how, fault)
					}
					if t.Failed() && testing.Verbose() {
						t.Logf("%s:\n%s", how, text)
					}
				}
				if n := strings.Count(texts["markdown"], "\n"); n > 50 {
					t.Errorf("a pull request gets %d lines", n)
				}
			})
		})
	}
}

// What the reading finds where it is there to be found.
func TestContradictionsAreFound(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"MET  ttft p99 84 ms, limit 500 ms\n":                                                        "",
		"MISSED  e2e p99 112,000 ms, limit 15 s\n":                                                   "112,000 ms",
		"latency, ms    n   mean    p99\n  e2e from due   3   1,000   14,000\n":                      "14,000",
		"latency, ms    n   mean    p99\n  e2e from due, s   3   1.00   14.0\n":                      "",
		"requests  1 requests due\n":                                                                 "1 requests",
		"load  1 requests/s · 21 requests\n":                                                         "",
		"lag   p99 1.1 ms, expected ≤ 1.1 ms\n":                                                      "1.1",
		"TOO CLOSE TO CALL  ttft p99 1,260 ms, limit 500 ms\n\nrun  a\n":                             "no reason",
		"TOO CLOSE TO CALL  ttft p99 1,260 ms, limit 500 ms: the queue grows\n\nrun  a\n":            "",
		"  confirm  redline run --url http://a\n           --rate 5\n":                               "runs alone",
		"  confirm  redline run --url http://a \\\n           --rate 5\n":                            "",
		"ttft p50¹  12 ms\n":                                                                         "¹",
		"ttft p50¹  12 ms\n  ¹ low confidence\n":                                                     "",
		"  ² low confidence\n":                                                                       "²",
		"MISSED  ttft p99 151 ms, limit 90 ms\n\nlatency, ms   n   p99\n  ttft from due   3   140\n": "ttft p99",
		"MISSED  ttft p99 151 ms, limit 90 ms\n\nobjectives   figure\n  missed   ttft p99 from due   151 ms   140 ms among ok requests\n\nlatency, ms   n   p99\n  ttft from due   3   140\n": "",
	} {
		found := strings.Join(readFor("terminal", text), "; ")
		if (found == "") != (want == "") || !strings.Contains(found, want) {
			t.Errorf("%q: found %q, want %q", text, found, want)
		}
	}
}

var (
	tags        = regexp.MustCompile(`(?s)<(style|script|svg)\b.*?</(style|script|svg)>|<[^>]*>`)
	longMS      = regexp.MustCompile(`\b\d{2,3},\d{3}(\.\d+)?[  ]ms\b`)
	oneOfMany   = regexp.MustCompile(`(?:^|[^\d.,#])1[  ](requests|replies|levels|runs|times|checks|workers|tokens|seconds|minutes|errors|cores|caveats|preemptions|questions|connections|objectives|warnings|figures|stages|rounds)\b(?:[^/]|$)`)
	equalPair   = regexp.MustCompile(`([\d.,]+)[  ]?(ms|s|%), (?:expected|allowed|limit) [≤<≥>]?[  ]?([\d.,]+)[  ]?(ms|s|%)`)
	superscript = regexp.MustCompile(`[⁰¹²³⁴-⁹]+`)
	spokenStat  = regexp.MustCompile(`\b(ttft|tpot|e2e|itl|stall) (p\d+) ([\d.,]+)[  ](ms|s)\b`)
	// A line that ends within a command, and the next one, which goes on with it.
	brokenCommand = regexp.MustCompile(`(?m)^.*\bredline( [a-z]+\b([^;:\n]|[;:]\S)*[^\\;:,.\n])?\n +(-{1,2}[a-z]|'|http).*`)
	openSaid      = regexp.MustCompile(`limit [\d.,]+[  ]?(?:ms|s|%)?: \S+ \S+`)
)

// readable is the text of a page, its elements apart from one another.
func readable(page string) string { return html.UnescapeString(tags.ReplaceAllString(page, "  ")) }

// readFor lists what a careful reader would stop at.
func readFor(how, text string) (faults []string) {
	add := func(format string, arguments ...any) { faults = append(faults, fmt.Sprintf(format, arguments...)) }
	for _, m := range longMS.FindAllString(text, -1) {
		add("%s are seconds", m)
	}
	for _, m := range oneOfMany.FindAllString(text, -1) {
		add("%q", m)
	}
	for _, m := range equalPair.FindAllStringSubmatch(text, -1) {
		if m[1] == m[3] && m[2] == m[4] {
			add("%q: the two look equal", m[0])
		}
	}
	if m := brokenCommand.FindString(text); m != "" && how != "page" {
		add("pasted, the first line runs alone: %q", m)
	}
	if how == "live" || how == "page" {
		return faults
	}
	first, _, _ := strings.Cut(text, "\n\n")
	if how == "markdown" {
		_, first, _ = strings.Cut(text, "**")
		first, _, _ = strings.Cut(first, "\n\n")
	}
	if said := strings.Join(strings.Fields(first), " "); strings.HasPrefix(said, "TOO CLOSE TO CALL ") && strings.Contains(said, ", limit ") && !openSaid.MatchString(said) {
		add("no reason why it is open: %q", said)
	}
	return append(append(faults, strayMarks(text)...), twoValues(text)...)
}

// strayMarks are marks without a footnote, and footnotes without a mark.
func strayMarks(text string) (faults []string) {
	marked, noted := map[string]bool{}, map[string]bool{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if note := superscript.FindString(line); note != "" && strings.HasPrefix(line, note+" ") {
			noted[note] = true
			line = strings.TrimPrefix(line, note)
		}
		for _, m := range superscript.FindAllString(line, -1) {
			marked[m] = true
		}
	}
	for m := range marked {
		if !noted[m] {
			faults = append(faults, m+" has no footnote")
		}
	}
	for m := range noted {
		if !marked[m] {
			faults = append(faults, "nothing is marked "+m)
		}
	}
	return faults
}

// twoValues are latencies that one report gives twice under one name, with values
// that differ: in its headline, among the objectives and in the table of latencies,
// where ttft and e2e count from due. What differs by the requests that it is of says
// so.
func twoValues(text string) (faults []string) {
	seen := map[string]float64{}
	take := func(name, value, unit string) {
		v, err := strconv.ParseFloat(strings.ReplaceAll(value, ",", ""), 64)
		if err != nil {
			return
		}
		if unit == "s" {
			v *= 1000
		}
		if before, again := seen[name]; again && math.Abs(v-before) > 0.01*max(v, before) {
			faults = append(faults, fmt.Sprintf("%s is %g ms and %g ms", name, before, v))
		}
		seen[name] = v
	}
	lead, _, _ := strings.Cut(text, "\nrun ")
	for _, m := range spokenStat.FindAllStringSubmatch(strings.Split(lead, "\n\n")[0], -1) {
		take(m[1]+" "+m[2], m[3], m[4])
	}
	var columns []string
	for line := range strings.Lines(text) {
		cells := cellsOf(line)
		switch {
		case len(cells) == 0:
			columns = nil
		case strings.HasPrefix(cells[0], "latency"):
			columns = cells
		case columns != nil && len(cells) == len(columns):
			name, unit, _ := strings.Cut(strings.TrimSuffix(cells[0], " from due"), ", ")
			name = strings.TrimSuffix(name, " from due")
			for i, column := range columns {
				if strings.HasPrefix(column, "p") {
					if v, _ := strconv.ParseFloat(strings.ReplaceAll(cells[i], ",", ""), 64); v >= 10_000 {
						faults = append(faults, fmt.Sprintf("%s %s of %s are seconds", name, column, cells[i]))
					}
					if !strings.Contains(text, "among ok requests") {
						take(name+" "+column, cells[i], unit)
					}
				}
			}
		case slices.ContainsFunc(cells, func(c string) bool { return strings.HasSuffix(c, " from due") }):
			at := slices.IndexFunc(cells, func(c string) bool { return strings.HasSuffix(c, " from due") })
			if value, unit, found := strings.Cut(strings.Join(cells[at+1:], " "), " "); found && at+1 < len(cells) {
				unit, _, _ = strings.Cut(unit, " ")
				take(strings.TrimSuffix(cells[at], " from due"), value, unit)
			}
		}
	}
	return faults
}

// cellsOf are the cells of a row of a table, on a terminal or in Markdown.
func cellsOf(line string) (cells []string) {
	line = superscript.ReplaceAllString(strings.TrimSpace(strings.ReplaceAll(line, " ", " ")), "")
	apart := regexp.MustCompile(`\s{2,}`)
	if strings.HasPrefix(line, "|") {
		line = strings.Trim(line, "|")
		apart = regexp.MustCompile(`\|`)
	}
	for _, cell := range apart.Split(line, -1) {
		if cell = strings.TrimSpace(cell); cell != "" {
			cells = append(cells, cell)
		}
	}
	return cells
}

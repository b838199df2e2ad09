package metric

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"testing"

	"redline/internal/text"
)

// writeRates puts the tables of docs/METRICS.md between their marks.
func writeRates(t *testing.T, all []*trial, seeds int) {
	page := os.Getenv("REDLINE_PAGE")
	if page == "" {
		page = "../../../docs/METRICS.md"
	}
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- verdicts -->\n", "<!-- end of verdicts -->"
	head, rest, ok := bytes.Cut(old, []byte(begin))
	_, tail, also := bytes.Cut(rest, []byte(end))
	if !ok || !also {
		t.Fatalf("%s has no place for the tables", page)
	}
	var b bytes.Buffer
	b.Write(head)
	b.WriteString(begin)
	fmt.Fprintf(&b, "%d runs of each process and length, seeds from %s on, in virtual time (`make verdicts`).\n\n", seeds, text.Count(firstJudged))
	writeProcesses(&b, all)
	writeDistances(&b, all)
	writeKinds(&b, seeds)
	b.WriteString(end)
	b.Write(tail)
	if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (t *trial) objective() string {
	if t.P == 0 {
		return t.Metric + ":rate"
	}
	return t.Metric + ":" + PercentileKey(100*t.P)
}

func (r *row) name() string {
	if r.length == untilDecided {
		return "until decided"
	}
	return fmt.Sprintf("%.0f s", r.length)
}

func writeProcesses(b *bytes.Buffer, all []*trial) {
	b.WriteString("| process | objective | requests/s | period | length | periods | met wrongly | missed wrongly | one limit | decided, clear | of what could be |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	share := func(v float64, cells int) string {
		if cells == 0 {
			return "–"
		}
		return fmt.Sprintf("%.0f%%", math.Floor(v))
	}
	for _, t := range all {
		for _, r := range t.rows {
			s, name, wrong := t.outcome(r), t.Name, ""
			if t.HeldOut {
				name += "*"
			}
			if t.periods(r) < somePeriods*(1-1e-9) {
				wrong = " ¹"
			}
			fmt.Fprintf(b, "| %s | `%s` | %g | %s s | %s | %s%s | %.1f%% | %.1f%% | %.1f%% | %s | %s |\n", name, t.objective(), t.Rate, text.Number(t.Period),
				r.name(), text.Number(t.periods(r)), wrong, s.wrongMet, s.wrongMissed, s.worst, share(s.clear, s.clearCells), share(s.power, s.powerCells))
		}
	}
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

package report

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
)

// TestFormats holds every format to the same contract, for every sample and
// for results that no run should ever make.
func TestFormats(t *testing.T) {
	t.Parallel()
	all := append(samples(),
		sample{"empty", &result.Result{}},
		sample{"empty point", &result.Result{Points: []result.Point{{}}}},
		sample{"two points", twoPointsSample()},
		sample{"hostile", hostileSample()},
	)
	for _, format := range Formats {
		for _, s := range all {
			t.Run(format.Name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				var out bytes.Buffer
				must.Do(t, format.Write(&out, s.result))
				if text := out.String(); len(text) < 20 || !strings.HasSuffix(text, "\n") {
					t.Errorf("wrote %q; want a document that ends with a newline", text)
				}
				if !utf8.Valid(out.Bytes()) {
					t.Error("wrote text that is not UTF-8")
				}
			})
		}
	}
}

func TestFormatsWithoutResult(t *testing.T) {
	t.Parallel()
	for _, format := range Formats {
		var out bytes.Buffer
		if err := format.Write(&out, nil); !errors.Is(err, ErrNoResult) || out.Len() > 0 {
			t.Errorf("%s without a result: wrote %q, error %v; want nothing and %v", format.Name, out.String(), err, ErrNoResult)
		}
	}
}

var errFull = errors.New("disk full")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestFormatsReportWriteErrors(t *testing.T) {
	t.Parallel()
	for _, format := range Formats {
		if err := format.Write(fullDisk{}, metSample()); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: error %v; want %v", format.Name, err, errFull)
		}
	}
}

var noteMark = regexp.MustCompile("[⁰¹²³⁴⁵⁶⁷⁸⁹]")

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestTerminalFits renders every sample at several widths, with everything
// that the options can add. Tables alone use more than 100 columns.
func TestTerminalFits(t *testing.T) {
	t.Parallel()
	all := append(samples(), sample{"two points", twoPointsSample()}, sample{"hostile", hostileSample()})
	for _, s := range all {
		for width, most := range map[int]int{0: 100, 40: 40, 56: 56, 72: 72, 80: 80, 95: 95, 100: 100, 250: 250} {
			var out bytes.Buffer
			must.Do(t, Terminal(&out, s.result, TerminalOptions{Color: true, Explain: true, Width: width}))
			for line := range strings.Lines(ansi.ReplaceAllString(out.String(), "")) {
				line = strings.TrimSuffix(line, "\n")
				n := utf8.RuneCountInString(line)
				if n > most || n > 100 && !strings.Contains(strings.TrimSpace(line), "  ") {
					t.Errorf("%s at width %d: %d columns, want at most %d: %q", s.name, width, n, most, line)
				}
				if strings.ContainsFunc(line, unicode.IsControl) {
					t.Errorf("%s: control character in %q", s.name, line)
				}
			}
		}
	}
}

// Groups keep the median and the p95 of whole replies at any width, and have every
// percentile where there is room for it.
func TestBucketsUseTheWidth(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		80:  "due ttft p50 p95 tpot p50 e2e p50 p95",
		100: "due ttft p50 p95 p99 tpot p50 p95 e2e p50 p95 decode",
		140: "due share ttft p50 p95 p99 tpot p50 p95 p99 e2e p50 p95 p99 decode out tokens/s",
		220: "due share ttft p50 p95 p99 tpot p50 p95 p99 e2e p50 p95 p99 decode out tokens/s histogram",
	} {
		var out bytes.Buffer
		must.Do(t, Terminal(&out, manyBucketsSample(), TerminalOptions{Width: width, Explain: true}))
		_, table, _ := strings.Cut(out.String(), "by prompt, ms")
		head, _, _ := strings.Cut(table, "\n")
		if got := strings.Join(strings.Fields(noteMark.ReplaceAllString(head, "")), " "); got != want {
			t.Errorf("at %d columns: %q, want %q", width, got, want)
		}
	}
}

// TestColorOnlyColors: a report in color says what the plain one says.
func TestColorOnlyColors(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		var plain, color bytes.Buffer
		must.Do(t, Terminal(&plain, s.result, TerminalOptions{}))
		must.Do(t, Terminal(&color, s.result, TerminalOptions{Color: true}))
		if !strings.Contains(color.String(), "\x1b[") {
			t.Errorf("%s: no color", s.name)
		}
		expect.NoDiff(t, cmp.Diff(plain.String(), ansi.ReplaceAllString(color.String(), "")), "%s: color changes the text (-plain +color)", s.name)
	}
}

// TestFootnotesAreReferred: every footnote printed is referred to above it,
// and every mark has its footnote, at any width.
func TestFootnotesAreReferred(t *testing.T) {
	t.Parallel()
	all := 0
	for _, s := range samples() {
		for _, width := range []int{40, 72, 86, 100} {
			var out bytes.Buffer
			must.Do(t, Terminal(&out, s.result, TerminalOptions{Width: width}))
			notes, marks := map[string]bool{}, map[string]bool{}
			for line := range strings.Lines(out.String()) {
				body := line
				if found := noteMark.FindString(line); found != "" && strings.HasPrefix(line, "  "+found+" ") {
					notes[found] = true
					body = strings.TrimPrefix(line, "  "+found)
				}
				for _, found := range noteMark.FindAllString(body, -1) {
					marks[found] = true
				}
			}
			all += len(notes)
			expect.NoDiff(t, cmp.Diff(marks, notes), "%s at width %d: marks and footnotes differ (-marks +notes)", s.name, width)
		}
	}
	if all == 0 {
		t.Error("no page has a footnote")
	}
}

func twoPointsSample() *result.Result {
	r := metSample()
	r.Points = append(r.Points, missedSample().Points...)
	r.Verdict.SLO = "missed"
	return r
}

// hostileSample holds what a server, a plan or a bug could put into a result.
func hostileSample() *result.Result {
	long := strings.Repeat("x", 300)
	evil := "a\x1b[2Jb\nc\r" + long
	r := manyBucketsSample()
	r.Label, r.Note, r.ID, r.Interrupted = evil, evil, evil, evil
	r.Engine = result.Engine{Name: evil, Version: evil, API: evil, URL: evil, Declared: map[string]string{evil: evil}}
	r.Model, r.Workload = result.Model{Name: evil}, result.Workload{Name: evil, Tokenizer: evil, Arrival: evil}
	r.Hardware = result.Hardware{Accelerator: evil, Count: 8, Notes: evil}
	r.Client.Timestamps.Source = evil
	r.Verdict = result.Verdict{Valid: result.Validity(evil), SLO: slo.Standing(evil), Reasons: []string{evil, ""},
		Checks:    []result.Check{{Name: evil, Figure: evil, Threshold: evil, Cure: evil}, {}},
		Unchecked: []result.SkippedCheck{{Name: evil, Why: evil}, {}}}
	r.Warnings = append(r.Warnings, result.Warning{Figure: evil, Text: evil}, result.Warning{Figure: "latency.ttft_ms.max", Text: evil})
	p := &r.Points[0]
	p.Load.Mode = evil
	p.Requests.Faults[evil] = 3
	p.Latency.TTFT = &metric.Dist{N: 1, Mean: 1e300, Max: 123456789}
	p.Latency.ITL = &metric.Dist{N: 5, P: map[string]float64{"p50": 1e-9, "p9999": 12345678.9, "p99": 987654321}}
	p.Objectives = []slo.Verdict{{}, {Objective: evil, Standing: slo.Standing(evil), Unit: "ms"},
		{Objective: "ttft:p99<500ms", Standing: slo.Missed, Unit: "ms", Limit: 500, Note: evil}}
	p.Buckets[0].Name = evil
	p.Buckets[1].Latency = metric.Latency{}
	return r
}

package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

func TestTicksAreRound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		values []float64
		log    bool
		want   []float64
	}{
		{"from nothing up", []float64{4, 32}, false, []float64{0, 10, 20, 30}},
		{"small", []float64{0.3}, false, []float64{0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3}},
		{"one value", []float64{7}, false, []float64{0, 2, 4, 6}},
		{"nothing", nil, false, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{"by ratios", []float64{40, 900}, true, []float64{50, 100, 200, 500, 1000}},
		{"powers alone over many decades", []float64{0.01, 100_000}, true, []float64{0.01, 0.1, 1, 10, 100, 1000, 10_000, 100_000}},
	} {
		got := newScale(tt.values, Axis{Log: tt.log}).ticks
		expect.NoDiff(t, cmp.Diff(tt.want, got, cmp.Comparer(near)), "%s (-want +got)", tt.name)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1) }

func TestScaleHoldsItsValues(t *testing.T) {
	t.Parallel()
	for _, log := range []bool{false, true} {
		values := []float64{3, 17, 950}
		s := newScale(values, Axis{Log: log})
		before := math.Inf(-1)
		for _, v := range values {
			at := s.at(v)
			if at < 0 || at > 1 || at <= before {
				t.Errorf("log %v: %g lies at %g after %g", log, v, at, before)
			}
			before = at
		}
	}
}

// sample is three levels, the first a probe, around a limit.
func sample() Chart {
	return Chart{
		Title: "latency against load", Description: "it bends",
		X: Axis{Label: "requests/s"}, Y: Axis{Label: "ms", Log: true},
		Lines: []Line{
			{Name: "p99", Points: []Point{
				{X: 10, Y: 100, Low: 80, High: 120, Hollow: true, Text: "ten"},
				{X: 20, Y: 1000, Low: 900, High: 1100, Text: "twenty"},
				{X: 30, Y: 10_000, Text: "thirty <fast> & \"loose\""},
			}},
			{Name: "p50", Points: []Point{{X: 10, Y: 50}, {X: 20, Y: 60}}},
		},
		Bounds: []Bound{{Y: 500, Text: "objective"}},
		Marks:  []Mark{{X: 18, Low: 17, High: 19, Text: "limit 18"}, {X: 15, Text: "knee 15", Faint: true}},
	}
}

// elements counts the elements of a document by name and class.
func elements(t *testing.T, document string) map[string]int {
	t.Helper()
	counts := map[string]int{}
	decoder := xml.NewDecoder(strings.NewReader(document))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return counts
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		name := start.Name.Local
		for _, a := range start.Attr {
			if a.Name.Local == "class" {
				name += "." + strings.ReplaceAll(a.Value, " ", ".")
			}
		}
		counts[name]++
	}
}

// Names stand beside the ends of lines, without what is remarked in them, in the
// order of the lines and none over another; where they are one, many, long or not
// distinct there are none.
func TestNamesStandBesideTheEndsOfLines(t *testing.T) {
	t.Parallel()
	line := func(name string, ends float64) Line {
		return Line{Name: name, Plain: true, Points: []Point{{X: 1, Y: 50}, {X: 9, Y: ends}}}
	}
	c := Chart{Lines: []Line{line("p99 of requests due within 1 s", 41), line("p50, of all", 40), line("A: http://a", 90)}}
	placed := regexp.MustCompile(`<text class="label" x="([0-9.]+)" y="([0-9.]+)">([^<]*)</text>`).FindAllStringSubmatch(c.SVG("a", Size{480, 300}), -1)
	var names []string
	last := 0.0
	for _, one := range placed {
		y, err := strconv.ParseFloat(one[2], 64)
		if names = append(names, one[3]); err != nil || y < last+labelHeight-0.1 {
			t.Errorf("%s stands at %s, %v below the one before: %v", one[3], one[2], y-last, err)
		}
		last = y
	}
	expect.Same(t, []string{"A", "p99", "p50"}, names)
	if ends := []string{c.Data().Lines[0].End, c.Data().Lines[1].End, c.Data().Lines[2].End}; ends[0] != "p99" || ends[1] != "p50" || ends[2] != "A" {
		t.Errorf("a script writes %q", ends)
	}
	for why, lines := range map[string][]Line{"one": {line("p99", 1)}, "long": {line("p99", 1), line("everything together", 2)}, "not distinct": {line("p99", 1), line("p99, too", 2)},
		"many": {line("a", 1), line("b", 1), line("c", 1), line("d", 1), line("e", 1), line("f", 1)}} {
		if names := (&Chart{Lines: lines}).ends(); names != nil {
			t.Errorf("%s: %q", why, names)
		}
	}
}

func TestSVGDrawsEveryPart(t *testing.T) {
	t.Parallel()
	c := sample()
	got := elements(t, c.SVG("a", Size{480, 300}))
	want := map[string]int{
		"svg.chart": 1, "desc": 1, "rect.band": 1, "line.bound": 1, "text.bound": 1,
		"line.mark": 1, "text.mark": 1, "line.mark.faint": 1, "text.mark.faint": 1,
		"polyline": 2, "path.whisker": 2,
		"circle.dot":        4 + 2, // and two in the legend
		"circle.dot.hollow": 1 + 1,
		"g.line0":           1 + 2 + 1, "g.line1": 1 + 1 + 1, // and their names beside their ends
		"text.label": 2,
		"line.frame": 1, "text.axis.name": 2,
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%d of %s, want %d", got[name], name, n)
		}
	}
	for name := range got {
		if strings.HasPrefix(name, "script") || strings.HasPrefix(name, "style") || strings.HasPrefix(name, "image") {
			t.Errorf("the picture holds a %s", name)
		}
	}
}

func TestSVGHasAlternativesInWords(t *testing.T) {
	t.Parallel()
	c := sample()
	picture := c.SVG("x7", Size{480, 300})
	for _, want := range []string{`role="img"`, `aria-labelledby="x7-title x7-desc"`, `<title id="x7-title">latency against load</title>`,
		`<desc id="x7-desc">it bends</desc>`, "thirty &lt;fast&gt; &amp; &#34;loose&#34;"} {
		if !strings.Contains(picture, want) {
			t.Errorf("no %s in\n%s", want, picture)
		}
	}
}

// What a bug could hand over must not end up as a number in the picture.
func TestSVGOfNonsense(t *testing.T) {
	t.Parallel()
	for _, c := range []Chart{
		{},
		{Y: Axis{Log: true}, Lines: []Line{{Points: []Point{{X: 1, Y: 0}, {X: 2, Y: -5}, {X: 3, Y: math.NaN()}, {X: 4, Y: math.Inf(1)}}}}},
		{Y: Axis{Log: true}, Lines: []Line{{Points: []Point{{X: 1, Y: 5, Low: -1, High: 9}}}}, Bounds: []Bound{{Y: 0}}},
		{Lines: []Line{{Points: []Point{{X: 0, Y: 0}}}}, Marks: []Mark{{X: 0}}},
	} {
		picture := c.SVG("n", Size{})
		elements(t, picture)
		if strings.Contains(picture, "NaN") || strings.Contains(picture, "Inf") {
			t.Errorf("%+v gives\n%s", c, picture)
		}
		c.Text(0, 0)
	}
}

func TestTextShowsWhereThePointsAre(t *testing.T) {
	t.Parallel()
	c := sample()
	rows := c.Text(60, 12)
	hollow, full, bound := -1, []int{}, -1
	for i, row := range rows[1:13] {
		switch {
		case strings.ContainsRune(row, signHollow):
			hollow = i
		case strings.ContainsRune(row, signDot):
			full = append(full, i)
		}
		if strings.ContainsRune(row, signBound) {
			bound = i
		}
	}
	if len(full) != 2 || !(full[0] < full[1] && full[1] <= bound && bound < hollow) {
		t.Errorf("full points in rows %v, the objective in %d, the probe in %d: want them in this order from above\n%s",
			full, bound, hollow, strings.Join(rows, "\n"))
	}
	said := strings.Join(rows[13:], "\n")
	for _, want := range []string{"requests/s", "● p99", "○ exploratory", "┄┄ objective", "│ limit 18", "┊ knee 15"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not below the plot:\n%s", want, said)
		}
	}
}

func TestTextFits(t *testing.T) {
	t.Parallel()
	c := sample()
	for _, width := range []int{40, 60, 80} {
		for _, row := range c.Text(width, 10) {
			if n := utf8.RuneCountInString(row); n > width {
				t.Errorf("%d columns, want at most %d: %q", n, width, row)
			}
		}
	}
	if rows := (&Chart{}).Text(80, 10); rows != nil {
		t.Errorf("a chart of nothing gives %q", rows)
	}
}

// frontier is two series with a sign each, joined by a trail.
func frontier() Chart {
	return Chart{X: Axis{Label: "speed"}, Y: Axis{Label: "output"}, Hollow: "beaten", Lines: []Line{
		{Name: "frontier", Trail: true, Points: []Point{{X: 10, Y: 90}, {X: 10, Y: 20}, {X: 80, Y: 20}}},
		{Name: "old", Sign: 'A', Loose: true, Points: []Point{{X: 10, Y: 90}, {X: 5, Y: 10, Hollow: true}}},
		{Name: "new", Sign: 'B', Loose: true, Points: []Point{{X: 80, Y: 20}}},
	}}
}

func TestTextTellsSeriesApart(t *testing.T) {
	t.Parallel()
	c := frontier()
	text := strings.Join(c.Text(60, 12), "\n")
	for sign, n := range map[string]int{"A": 2, "a": 2, "B": 2} { // each once in the plot and once in the key
		if got := strings.Count(text, sign); got < n {
			t.Errorf("%q stands %d times, want %d:\n%s", sign, got, n, text)
		}
	}
	for _, want := range []string{"·····", "·· frontier", "A old (a: beaten)", "B new"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestSVGJoinsOnlyTheTrail(t *testing.T) {
	t.Parallel()
	c := frontier()
	got := elements(t, c.SVG("f", Size{480, 300}))
	for name, n := range map[string]int{"polyline": 1, "circle.dot": 2 + 2, "circle.dot.hollow": 1 + 1, "g.line0.trail": 2, "g.line1.signA": 2, "g.line2.signB": 2} {
		if got[name] != n {
			t.Errorf("%d of %s, want %d", got[name], name, n)
		}
	}
}

// Names that do not fit beside each other make the picture taller: the second
// of fifty letters goes below the first.
func TestLegendTakesRows(t *testing.T) {
	t.Parallel()
	c := frontier()
	short := c.SVG("f", Size{480, 300})
	c.Lines[1].Name, c.Lines[2].Name = strings.Repeat("a", 50), strings.Repeat("b", 50)
	long := c.SVG("f", Size{480, 300})
	if !strings.Contains(short, `viewBox="0 0 480 300"`) || !strings.Contains(long, `viewBox="0 0 480 320"`) {
		t.Errorf("short %.80s, long %.80s", short, long)
	}
}

func TestAFreeAxisBeginsNearItsValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		free   bool
		lowest float64
	}{{false, 0}, {true, 0.8}} {
		s := newScale([]float64{0.9, 0.98}, Axis{Free: tt.free})
		if s.low < tt.lowest || s.at(0.9) < 0 || s.at(0.98) > 1 {
			t.Errorf("free %v: from %g to %g", tt.free, s.low, s.high)
		}
	}
}

// However narrow the values and however small the picture, its height can be
// read off.
func TestTheYAxisHasNumbers(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`(?m)^ *[0-9][0-9.e+]*┤`)
	for _, values := range [][2]float64{{260, 380}, {99, 101}, {1, 1}, {0.021, 0.023}, {3, 90_000}, {7, 8}} {
		for _, log := range []bool{true, false} {
			for _, height := range []int{4, 8, 14, 30} {
				c := Chart{Y: Axis{Label: "ms", Log: log}, Lines: []Line{{Points: []Point{{X: 1, Y: values[0]}, {X: 2, Y: values[1]}}}}}
				text := strings.Join(c.Text(60, height), "\n")
				if n := len(number.FindAllString(text, -1)); n < 2 {
					t.Errorf("%d numbers at the axis of %v, log %v, %d rows:\n%s", n, values, log, height, text)
				}
			}
		}
	}
}

func TestALogarithmicAxisSaysSo(t *testing.T) {
	t.Parallel()
	c := sample()
	for _, picture := range []string{c.SVG("l", Size{480, 300}), strings.Join(c.Text(60, 10), "\n")} {
		if !strings.Contains(picture, "ms (logarithmic)") || strings.Contains(picture, "requests/s (logarithmic)") {
			t.Errorf("which axis is logarithmic is not told:\n%s", picture)
		}
	}
}

// TestHeat: every count that is not nothing has a shade, neighbors of one shade are
// one stroke, a row says itself in words, and an empty row is left out.
func TestHeat(t *testing.T) {
	t.Parallel()
	c := Chart{Title: "gaps", Description: "two rows", X: Axis{Label: "s"}, Y: Axis{Label: "ms", Log: true},
		Heat:  &Heat{Width: 1, Edges: []float64{1, 2, 4, 8}, Counts: [][]int{{1, 1, 0, 900}, {}, {0, 5, 5, 5}}, Texts: []string{"low <1>", "", "high"}, Name: "gaps in 1 s"},
		Spans: []Span{{From: 0, To: 1, Text: "warm-up"}}}
	svg := c.SVG("a", Size{480, 300})
	got := elements(t, svg)
	if got["g.heat"] != 2 || got["path.shade0"] != 1 || got["path.shade4"] != 1 || got["rect.span"] != 1 || got["text.span"] != 1 {
		t.Errorf("%v", got)
	}
	if strokes := strings.Count(svg, "h") - strings.Count(svg, "th"); !strings.Contains(svg, "low &lt;1&gt;") || strokes < 3 {
		t.Errorf("the words or the strokes are missing:\n%s", svg)
	}
	if again := c.SVG("a", Size{480, 300}); again != svg {
		t.Error("equal charts give other pictures")
	}
}

// TestBar: parts are as wide as they are large, in their order, and named.
func TestBar(t *testing.T) {
	t.Parallel()
	c := Chart{Title: "phases", Parts: []Part{{Name: "queue", Value: 1, Text: "1 ms", Role: "waiting"}, {Name: "decode <b>", Value: 3, Text: "3 ms", Role: "tpot"}}}
	svg := c.SVG("a", Size{400, 300})
	widths := regexp.MustCompile(`<rect class="part (\w+)" x="([0-9.]+)" y="0" width="([0-9.]+)"`).FindAllStringSubmatch(svg, -1)
	if len(widths) != 2 || widths[0][3] != "100.0" || widths[1][2] != "100.0" || widths[1][3] != "300.0" || c.Empty() {
		t.Errorf("%v in\n%s", widths, svg)
	}
	for _, want := range []string{"queue 1 ms", "decode &lt;b&gt; 3 ms", ">75%<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
	elements(t, svg)
}

// TestTicksThatAreGiven stand where they are, if the picture reaches so far.
func TestTicksThatAreGiven(t *testing.T) {
	t.Parallel()
	got := newScale([]float64{1, 3}, Axis{Ticks: []float64{0.5, 1, 2.5, 4}})
	if diff := cmp.Diff([]float64{1, 2.5}, got.ticks); diff != "" || got.at(1) != 0 || got.at(3) != 1 {
		t.Errorf("%v %s", got, diff)
	}
}

// A free axis spans at least what it is told to, so that a flat series is a flat
// line in the middle, and not one at the edge or one that jumps.
func TestAFlatSeriesHasRoomAroundIt(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{{1000, 1000}, {999, 1001}, {0.5, 0.5}} {
		s := newScale(values, Axis{Free: true, MinSpan: 0.2})
		if at := s.at(values[0]); at < 0.3 || at > 0.7 || s.high-s.low < 0.2*values[0] || len(s.ticks) < 3 {
			t.Errorf("%v: from %g to %g, the first value at %.2f, ticks %v", values, s.low, s.high, at, s.ticks)
		}
	}
	if s := newScale([]float64{900, 1000}, Axis{Free: true, MinSpan: 0.1}); s.low < 800 || s.high > 1100 {
		t.Errorf("a change of more spans %g to %g", s.low, s.high)
	}
}

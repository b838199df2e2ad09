package telemetry

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"redline/internal/expect"
	"redline/internal/must"
)

// sameNumbers compares floats with NaN equal to itself, and no labels with
// none.
var sameNumbers = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

func TestParseLines(t *testing.T) {
	t.Parallel()
	one := func(name string, value float64, labels ...Label) *Page {
		return &Page{Series: []Series{{name, labels, value}}}
	}
	for _, c := range []struct {
		name, text string
		want       *Page
	}{
		{"empty page", "", &Page{}},
		{"comments and blank lines", "# HELP a b\n\n  \t\n# TYPE a counter\n#\n", &Page{}},
		{"no labels", "up 1\n", one("up", 1)},
		{"colon in the name", "vllm:x_total 2.5\n", one("vllm:x_total", 2.5)},
		{"empty braces", "up{} 1\n", one("up", 1)},
		{"labels", `a{b="c",d="e"} 1` + "\n", one("a", 1, Label{"b", "c"}, Label{"d", "e"})},
		{"trailing comma", `a{b="c",} 1` + "\n", one("a", 1, Label{"b", "c"})},
		{"blanks everywhere", " \ta \t{ b = \"c\" , d = \"e\" } \t 1 \t\n", one("a", 1, Label{"b", "c"}, Label{"d", "e"})},
		{"no blank before the value", "a{}1\n", one("a", 1)},
		{"escapes", `a{b="1\\2\"3\n4"} 1` + "\n", one("a", 1, Label{"b", "1\\2\"3\n4"})},
		{"unknown escape stays", `a{b="\d+"} 1` + "\n", one("a", 1, Label{"b", `\d+`})},
		{"braces and commas in a value", `a{b="},{="} 1` + "\n", one("a", 1, Label{"b", "},{="})},
		{"not a number", "a NaN\n", one("a", math.NaN())},
		{"infinities", "a +Inf\nb -Inf\n", &Page{Series: []Series{{"a", nil, math.Inf(1)}, {"b", nil, math.Inf(-1)}}}},
		{"exponent", "a 1.5e+09\n", one("a", 1.5e9)},
		{"time", "a 1 1700000000000\n", one("a", 1)},
		{"exemplar", `a_bucket{le="1"} 3 # {trace="x"} 0.4 1700000000.5` + "\n", one("a_bucket", 3, Label{"le", "1"})},
		{"carriage return", "a 1\r\nb 2\r\n", &Page{Series: []Series{{"a", nil, 1}, {"b", nil, 2}}}},
		{"cut in mid number", "a 1\nb 12", &Page{Series: []Series{{"a", nil, 1}}, Bad: []string{"b 12"}}},
		{"one bad line among good ones", "a 1\nb{x=y} 2\nc 3\n",
			&Page{Series: []Series{{"a", nil, 1}, {"c", nil, 3}}, Bad: []string{"b{x=y} 2"}}},
		{"labels of a bad line are dropped", "a{b=\"c\"} 1\nd{e=\"f\"} x\ng{h=\"i\"} 2\n",
			&Page{Series: []Series{{"a", []Label{{"b", "c"}}, 1}, {"g", []Label{{"h", "i"}}, 2}}, Bad: []string{`d{e="f"} x`}}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, ParsePage([]byte(c.text)), sameNumbers), "%s (-want +got)", c.name)
	}
}

func TestBadLinesArePutAside(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"1a 1", "a", "a ", "a b", "a{", "a{b", "a{b=", `a{b="`, `a{b="c`, `a{b="c"`, `a{b="c"}`,
		`a{b="c" d="e"} 1`, `a{,} 1`, `a{1b="c"} 1`, `a{b:c="d"} 1`, `a{b="\`, "a 0x1p4", "a 1_000", "a 1e999", "a 1 x",
		"a 1 2 3", "<!DOCTYPE html>", `{"json": true}`, "\x00"} {
		expect.NoDiff(t, cmp.Diff(&Page{Bad: []string{line}}, ParsePage([]byte(line+"\n")), sameNumbers), "%q (-want +got)", line)
	}
}

// edges of vLLM's histograms.
var (
	firstTokenEdges = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	perTokenEdges   = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	requestEdges    = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

// histogramText is a histogram as a page shows it, of values in seconds.
func histogramText(name, labels string, edges []float64, values ...float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# HELP %s Histogram of something in seconds.\n# TYPE %s histogram\n", name, name)
	var sum float64
	for _, v := range values {
		sum += v
	}
	for _, edge := range append(slices.Clone(edges), math.Inf(1)) {
		n := 0
		for _, v := range values {
			if v <= edge {
				n++
			}
		}
		fmt.Fprintf(&b, "%s_bucket{%s,le=\"%s\"} %d.0\n", name, labels, fmt.Sprint(edge), n)
	}
	fmt.Fprintf(&b, "%s_count{%s} %d.0\n%s_sum{%s} %v\n", name, labels, len(values), name, labels, sum)
	return b.String()
}

// largePage is about what a vLLM server with two engines says.
func largePage() []byte {
	var b strings.Builder
	for _, plain := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc",
		"prefix_cache_hits_total", "prefix_cache_queries_total", "num_preemptions_total", "prompt_tokens_total",
		"generation_tokens_total"} {
		fmt.Fprintf(&b, "# HELP vllm:%s Something about it.\n# TYPE vllm:%s gauge\n", plain, plain)
		for engine := range 2 {
			fmt.Fprintf(&b, "vllm:%s{engine=\"%d\",model_name=\"meta-llama/Llama-3.1-8B-Instruct\"} %v\n", plain, engine, 1.5+float64(engine))
		}
	}
	for _, h := range []struct {
		name  string
		edges []float64
	}{{"time_to_first_token_seconds", firstTokenEdges}, {"inter_token_latency_seconds", perTokenEdges},
		{"e2e_request_latency_seconds", requestEdges}, {"request_queue_time_seconds", requestEdges},
		{"request_prefill_time_seconds", requestEdges}, {"request_decode_time_seconds", requestEdges},
		{"request_inference_time_seconds", requestEdges}} {
		for engine := range 2 {
			text := histogramText("vllm:"+h.name, fmt.Sprintf(`engine="%d",model_name="meta-llama/Llama-3.1-8B-Instruct"`, engine),
				h.edges, .004, .03, .7, 55)
			if engine > 0 { // help and type stand once
				text = text[strings.Index(text, "vllm:"+h.name+"_bucket"):]
			}
			b.WriteString(text)
		}
	}
	return []byte(b.String())
}

// reference gives what the reference parser makes of a page as lines of a page,
// each family's in order.
func reference(page []byte) ([]Series, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(page))
	var all []Series
	for name, family := range families {
		for _, m := range family.GetMetric() {
			var labels []Label
			for _, l := range m.GetLabel() {
				labels = append(labels, Label{l.GetName(), l.GetValue()})
			}
			h := m.GetHistogram()
			if h == nil {
				value := m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
				all = append(all, Series{name, labels, value})
				continue
			}
			for _, b := range h.GetBucket() {
				le := append(slices.Clone(labels), Label{"le", fmt.Sprint(b.GetUpperBound())})
				all = append(all, Series{name + "_bucket", le, float64(b.GetCumulativeCount())})
			}
			all = append(all, Series{name + "_count", labels, float64(h.GetSampleCount())},
				Series{name + "_sum", labels, h.GetSampleSum()})
		}
	}
	return all, err
}

// inOrder sorts by name and keeps the order of each name's series.
func inOrder(all []Series) []Series {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func TestPageIsWhatTheReferenceReads(t *testing.T) {
	t.Parallel()
	page := largePage()
	want := must.Get(reference(page))(t)
	got := ParsePage(page)
	if len(page) < 28<<10 || len(got.Bad) > 0 {
		t.Errorf("a page of %d bytes with the bad lines %q", len(page), got.Bad)
	}
	expect.NoDiff(t, cmp.Diff(inOrder(want), inOrder(got.Series), sameNumbers), "series (-reference +ours)")
}

var (
	typeLine   = regexp.MustCompile(`(?m)^[ \t]*#[ \t]*TYPE[^\n]*$`)
	quotedName = regexp.MustCompile(`[{,][ \t]*"`)
)

// FuzzPage holds that no page is too bad to be read, that no line is lost, and
// that what the reference accepts is read alike. Types are taken out before,
// because the reference merges what they join; names in quotes, which are only
// served when asked for, are bad lines here.
func FuzzPage(f *testing.F) {
	for _, seed := range []string{"a 1\n", `a{b="c\\\"\n",} NaN 12` + "\n", "# HELP x y\nx +Inf\n", "a{b=\"", "\xff 1\n",
		`{"a",b="c"} 1` + "\n", "a 1e400\n", "a{} 0x1\r\n"} {
		f.Add([]byte(seed))
	}
	f.Add(largePage()[:400])
	f.Fuzz(func(t *testing.T, text []byte) {
		got := ParsePage(text)
		lines := 0
		for line := range strings.Lines(string(text)) {
			line = strings.TrimLeft(strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r"), " \t")
			if line != "" && line[0] != '#' {
				lines++
			}
		}
		if len(got.Series)+len(got.Bad) != lines {
			t.Fatalf("%d series and %d bad lines of %d lines", len(got.Series), len(got.Bad), lines)
		}
		got.Read()
		plain := typeLine.ReplaceAll(text, nil)
		want, err := reference(plain)
		if err != nil || quotedName.Match(plain) || bytes.ContainsRune(plain, '\r') {
			return
		}
		expect.NoDiff(t, cmp.Diff(inOrder(want), inOrder(ParsePage(plain).Series), sameNumbers), "series of %q (-reference +ours)", plain)
	})
}

func BenchmarkPage(b *testing.B) {
	page := largePage()
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			ParsePage(page).Read()
		}
	})
	b.Run("expfmt", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			parser := expfmt.NewTextParser(model.LegacyValidation)
			if _, err := parser.TextToMetricFamilies(bytes.NewReader(page)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

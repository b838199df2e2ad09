package dist

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"redline/internal/expect"
	"redline/internal/yaml"
)

func TestParseTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Tokens{
		"128":                        {Fixed: 128},
		" fixed( 9 ) ":               {Fixed: 9},
		"uniform(3,9)":               {Min: 3, Max: 9},
		"normal(500,80)":             {Average: 500, SD: 80},
		"normal(500,80,1..900)":      {Average: 500, SD: 80, Min: 1, Max: 900},
		"LogNormal(500,0.8)":         {Median: 500, Sigma: 0.8},
		"gamma(500,2,50..4000)":      {Average: 500, Shape: 2, Min: 50, Max: 4000},
		"zipf(1.2)":                  {Zipf: 1.2},
		"zipf(1.2,16..4096)":         {Zipf: 1.2, Min: 16, Max: 4096},
		"choice(5:1,6:2)":            {TokenCounts: []int{5, 6}, Weights: []float64{1, 2}},
		"choice(0..512:0.4,700:0.6)": {Buckets: []Bucket{{0, 512}, {699, 700}}, Weights: []float64{0.4, 0.6}},
	} {
		got, err := ParseTokens(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		expect.NoDiff(t, cmp.Diff(want, got), "%s: -want +got", text)
	}
}

func TestParseTokensRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"gamma(500,0)":         "gamma: expected a shape of 0.01 to 1000000, got 0",
		"gamma(0,2)":           "gamma: expected a mean of 1 to 10000000, got 0",
		"gamma(500)":           `expected gamma(500,2) or gamma(500,2,50..4000), got "gamma(500)"`,
		"normal(500,0)":        "normal: expected a standard deviation above 0 and up to 10000000, got 0",
		"normal(0,1)":          "normal: expected a mean of 1 to 10000000, got 0",
		"normal(5,1,9..3)":     "normal: expected the smaller bound first, got 9 and 3",
		"zipf(1)":              "zipf: expected an exponent above 1 and up to 20, got 1",
		"zipf(0)":              "zipf: expected an exponent above 1 and up to 20, got 0",
		"zipf(x)":              `expected zipf(1.2) or zipf(1.2,16..4096), got "zipf(x)"`,
		"zipf(2,0..4)":         "zipf: must be 1 to 10000000, got 0",
		"lognormal(0,0)":       "lognormal: expected a median of 1 to 10000000, got 0",
		"choice(5..5:1)":       "buckets: expected lo..hi with 0 <= lo < hi <= 10000000, got 5..5",
		"choice(9..5:1)":       "buckets: expected lo..hi with 0 <= lo < hi <= 10000000, got 9..5",
		"choice(-1..5:1)":      "buckets: expected lo..hi with 0 <= lo < hi <= 10000000, got -1..5",
		"choice(0..512:-1)":    "weights: expected numbers of at least 0, got -1",
		"choice(a..5:1)":       `choice: expected a whole number, got "a"`,
		"poisson(5)":           `unknown distribution "poisson": known: fixed, uniform, normal, lognormal, gamma, zipf, choice`,
		"fixed(5":              `expected a distribution such as lognormal(512,0.6), got "fixed(5"`,
		"uniform(5)":           `expected uniform(100,200), got "uniform(5)"`,
		"normal(500,80,1..2.5": `expected a distribution such as lognormal(512,0.6), got "normal(500,80,1..2.5"`,
	} {
		if got, err := ParseTokens(text); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, error %v\nwant %s", text, got, err, want)
		}
	}
}

func TestTokensAsYAML(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Tokens{
		"{mean: 500, sd: 80}":                            {Average: 500, SD: 80},
		"{mean: 500, shape: 2, max: 900}":                {Average: 500, Shape: 2, Max: 900},
		"{zipf: 1.5, min: 3}":                            {Zipf: 1.5, Min: 3},
		"{buckets: [0..512, 700], weights: [1, 3]}":      {Buckets: []Bucket{{0, 512}, {699, 700}}, Weights: []float64{1, 3}},
		"{token_counts: [512, 2048], weights: [0.5, 1]}": {TokenCounts: []int{512, 2048}, Weights: []float64{0.5, 1}},
		"64": {Fixed: 64},
	} {
		var got Tokens
		if err := decode(text, &got); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" || got.Validate() != nil {
			t.Errorf("%s: %v, -want +got\n%s", text, got.Validate(), diff)
		}
	}
	for text, want := range map[string]Tokens{
		"two distributions at once":                          {Average: 5, SD: 1, Shape: 2},
		"describes two distributions":                        {Zipf: 2, Median: 5},
		"weights: expected one for each of the 1 buckets":    {Buckets: []Bucket{{0, 5}}, Weights: []float64{1, 2}},
		"buckets: expected lo..hi":                           {Buckets: []Bucket{{5, 0}}, Weights: []float64{1}},
		"token_counts: none given":                           {Weights: []float64{1}},
		"no length given, expected a distribution such as f": {},
	} {
		if err := want.Validate(); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%+v: error %v, want %q", want, err, text)
		}
	}
}

// TestTerseFormsAreReadBack draws valid distributions and reads their spelling.
func TestTerseFormsAreReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anyTokens(t)
		if err := want.Validate(); err != nil {
			t.Fatalf("%+v: %v", want, err)
		}
		got, err := ParseTokens(want.String())
		if err != nil {
			t.Fatalf("%q: %v", want, err)
		}
		if got.String() != want.String() || math.Abs(got.Mean()-want.Mean()) > 1e-9*want.Mean() {
			t.Fatalf("%q is read as %q", want, got)
		}
	})
}

func anyTokens(t *rapid.T) Tokens {
	var d Tokens
	if rapid.Bool().Draw(t, "clipped") {
		d.Min = rapid.IntRange(2, 500).Draw(t, "min")
		d.Max = d.Min + rapid.IntRange(0, 9000).Draw(t, "more")
	}
	center := rapid.Float64Range(1, 50_000).Draw(t, "center")
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return Tokens{Fixed: int(center)}
	case 1:
		d.Median, d.Sigma = center, rapid.Float64Range(0.01, 3).Draw(t, "sigma")
	case 2:
		d.Average, d.SD = center, rapid.Float64Range(0.1, 1000).Draw(t, "sd")
	case 3:
		d.Average, d.Shape = center, rapid.Float64Range(0.02, 50).Draw(t, "shape")
	case 4:
		d.Zipf = rapid.Float64Range(1.01, 4).Draw(t, "exponent")
	case 5:
		return anyChoice(t)
	}
	return d
}

func anyChoice(t *rapid.T) Tokens {
	var d Tokens
	for range rapid.IntRange(1, 6).Draw(t, "buckets") {
		lo := rapid.IntRange(0, 9000).Draw(t, "lo")
		d.Buckets = append(d.Buckets, Bucket{lo, lo + rapid.IntRange(1, 9000).Draw(t, "width")})
		d.Weights = append(d.Weights, rapid.Float64Range(0.01, 9).Draw(t, "weight"))
	}
	return d
}

func TestParseDelay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Delay{
		"8s":                           {Form: "fixed", Center: 8 * time.Second},
		"0s":                           {Form: "fixed"},
		"uniform(1s, 5s)":              {Form: "uniform", Min: time.Second, Max: 5 * time.Second},
		"exponential(500ms)":           {Form: "exponential", Center: 500 * time.Millisecond},
		"lognormal(8s,0.8)":            {Form: "lognormal", Center: 8 * time.Second, Sigma: 0.8},
		"lognormal(8s,0.8,1s..1m)":     {Form: "lognormal", Center: 8 * time.Second, Sigma: 0.8, Min: time.Second, Max: time.Minute},
		" lognormal(8s, 0.8, 0s..1m) ": {Form: "lognormal", Center: 8 * time.Second, Sigma: 0.8, Max: time.Minute},
	} {
		got, err := ParseDelay(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		expect.NoDiff(t, cmp.Diff(want, got), "%s: -want +got", text)
	}
	for _, text := range []string{"", "8", "-1s", "25h", "uniform(5s,1s)", "uniform(1s)", "lognormal(8s)", "lognormal(8s,0)",
		"lognormal(0s,1)", "lognormal(8s,1,2s)", "lognormal(8s,1,5s..2s)", "normal(1s,2s)", "exponential(1s,2s)", "fixed(1s,2s)"} {
		_, err := ParseDelay(text)
		if err == nil || !strings.HasPrefix(err.Error(), "expected a pause such as 8s, uniform(1s,5s)") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestParsePopularity(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Popularity{"uniform": {}, "zipf(1.1)": {1.1}, "zipf(0.8)": {0.8}, "zipf(0)": {}} {
		if got, err := parsePopularity(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"zipf(-1)":  "zipf: expected an exponent of 0 to 20, got -1",
		"zipf(NaN)": "zipf: expected an exponent of 0 to 20, got NaN",
		"zipf":      `expected uniform or zipf(s) such as zipf(1.1), got "zipf"`,
		"often":     `expected uniform or zipf(s) such as zipf(1.1), got "often"`,
	} {
		if _, err := parsePopularity(text); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}

func FuzzParseTokens(f *testing.F) {
	for _, text := range every {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseTokens(text)
		if err != nil {
			return
		}
		again, err := ParseTokens(d.String())
		if err != nil || again.String() != d.String() {
			t.Errorf("%q reads as %q, which reads as %q, %v", text, d, again, err)
		}
		if lo, hi := support(d); !(d.Mean() >= float64(lo)-0.5 && d.Mean() <= float64(hi)+0.5) {
			t.Errorf("%q has the mean %v outside %d..%d", text, d.Mean(), lo, hi)
		}
	})
}

func FuzzParseDelay(f *testing.F) {
	for _, text := range []string{"8s", "uniform(1s,5s)", "exponential(5s)", "lognormal(8s,0.8,1s..60s)", "lognormal(8s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDelay(text)
		if err != nil {
			return
		}
		if again, err := ParseDelay(d.String()); err != nil || again != d {
			t.Errorf("%q reads as %q, which reads as %q, %v", text, d, again, err)
		}
	})
}

// decode reads a value as a plan has it.
func decode(data string, into any) error {
	root, err := yaml.Form{Name: "a value", MaxBytes: 1 << 16}.Parse("x.yaml", []byte(data))
	if err != nil {
		return err
	}
	d := yaml.Decoder{File: "x.yaml"}
	return d.Decode(root, into, "")
}

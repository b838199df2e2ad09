package dist

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"redline/internal/must"
	"redline/internal/yaml"
)

func TestDelaysFollowTheirParameters(t *testing.T) {
	t.Parallel()
	second := float64(time.Second)
	for text, want := range map[string]struct{ mean, least, most float64 }{
		"8s":                         {8 * second, 8 * second, 8 * second},
		"uniform(1s,5s)":             {3 * second, second, 5 * second},
		"uniform(2s,2s)":             {2 * second, 2 * second, 2 * second},
		"exponential(5s)":            {5 * second, 0, float64(maxDelay)},
		"lognormal(8s,0.5)":          {8 * second * math.Exp(0.125), 0, float64(maxDelay)},
		"lognormal(8s,0.01,8s..20h)": {8*second + 8*second*0.01/math.Sqrt(2*math.Pi), 8 * second, 9 * second},
	} {
		d := must.Get(ParseDelay(text))(t)
		r := rand.New(rand.NewPCG(1, 1))
		const n = 50_000
		sum, squares := 0.0, 0.0
		for range n {
			x := float64(d.Sample(r))
			if x < want.least || x > want.most {
				t.Fatalf("%s: drew %v", text, time.Duration(x))
			}
			sum += x
			squares += x * x
		}
		mean := sum / n
		if se := math.Sqrt(max(0, squares/n-mean*mean) / n); math.Abs(mean-want.mean) > 5*se+0.002*want.mean {
			t.Errorf("%s: mean %v, want %v", text, time.Duration(mean), time.Duration(want.mean))
		}
	}
	if got := (Delay{}).Sample(nil); got != 0 {
		t.Errorf("the zero delay is %v", got)
	}
}

func TestDelayAndPopularityAsYAML(t *testing.T) {
	t.Parallel()
	var got struct {
		Think      Delay      `yaml:"think"`
		Popularity Popularity `yaml:"popularity"`
	}
	must.Do(t, decode("think: lognormal(8s,0.8)\npopularity: zipf(1.1)\n", &got))
	written, err := yaml.Marshal(got)
	if want := "think: lognormal(8s,0.8)\npopularity: zipf(1.1)\n"; err != nil || string(written) != want {
		t.Errorf("written as %q, %v; want %q", written, err, want)
	}
	for _, text := range []string{"think: [1]", "think: 8", "popularity: {}", "popularity: much"} {
		if err := decode(text, &got); err == nil {
			t.Errorf("%s: read without an error", text)
		}
	}
}

func TestUrnFollowsItsWeights(t *testing.T) {
	t.Parallel()
	urn := NewUrn(Popularity{Zipf: 1}.Shares(4))
	total := 1 + 1.0/2 + 1.0/3 + 1.0/4
	r := rand.New(rand.NewPCG(2, 2))
	const n = 100_000
	counts := make([]float64, 4)
	for range n {
		counts[urn.Draw(r)]++
	}
	for k, got := range counts {
		want := 1 / float64(k+1) / total
		if math.Abs(got/n-want) > 5*math.Sqrt(want*(1-want)/n) {
			t.Errorf("the %d-th has the share %v, want %v", k, got/n, want)
		}
	}
	hole := NewUrn([]float64{0, 1, 0})
	for range 1000 {
		if i := hole.Draw(r); i != 1 {
			t.Fatalf("drew %d, which has no weight", i)
		}
	}
}

package workload

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/yaml"
)

func fixedAt(n int) *Dist { return &Dist{Fixed: n} }

func TestParse(t *testing.T) {
	t.Parallel()
	clipped := &Dist{Median: 500, Sigma: 0.8, Min: 50, Max: 4000}
	for _, c := range []struct {
		text      string
		want      Spec
		canonical string
	}{
		{"chat", Spec{Traffic: Traffic{Preset: "chat"}}, "chat"},
		{" Long-Context-QA ", Spec{Traffic: Traffic{Preset: "long_context_qa"}}, "long_context_qa"},
		{"rag-agent", Spec{Traffic: Traffic{Preset: "rag_agent"}}, "rag_agent"},
		{"fixed(64,100)", Spec{Traffic: Traffic{Prompt: fixedAt(64), Output: fixedAt(100)}}, "fixed(64,100)"},
		{"fixed( 64 ,\n100 )", Spec{Traffic: Traffic{Prompt: fixedAt(64), Output: fixedAt(100)}}, "fixed(64,100)"},
		{"in=lognormal(500,0.8,50..4000) out=fixed(128)", Spec{Traffic: Traffic{Prompt: clipped, Output: fixedAt(128)}},
			"in=lognormal(500,0.8,50..4000) out=fixed(128)"},
		{"out=7 in=lognormal(512, 0.6)", Spec{Traffic: Traffic{Prompt: &Dist{Median: 512, Sigma: 0.6}, Output: fixedAt(7)}},
			"in=lognormal(512,0.6) out=fixed(7)"},
		{"in=uniform(10,20)", Spec{Traffic: Traffic{Prompt: &Dist{Min: 10, Max: 20}}}, "in=uniform(10,20) out=fixed(128)"},
		{"in=fixed(5)", Spec{Traffic: Traffic{Prompt: fixedAt(5)}}, "fixed(5,128)"},
		{"chat out=fixed(100)", Spec{Traffic: Traffic{Preset: "chat", Output: fixedAt(100)}}, "chat out=fixed(100)"},
		{"mix", Spec{Traffic: Traffic{Preset: "mix"}}, "mix"},
		{"./trace.csv", Spec{Traffic: Traffic{File: "./trace.csv"}}, "./trace.csv"},
		{"logs/my trace.csv", Spec{Traffic: Traffic{File: "logs/my trace.csv"}}, "logs/my trace.csv"},
		{"trace.csv out=fixed(9)", Spec{Traffic: Traffic{File: "trace.csv", Output: fixedAt(9)}}, "trace.csv out=fixed(9)"},
		{"chat book.txt", Spec{Traffic: Traffic{Preset: "chat", File: "book.txt"}}, "chat book.txt"},
		{"in=choice(512:0.25, 2048:0.75)",
			Spec{Traffic: Traffic{Prompt: &Dist{TokenCounts: []int{512, 2048}, Weights: []float64{0.25, 0.75}}}},
			"in=choice(512:0.25,2048:0.75) out=fixed(128)"},
	} {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.text, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "Parse(%q): -want +got", c.text)
		if got.String() != c.canonical {
			t.Errorf("Parse(%q).String() = %q, want %q", c.text, got, c.canonical)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	const known = "known: chat, code_generation, long_context_qa, summarization, rag_agent, multi_turn_chat, shared_rag, agent_loop, coding_agent, research_agent, mix, chat_mix"
	for text, want := range map[string]string{
		"chta":                           `unknown workload "chta": did you mean chat? ` + known,
		"rag":                            `unknown workload "rag": did you mean rag_agent? ` + known,
		"sumarisation":                   `unknown workload "sumarisation": did you mean summarization? ` + known,
		"":                               "workload: nothing given, expected a preset such as chat, a form such as fixed(64,100) or a file",
		"fixed(0,5)":                     `workload "fixed(0,5)": fixed: must be 1 to 10000000, got 0`,
		"fixed(5,-3)":                    `workload "fixed(5,-3)": fixed: must be 1 to 10000000, got -3`,
		"fixed(64)":                      `workload "fixed(64)": expected fixed(in,out) such as fixed(64,100), or say which length: in=fixed(64)`,
		"fixed(64,x)":                    `workload "fixed(64,x)": fixed: expected a whole number, got "x"`,
		"fixed(64,20000000)":             `workload "fixed(64,20000000)": fixed: must be 1 to 10000000, got 20000000`,
		"fixed(64,99999999999999999999)": `workload "fixed(64,99999999999999999999)": fixed: must be 1 to 10000000, got 99999999999999999999`,
		"lognormal(5,1)":                 `workload "lognormal(5,1)": expected fixed(in,out) such as fixed(64,100), or say which length: in=lognormal(5,1)`,
		"in=512x":                        `workload "in=512x": in: expected a distribution such as lognormal(512,0.6), got "512x"`,
		"in=":                            `workload "in=": in: expected a distribution such as lognormal(512,0.6), got ""`,
		"in=lognromal(5,1)":              `workload "in=lognromal(5,1)": in: unknown distribution "lognromal": did you mean lognormal? known: fixed, uniform, normal, lognormal, gamma, zipf, choice`,
		"in=lognormal(5)":                `workload "in=lognormal(5)": in: expected lognormal(512,0.6) or lognormal(512,0.6,50..4000), got "lognormal(5)"`,
		"in=lognormal(5,1,7)":            `workload "in=lognormal(5,1,7)": in: expected lognormal(512,0.6) or lognormal(512,0.6,50..4000), got "lognormal(5,1,7)"`,
		"in=lognormal(0,1)":              `workload "in=lognormal(0,1)": in: lognormal: expected a median of 1 to 10000000, got 0`,
		"in=lognormal(NaN,1)":            `workload "in=lognormal(NaN,1)": in: lognormal: expected a median of 1 to 10000000, got NaN`,
		"in=lognormal(5,0)":              `workload "in=lognormal(5,0)": in: lognormal: expected a sigma above 0 and up to 5, got 0`,
		"in=lognormal(5,-1)":             `workload "in=lognormal(5,-1)": in: lognormal: expected a sigma above 0 and up to 5, got -1`,
		"in=lognormal(5,1,9..3)":         `workload "in=lognormal(5,1,9..3)": in: lognormal: expected the smaller bound first, got 9 and 3`,
		"in=uniform(9,3)":                `workload "in=uniform(9,3)": in: uniform: expected the smaller bound first, got 9 and 3`,
		"in=uniform(0,3)":                `workload "in=uniform(0,3)": in: uniform: must be 1 to 10000000, got 0`,
		"in=choice(5:-1)":                `workload "in=choice(5:-1)": in: weights: expected numbers of at least 0, got -1`,
		"in=choice(5:0,6:0)":             `workload "in=choice(5:0,6:0)": in: weights: expected a finite sum above 0, got 0`,
		"in=choice(5:Inf)":               `workload "in=choice(5:Inf)": in: weights: expected numbers of at least 0, got +Inf`,
		"in=choice(5)":                   `workload "in=choice(5)": in: expected choice(512:0.7,4096:0.3) or choice(0..512:0.4,512..2048:0.6), got "choice(5)"`,
		"in=5 in=6":                      `workload "in=5 in=6": gives in twice; give it once`,
		"in=5 fixed(1,2)":                `workload "in=5 fixed(1,2)": gives a length twice; give each once`,
		"out=5":                          `workload "out=5": prompt: no length given, expected one such as in=lognormal(500,0.8) or a preset such as chat`,
		"a.csv b.csv out=5":              `workload "a.csv b.csv out=5": names two files, a.csv and b.csv, expected one`,
		"chat summarization":             `workload "chat summarization": names two presets, chat and summarization, expected one`,
		"access_log":                     `unknown workload "access_log": known: ` + strings.Join(Names(), ", ") + `; a file has a dot or a slash, as in ./access_log`,
		"width=5":                        `workload "width=5": unknown length "width", expected in=… or out=…`,
		"in=5\x1b[2J":                    `workload "in=5\x1b[2J": has characters that cannot be printed`,
		"in=fixed(5":                     `workload "in=fixed(5": a parenthesis is not closed`,
		"in=fixed(5))":                   `workload "in=fixed(5))": its parentheses do not match`,
	} {
		got, err := Parse(text)
		if err == nil {
			t.Errorf("Parse(%q) = %+v, want an error", text, got)
			continue
		}
		expect.NoDiff(t, cmp.Diff(want, err.Error()), "Parse(%q): -want +got", text)
	}
}

func TestYAML(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want Spec
	}{
		"a preset":      {"summarization", Spec{Traffic: Traffic{Preset: "summarization"}}},
		"a terse form":  {"'fixed(64,100)'", Spec{Traffic: Traffic{Prompt: fixedAt(64), Output: fixedAt(100)}}},
		"two lengths":   {"{prompt: 'lognormal(512,0.6)', output: 128}", Spec{Traffic: Traffic{Prompt: &Dist{Median: 512, Sigma: 0.6}, Output: fixedAt(128)}}},
		"an override":   {"preset: chat\noutput: {min: 5, max: 9}\n", Spec{Traffic: Traffic{Preset: "chat", Output: &Dist{Min: 5, Max: 9}}}},
		"a histogram":   {"prompt: {weights: [1, 3], token_counts: [512, 2048]}", Spec{Traffic: Traffic{Prompt: &Dist{Weights: []float64{1, 3}, TokenCounts: []int{512, 2048}}}}},
		"a file":        {"my trace.csv", Spec{Traffic: Traffic{File: "my trace.csv"}}},
		"a file's part": {"{file: my trace.csv, output: 5}", Spec{Traffic: Traffic{File: "my trace.csv", Output: fixedAt(5)}}},
		"a long normal": {"prompt: {median: 500, sigma: 0.8, min: 50, max: 4000}", Spec{Traffic: Traffic{Prompt: &Dist{Median: 500, Sigma: 0.8, Min: 50, Max: 4000}}}},
	} {
		var got Spec
		if err := decode(c.text, &got); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s: -want +got", name)
		written := must.Get(yaml.Marshal(got))(t)
		var again Spec
		if err := decode(string(written), &again); err != nil || again.String() != got.String() {
			t.Errorf("%s: written as %sand read as %q, %v", name, written, again, err)
		}
	}
}

func TestYAMLRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"chta":                                 "did you mean chat?",
		"{prompt: {fixed: 0}}":                 "prompt: no length given",
		"{prompt: {}}":                         "no length given",
		"{prompt: {fixed: 3, min: 1, max: 2}}": "two distributions at once",
		"{prompt: {fixed: 3, median: 1, sigma: 2}}":             "two distributions at once",
		"{prompt: {weights: [1], token_counts: [1], fixed: 1}}": "two distributions at once",
		"{promt: 5}":     "promt",
		"{output: 5}":    "prompt: no length given",
		"{preset: chta}": "did you mean chat?",
	} {
		var got Spec
		err := decode(text, &got)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
}

func TestContextDistribution(t *testing.T) {
	t.Parallel()
	c := ContextDistribution{Weights: []float64{0.5, 0.5}, TokenCounts: []int{512, 2048}}
	expect.OK(t, c.Validate())
	for _, row := range []struct {
		base Spec
		want string
	}{
		{Spec{}, "in=choice(512:0.5,2048:0.5) out=fixed(128)"},
		{Spec{Traffic: Traffic{Preset: "chat"}}, "chat in=choice(512:0.5,2048:0.5)"},
		{Spec{Traffic: Traffic{Prompt: fixedAt(9), Output: fixedAt(50)}}, "in=choice(512:0.5,2048:0.5) out=fixed(50)"},
	} {
		got := row.base.WithContext(c)
		if err := got.Validate(); err != nil || got.String() != row.want {
			t.Errorf("%q with a context is %q, %v; want %q", row.base, got, err, row.want)
		}
	}
}

func TestContextDistributionRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]ContextDistribution{
		"token_counts: none given, expected a list such as [512, 2048]": {Weights: []float64{1}},
		"weights: expected one for each of the 2 token_counts, got 1":   {[]float64{1}, []int{5, 6}},
		"weights: expected numbers of at least 0, got -0.5":             {[]float64{1, -0.5}, []int{5, 6}},
		"weights: expected numbers of at least 0, got NaN":              {[]float64{1, math.NaN()}, []int{5, 6}},
		"weights: expected a finite sum above 0, got 0":                 {[]float64{0, 0}, []int{5, 6}},
		"token_counts: must be 1 to 10000000, got 0":                    {[]float64{1, 1}, []int{5, 0}},
		"token_counts: must be 1 to 10000000, got 10000001":             {[]float64{1, 1}, []int{5, 10000001}},
	} {
		if err := c.Validate(); err == nil || err.Error() != want {
			t.Errorf("%+v: error %v, want %q", c, err, want)
		}
		if err := (Spec{}).WithContext(c).Validate(); err == nil || err.Error() != "prompt: "+want {
			t.Errorf("%+v in a Spec: error %v, want %q", c, err, "prompt: "+want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"chat", "fixed(64,100)", "in=lognormal(500,0.8,50..4000) out=fixed(128)",
		"in=choice(512:0.25,2048:0.75)", "rag-agent out=uniform(3,9)", "in=fixed(5", "=", "chat chat",
		"in=normal(500,50)", "in=gamma(500,2,9..99)", "in=zipf(1.5,2..99)", "in=choice(0..512:0.4,700:1)", "./a b.jsonl", "x.csv out=3", "chat x.txt", "mix"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := Parse(text)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("error of more than one line: %q", err)
			}
			return
		}
		again, err := Parse(spec.String())
		if err != nil || again.String() != spec.String() {
			t.Errorf("%q reads as %q, which reads as %q, %v", text, spec, again, err)
		}
		if spec.File != "" || findMix(spec.Preset) != nil {
			return
		}
		if shape, err := spec.shape(); err != nil || !(shape.Prompt.Mean() >= 1) || !(shape.Output.Mean() >= 1) {
			t.Errorf("%q: means %v and %v, %v", text, shape.Prompt.Mean(), shape.Output.Mean(), err)
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

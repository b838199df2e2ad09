package workload

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
)

func TestSampling(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		plan string
		want llm.Sampling
	}{
		"nothing said":     {"{}", llm.Sampling{Temperature: new(0.0), Seed: new(int64(1))}},
		"deterministic":    {"preset: deterministic", llm.Sampling{Temperature: new(0.0), Seed: new(int64(1))}},
		"product":          {"preset: Product", llm.Sampling{Temperature: new(0.7), TopP: new(0.95)}},
		"warmer product":   {"preset: product\ntemperature: 1", llm.Sampling{Temperature: new(1.0), TopP: new(0.95)}},
		"every knob":       {"{temperature: 0.2, top_p: 0.5, seed: -7, stop: [END]}", llm.Sampling{Temperature: new(0.2), TopP: new(0.5), Seed: new(int64(-7)), Stop: []string{"END"}}},
		"zero temperature": {"{preset: product, temperature: 0}", llm.Sampling{Temperature: new(0.0), TopP: new(0.95)}},
	} {
		var g Generation
		if err := decode(c.plan, &g); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := g.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		expect.NoDiff(t, cmp.Diff(c.want, g.Sampling()), "%s: -want +got", name)
	}
}

func TestGenerationRefuses(t *testing.T) {
	t.Parallel()
	for want, g := range map[string]Generation{
		"temperature: must be 0 to 2, got -0.1":                                                    {Temperature: new(-0.1)},
		"temperature: must be 0 to 2, got 2.5":                                                     {Temperature: new(2.5)},
		"temperature: must be 0 to 2, got NaN":                                                     {Temperature: new(math.NaN())},
		"top_p: must be above 0 and up to 1, got 0":                                                {TopP: new(0.0)},
		"top_p: must be above 0 and up to 1, got 1.1":                                              {TopP: new(1.1)},
		`stop: expected texts that are not empty, got ["a" ""]`:                                    {Stop: []string{"a", ""}},
		`unknown generation preset "produkt": did you mean product? known: deterministic, product`: {Preset: "produkt"},
	} {
		if err := g.Validate(); err == nil || err.Error() != want {
			t.Errorf("%+v: error %v, want %q", g, err, want)
		}
	}
}

func TestGenerationPresetsAreValid(t *testing.T) {
	t.Parallel()
	for _, p := range generationPresets {
		if err := (Generation{Preset: p.Name, Temperature: p.Temperature, TopP: p.TopP, Seed: p.Seed}).Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if p.About == "" {
			t.Errorf("%s says nothing about itself", p.Name)
		}
	}
}

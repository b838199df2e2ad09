package document

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"redline/internal/must"
)

// The colors of the stylesheet can be read in light and in dark (WCAG 2.2): text
// at 4.5 to 1 on whatever it stands on, lines and dots of charts at 3 to 1.
func TestColorsHaveContrast(t *testing.T) {
	t.Parallel()
	light, rest, found := strings.Cut(pageCSS, "@media screen and (prefers-color-scheme: dark)")
	dark, _, _ := strings.Cut(rest, "* {")
	if !found {
		t.Fatal("the stylesheet has no dark colors")
	}
	papers := map[string][]string{"ink": {"paper", "wash"}, "soft": {"paper", "wash", "goodwash", "weakwash", "badwash"}, "good": {"paper", "goodwash"},
		"weak": {"paper", "weakwash"}, "bad": {"paper", "badwash"}}
	for _, name := range []string{"blue", "green", "purple", "amber", "orange", "sky", "black"} {
		papers[name] = []string{"paper"} // names stand beside lines, in their color
	}
	lines := []string{"other"}
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		colors := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			colors[m[1]] = luminance(t, m[2])
		}
		hold := func(name, paper string, least float64) {
			t.Helper()
			a, known := colors[name]
			b, knownPaper := colors[paper]
			if !known || !knownPaper {
				t.Fatalf("%s: the stylesheet has no --%s or no --%s", scheme, name, paper)
			}
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
				t.Errorf("%s: --%s on --%s has a contrast of %.2f, want %.1f", scheme, name, paper, ratio, least)
			}
		}
		for name, on := range papers {
			for _, paper := range on {
				hold(name, paper, 4.5)
			}
		}
		for _, name := range lines {
			hold(name, "paper", 3)
		}
	}
}

// luminance is how bright WCAG takes a color to be, from 0 to 1.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := must.Get(strconv.ParseUint(hex[2*i:2*i+2], 16, 8))(t)
		c := float64(v) / 255
		if c <= 0.04045 {
			sum += weight * c / 12.92
		} else {
			sum += weight * math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return sum
}

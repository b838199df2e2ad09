package arrival

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"redline/internal/stats"
	"redline/internal/text"
)

type random = rand.Rand

// process is one way of spreading arrivals over time.
type process struct {
	name  string
	title string // as reports show it
	// takes is true for a process with one number in parentheses, which must
	// lie in [least, most].
	takes    bool
	min, max float64
	form     string // how it is written
	// dispersion is the variance of the number of arrivals in a long window
	// over its mean.
	dispersion func(arg float64) float64
	// times gives the arrivals of a process of one per second, each as whole
	// seconds and the rest.
	times func(arg float64, seed uint64) iter.Seq2[float64, float64]
}

// processes is every process there is. The first is the default.
var processes = []process{
	{
		name: "poisson", title: "Poisson", form: "poisson",
		dispersion: func(float64) float64 { return 1 },
		times:      renewal(func(r *random, _ float64) float64 { return stats.Exponential(r) }),
	},
	{
		name: "constant", title: "constant", form: "constant",
		dispersion: func(float64) float64 { return 0 },
		times:      metronome,
	},
	{
		// The shape is what vLLM calls burstiness: 1 is Poisson, below 1 the
		// arrivals come in bursts, above 1 they even out.
		name: "gamma", title: "gamma", form: "gamma(0.5)",
		takes: true, min: 0.01, max: 1000,
		dispersion: func(shape float64) float64 { return 1 / shape },
		times:      renewal(func(r *random, shape float64) float64 { return stats.Gamma(r, shape) / shape }),
	},
}

// metronome gives 0, 1, 2, … without end.
func metronome(float64, uint64) iter.Seq2[float64, float64] {
	return func(yield func(float64, float64) bool) {
		for k := 0.0; yield(k, 0); k++ {
		}
	}
}

// renewal gives the running sum of independent gaps, the first of them before
// the first arrival. Gaps come with a mean of 1.
func renewal(gap func(r *random, arg float64) float64) func(arg float64, seed uint64) iter.Seq2[float64, float64] {
	return func(arg float64, seed uint64) iter.Seq2[float64, float64] {
		return func(yield func(float64, float64) bool) {
			r := stats.Rand(seed, "arrival", 0)
			// The whole and the rest are summed apart, so that a tiny gap
			// after a week of load is still that gap.
			whole, rest := 0.0, 0.0
			for {
				carried, part := math.Modf(rest + gap(r, arg))
				whole, rest = whole+carried, part
				if !yield(whole, rest) {
					return
				}
			}
		}
	}
}

// parse reads "name" or "name(number)".
func parse(text string) (process, float64, error) {
	name, arg, called, closed := call(text)
	if name == "" && !called {
		return processes[0], 0, nil
	}
	if !closed {
		return process{}, 0, fmt.Errorf("arrival: %q lacks its closing parenthesis; write it as in %s", text, forms())
	}
	i := slices.IndexFunc(processes, func(p process) bool { return p.name == name })
	if i < 0 {
		return process{}, 0, fmt.Errorf("arrival: unknown process %q%s; expected %s", text, hint(name, processes, func(p process) string { return p.name }), forms())
	}
	p := processes[i]
	if !p.takes {
		if called {
			return process{}, 0, fmt.Errorf("arrival: %s takes no number, got %q; write %s", p.name, text, p.form)
		}
		return p, 0, nil
	}
	value, err := strconv.ParseFloat(arg, 64)
	if !called || err != nil {
		return process{}, 0, fmt.Errorf("arrival: %s needs its shape, got %q; write it as in %s", p.name, text, p.form)
	}
	if math.IsNaN(value) || value < p.min || value > p.max {
		return process{}, 0, fmt.Errorf("arrival: expected a shape of %s from %g to %g, got %q", p.name, p.min, p.max, text)
	}
	return p, value, nil
}

// call takes "name(args)" apart, in lower case. It is closed where what was
// opened ends with a parenthesis.
func call(text string) (name, args string, called, closed bool) {
	name = strings.ToLower(strings.TrimSpace(text))
	open := strings.IndexByte(name, '(')
	if open < 0 {
		return name, "", false, true
	}
	if !strings.HasSuffix(name, ")") {
		return name, "", true, false
	}
	return strings.TrimSpace(name[:open]), strings.TrimSpace(name[open+1 : len(name)-1]), true, true
}

// forms lists how each process is written.
func forms() string {
	return strings.Join(text.Each(processes, func(p process) string { return p.form }), ", ")
}

// hint names what a misspelt name is nearest to, if any is near.
func hint[T any](name string, all []T, nameOf func(T) string) string {
	if hint := text.Hint(name, text.Each(all, nameOf)); hint != "" {
		return " (" + hint + ")"
	}
	return ""
}

package slo

import (
	"fmt"
	"strings"

	"redline/internal/judge/figure"
)

func lookup(name string) (*figure.Figure, bool) {
	f, ok := figure.Find(name)
	return f, ok && f.Can(figure.Promise)
}

// ParseAll parses each text; the first that is wrong is the error.
func ParseAll(texts []string) ([]Objective, error) {
	list := make([]Objective, 0, len(texts))
	for _, text := range texts {
		o, err := Parse(text)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// Parse reads metric:stat<limit or metric:stat>limit, with spaces allowed
// between the parts and letters in any case; before it, class=NAME and
// tenant=NAME say whose requests are meant. "<=" and ">=" are read as "<" and
// ">": a figure equal to its limit meets the objective either way, because no
// measured time is exact enough to tell the two apart.
func Parse(text string) (Objective, error) {
	fail := func(format string, args ...any) (Objective, error) {
		return Objective{}, fmt.Errorf("objective %q: %s", text, fmt.Sprintf(format, args...))
	}
	scope, body, err := readScope(text)
	if err != nil {
		return fail("%v", err)
	}
	name, rest, colon := strings.Cut(body, ":")
	at := strings.IndexAny(rest, "<>")
	if !colon || at < 0 {
		return fail("expected metric:stat<limit, such as ttft:p99<500ms")
	}
	s, err := figure.Parse(clean(name)+":"+clean(rest[:at]), figure.Promise)
	if err != nil {
		return fail("%v", err)
	}
	if above := rest[at] == '>'; above != s.More {
		better := "low"
		if s.More {
			better = "high"
		}
		return fail("%s is better %s; write %q", s.Name, better, sign(s))
	}
	limit, err := quantity(s.Unit).read(clean(strings.TrimPrefix(rest[at+1:], "=")))
	if err != nil {
		return fail("%v", err)
	}
	return newObjective(s, limit).Within(scope), nil
}

// clean drops the letter case and every space.
func clean(part string) string {
	return strings.ToLower(strings.Join(strings.Fields(part), ""))
}

func sign(s figure.Statistic) string {
	if s.More {
		return ">"
	}
	return "<"
}

func newObjective(s figure.Statistic, limit float64) Objective {
	return Objective{Metric: s.Name, Stat: s.Stat, P: s.P, Above: s.More, Limit: limit,
		Text: s.Name + ":" + s.Stat + sign(s) + quantity(s.Unit).write(limit, s.Stat)}
}

package diagnose

import (
	"fmt"
	"strings"

	"redline/internal/judge/metric"
	"redline/internal/text"
)

// Thresholds of what a grammar makes requests wait.
const (
	grammarMS       = 20.0
	grammarShare    = 0.5
	grammarTail     = 2.0
	grammarRequests = 30
	tailRequests    = 200
)

// grammarWait: requests with a schema wait for its grammar, while others of the same
// seconds, with the same tools, do not.
func grammarWait(s *scene) *claim {
	checks := s.point.Schemas
	if checks == nil || checks.TTFT == nil || s.point.Latency.TTFT == nil {
		return nil
	}
	for _, pair := range [][2]string{{"schema", "plain"}, {"tools and schema", "tools"}} {
		with, i := s.form(pair[0])
		without, k := s.form(pair[1])
		if with == nil || without == nil {
			continue
		}
		// A longer prompt takes longer by as much at most.
		expected := without.Latency.TTFT.Mean * max(1, promptLength(with)/max(1, promptLength(without)))
		waited := with.Latency.TTFT.Mean - expected
		usual := waited >= grammarMS && waited >= grammarShare*with.Latency.TTFT.Mean && checks.TTFT.Low > 0
		longest := at(without.Latency.TTFT, "p99") / without.Latency.TTFT.Mean * expected
		tail := at(with.Latency.TTFT, "p99") - longest
		few := min(with.Requests.OK, without.Requests.OK) >= tailRequests && tail >= grammarMS && tail >= (grammarTail-1)*longest
		if !usual && !few || !s.missedFirst() && with.Latency.TTFT.Mean < patienceMS {
			continue
		}
		took := max(0, waited) * float64(with.Requests.OK) / float64(max(1, s.point.Requests.OK))
		c := &claim{confidence: confidence(usual), evidence: []evidence{
			s.see(fmt.Sprintf("forms[%d].latency.ttft_ms", i), "with a schema: mean ttft %s, p99 %s", text.Time(with.Latency.TTFT.Mean), text.Time(at(with.Latency.TTFT, "p99"))),
			s.see(fmt.Sprintf("forms[%d].latency.ttft_ms", k), "without: mean ttft %s, p99 %s", text.Time(without.Latency.TTFT.Mean), text.Time(at(without.Latency.TTFT, "p99"))),
			s.see("schemas.ttft_difference", "%s longer in the same seconds, %s at least", text.RoughPercent(checks.TTFT.Share), text.RoughPercent(max(0, checks.TTFT.Low)))}}
		if usual {
			c.title = fmt.Sprintf("requests with a schema wait %s for its grammar, of a mean ttft of %s", text.Time(waited), text.Time(with.Latency.TTFT.Mean))
			c.share = s.shareOfTime(took, took)
		} else {
			c.title = fmt.Sprintf("some requests with a schema wait for its grammar: their ttft at p99 is %s, %s of the others", text.Time(at(with.Latency.TTFT, "p99")), text.Time(at(without.Latency.TTFT, "p99")))
		}
		return c
	}
	return nil
}

// form finds the requests of a form, nil where there are too few.
func (s *scene) form(name string) (*metric.Group, int) {
	for i := range s.point.Forms {
		if g := &s.point.Forms[i]; g.Name == name && g.Requests.OK >= grammarRequests && g.Latency.TTFT != nil {
			return g, i
		}
	}
	return nil, 0
}

func promptLength(g *metric.Group) float64 { return float64(g.PromptTokens) / float64(g.Requests.OK) }

// confirmSchema repeats the load with a single schema, whose grammar is compiled once.
func confirmSchema(s *scene) string {
	args := append(s.work(), s.load()...)
	if w, _ := s.res.Plan["workload"].(map[string]any); w["classes"] != nil {
		return s.command("run", args...)
	}
	return strings.TrimSpace(s.command("run", append(args, "--schemas", "1")...))
}

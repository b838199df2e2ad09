package startup

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"redline/internal/stats"
)

// level is that of the intervals, where there are starts enough for it.
const level = 0.95

// summarize takes the medians of all starts that came to a phase.
func (s *Side) summarize() {
	before := ""
	for _, name := range Names {
		var since, takes []float64
		for _, start := range s.Starts {
			mark, ok := start.Marks[name]
			if !ok {
				continue
			}
			since, takes = append(since, mark), append(takes, mark-start.Marks[before])
		}
		if len(since) == 0 {
			continue
		}
		p := newPhase(name, since)
		p.TakesS, p.SinceS = stats.Median(takes), stats.Median(since)
		s.Phases = append(s.Phases, p)
		before = name
	}
	byName, order := map[string][]float64{}, []string{}
	var speeds []float64
	for _, start := range s.Starts {
		for _, p := range start.Engine {
			if byName[p.Name] == nil {
				order = append(order, p.Name)
			}
			byName[p.Name] = append(byName[p.Name], p.Seconds)
		}
		if start.TokensPerS > 0 {
			speeds = append(speeds, start.TokensPerS)
		}
	}
	for _, name := range order {
		p := newPhase(name, byName[name])
		p.TakesS = stats.Median(byName[name])
		s.Engine = append(s.Engine, p)
	}
	if p := s.Phase(FirstToken); p != nil {
		s.ProvisioningS = p.SinceS
	}
	if len(speeds) > 0 {
		s.TokensPerS = stats.Median(speeds)
	}
}

func newPhase(name string, values []float64) Phase {
	p := Phase{Name: name, N: len(values)}
	p.Interval[0], p.Interval[1], p.Confidence = stats.MedianInterval(values, level)
	return p
}

// Phase is that of a name, nil where no start came to it.
func (s *Side) Phase(name string) *Phase {
	for i := range s.Phases {
		if s.Phases[i].Name == name {
			return &s.Phases[i]
		}
	}
	return nil
}

// Failed are the starts after which the server could not be used.
func (s *Side) Failed() (list []Start) {
	for _, start := range s.Starts {
		if start.Failed != "" {
			list = append(list, start)
		}
	}
	return list
}

// ReadDelay is the provisioning delay of a report that redline startup --json wrote: that
// of A.
func ReadDelay(path string) (time.Duration, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	var r Report
	if json.Unmarshal(data, &r) != nil || !strings.HasPrefix(r.Schema, schemaName) {
		return 0, fmt.Errorf("%s is not what redline startup --json prints", path)
	}
	if !(r.A.ProvisioningS > 0) {
		return 0, fmt.Errorf("%s: no start came to its first token, so that the delay is not known", path)
	}
	return time.Duration(r.A.ProvisioningS * 1e9), nil
}

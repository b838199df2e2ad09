package validity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"redline/internal/judge/result"
)

// A check is one row, and every moment asks it: the doctor of a machine and of an
// endpoint, the preflight of its first replies, and a run that is over. It is not
// parallel: others read the table.
func TestToyCheck(t *testing.T) {
	const cure = "do not run on a Monday"
	all := checks
	defer func() { checks = all }()
	checks = append(slices.Clone(all), check{name: "weekday", id: "day", what: "day of the week", cure: cure,
		machine:   func(m *Machine) outcome { return warn(m.System) },
		endpoint:  func(e *Endpoint) outcome { return bad(e.API) },
		preflight: func(e *Endpoint) outcome { return bad(e.Model) },
		run: func(e Evidence) outcome {
			return outcome{mark: okOrBad(e.Load.Mode != "open"), figure: e.Load.Mode, threshold: "closed"}
		}})
	found := append(soundMachine().Findings(), able().Findings(time.Now())...)
	for _, want := range []Finding{
		{Check: "day", About: AboutMachine, Mark: Warn, What: "day of the week", Figure: "linux/amd64", Cure: cure},
		{Check: "day", About: able().URL, Mark: Bad, What: "day of the week", Figure: "openai-chat", Cure: cure},
	} {
		if !slices.Contains(found, want) {
			t.Errorf("the doctor does not find %+v", want)
		}
	}
	if err := able().Preflight(); err == nil || !strings.HasSuffix(err.Error(), ": m; "+cure) {
		t.Errorf("the preflight says %v", err)
	}
	want := result.Check{Name: "weekday", Figure: "open", Threshold: "closed", Cure: cure}
	if got, _ := find(t, sound(), "weekday"); got == nil || got.Reason() != want.Reason() || got.Cure != cure {
		t.Errorf("after the run: %+v, want %+v", got, want)
	}
}

package config

import (
	"strings"
	"testing"
	"time"

	"redline/internal/must"
)

// Rules of a benchmark of agents hold for what is not set, and what leaves them or
// differs is said.
func TestRulesOfJobs(t *testing.T) {
	t.Parallel()
	weka := must.File(t, "session.json", `{"id":"one","block_size":64,"requests":[{"t":0,"type":"n","in":100,"out":5,"hash_ids":[1]}]}`)
	for _, tt := range []struct {
		flags    map[string][]string
		duration time.Duration
		idle     time.Duration
		from     string
		notes    []string // a piece of each
	}{
		{map[string][]string{"rules": {"agentx"}}, 30 * time.Minute, 10 * time.Second, "anywhere", []string{"other than with the rules of AgentX: pauses are capped one by one"}},
		{map[string][]string{"rules": {"agentx"}, "duration": {"1m"}, "idle-cap": {"5s"}, "no-stream": {"true"}}, time.Minute, 5 * time.Second, "anywhere",
			[]string{"these are not the rules of AgentX: replies are not streamed; the window is shorter than 15 min; pauses are capped at 5 s", "other than"}},
		{map[string][]string{"rules": {"mlperf-agentic"}, "duration": {"10m"}}, 10 * time.Minute, 0, "start",
			[]string{"these are not the rules of MLPerf agentic: the jobs are not of its format mlperf_agentic", "the window ends by its length"}},
		{map[string][]string{"duration": {"1m"}}, time.Minute, 0, "", nil},
	} {
		tt.flags["workload"], tt.flags["agents"] = []string{weka}, []string{"4"}
		c := must.Get(Resolve(Input{Command: "run", Flags: tt.flags, LookupEnv: func(string) (string, bool) { return "", false }}))(t)
		if b := c.Load.Bounds; b.Duration != tt.duration || tt.notes != nil && (b.Warmup == nil || *b.Warmup != 0) {
			t.Errorf("%v: a window of %v behind %v, want %v", tt.flags, b.Duration, b.Warmup, tt.duration)
		}
		if j := c.Workload.Jobs; tt.notes != nil && (j.IdleCap != tt.idle || j.AgentsFrom != tt.from) {
			t.Errorf("%v: %+v, want a cap of %v and agents from %s", tt.flags, j, tt.idle, tt.from)
		}
		notes := c.RuleNotes()
		if len(notes) != len(tt.notes) {
			t.Fatalf("%v: %q, want %q", tt.flags, notes, tt.notes)
		}
		for i, want := range tt.notes {
			if !strings.Contains(notes[i], want) {
				t.Errorf("%v: %q, want %q", tt.flags, notes[i], want)
			}
		}
	}
	if c, err := Resolve(Input{Command: "run", Flags: map[string][]string{"workload": {weka}, "agents": {"4"}, "rules": {"mlperf-agentic"}, "requests": {"60"}}, LookupEnv: func(string) (string, bool) { return "", false }}); err != nil || c.Workload.Session == nil || c.Workload.Session.Header != "X-Session-ID" {
		t.Errorf("%v, want the session's name in X-Session-ID", err)
	}
}

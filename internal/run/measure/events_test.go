package measure

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"redline/internal/answer/diagnose"
	"redline/internal/clock"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/pipe"
	"redline/internal/plan/config"
)

// runEmbedded measures the embedded engine in virtual time.
func runEmbedded(t *testing.T, seed uint64, flags map[string][]string) (res *result.Result) {
	t.Helper()
	flags["out"] = []string{filepath.Join(t.TempDir(), "run")}
	synctest.Test(t, func(t *testing.T) {
		cfg := must.Get(config.Resolve(config.Input{Flags: flags, Seed: seed, LookupEnv: func(string) (string, bool) { return "", false }}))(t)
		var net pipe.Network
		res, _ = must.Get2(Run(t.Context(), Options{Config: cfg, Clock: clock.Virtual(), Dial: net.Dial, Open: net.Open}))(t)
	})
	return res
}

// A server that is away for five seconds has recovered after five; one that is not
// started again never has.
func TestRecovery(t *testing.T) {
	t.Parallel()
	for action, recovered := range map[string]bool{"restart": true, "kill": false} {
		res := runEmbedded(t, 7, map[string][]string{"rate": {"10"}, "duration": {"60s"}, "warmup": {"0s"}, "workload": {"fixed(64,20)"},
			"at": {"20s: " + action}, "slo": {"ttft:p95<500ms", "recovery:max<10s", "lost:rate<0.1%"}})
		p := res.Points[0]
		if p.Fire == nil || len(p.Fire.Events) != 1 {
			t.Fatalf("%s: %+v", action, p.Fire)
		}
		e := p.Fire.Events[0]
		if recovered != (e.RecoveryS != nil) || e.Lost == 0 || e.Lost > e.Due || e.AtS != 20 {
			t.Errorf("%s: %+v", action, e)
		}
		standing := slo.Missed
		if recovered {
			standing = slo.Met
			if math.Abs(*e.RecoveryS-5) > 0.5 || e.Interval[0] > 5 || e.Interval[1] < 5 || e.Same == "" || math.Abs(e.OutageS-5) > 0.5 {
				t.Errorf("%s: %+v", action, e)
			}
		}
		if got := p.Objectives[1].Standing; got != standing {
			t.Errorf("%s: recovery is %s, want %s", action, got, standing)
		}
		if d := res.Diagnosis; len(d) != 1 || d[0].Regime != diagnose.EventRegime {
			t.Errorf("%s: the cause is %+v, want the event alone", action, d)
		}
		if got := p.Objectives[2].Standing; got != slo.Missed {
			t.Errorf("%s: %d are lost, and the objective is %s", action, e.Lost, got)
		}
	}
}

// A server that is slow anyway is slow for another reason than the event: both are named.
func TestTheSteadyPartIsDiagnosedApart(t *testing.T) {
	t.Parallel()
	for action, first := range map[string]bool{"restart(20s)": true, "restart(1s)": false} {
		d := runEmbedded(t, 7, map[string][]string{"rate": {"4"}, "duration": {"70s"}, "warmup": {"0s"}, "workload": {"in=fixed(200) out=fixed(60)"}, "mbu": {"0.15"},
			"at": {"30s: " + action}, "slo": {"tpot:p95<10ms", "recovery:max<10s"}}).Diagnosis
		if len(d) < 2 || first != (d[0].Regime == diagnose.EventRegime) || first != strings.HasPrefix(d[1].Title, "from 0 s to ") || !first && d[len(d)-1].Regime != diagnose.EventRegime {
			t.Errorf("%s: %+v", action, d)
		}
	}
}

// A server that is away for five seconds comes back with an empty cache: at least nine
// of ten sessions have to come back to it until it is warm.
func TestTheCacheIsWarmAgain(t *testing.T) {
	t.Parallel()
	res := runEmbedded(t, 7, map[string][]string{"rate": {"10"}, "duration": {"70s"}, "warmup": {"5s"}, "workload": {"fixed(64,4)"}, "prefix": {"512"}, "prefix-groups": {"10"},
		"reset-cache": {"true"}, "at": {"30s: restart"}})
	start, again := res.Points[0].Cache.Warming, res.Points[0].Fire.Events[0].Warming
	if again == nil || !again.Ended || again.Requests < 9 || again.Seconds < 5 || again.Seconds > again.Interval[1] || again.Usual < 0.8 {
		t.Errorf("after the restart: %+v", again)
	}
	if start == nil || !start.Ended || start.Requests < 9 || start.Seconds > again.Seconds {
		t.Errorf("after the reset: %+v", start)
	}
}

// A fleet that is rolled with drain loses nothing; a killed replica takes its own
// requests with it and no others; one that does not come back leaves the rest at work.
func TestReplicasGoAndComeBack(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		at   []string
		lost bool
	}{
		{[]string{"5s: roll(2s)"}, false},
		{[]string{"5s: drain 1", "10s: start 1"}, false},
		{[]string{"5s: kill 1"}, true},
	} {
		res := runEmbedded(t, 7, map[string][]string{"rate": {"20"}, "duration": {"15s"}, "warmup": {"0s"}, "workload": {"fixed(64,80)"}, "replicas": {"3"},
			"at": row.at, "slo": {"ttft:p95<500ms", "recovery:max<1s", "lost:rate<0.01%"}})
		p := res.Points[0]
		if p.Fire == nil || len(p.Fire.Events) != len(row.at) {
			t.Fatalf("%v: %+v", row.at, p.Fire)
		}
		e, failed := p.Fire.Events[0], p.Requests.Failed+p.Requests.Rejected
		// About a third of what is in flight is the killed replica's.
		if e.Failed != "" || row.lost != (e.Lost > 0) || e.Lost != failed || 2*e.Lost > e.Due || e.RecoveryS == nil || *e.RecoveryS != 0 {
			t.Errorf("%v: %d failed, %+v", row.at, failed, e)
		}
		if row.at[0] == "5s: roll(2s)" && e.TookS < 6 {
			t.Errorf("a roll over three replicas, each away for 2 s, took %v s", e.TookS)
		}
		standing := slo.Met
		if row.lost {
			standing = slo.Missed
		}
		if p.Objectives[1].Standing != slo.Met || p.Objectives[2].Standing != standing {
			t.Errorf("%v: %+v", row.at, p.Objectives)
		}
	}
}

// A command that fails is reported with the last thing that it complained of.
func TestACommandThatFails(t *testing.T) {
	t.Parallel()
	h := &happenings{over: make(chan struct{})}
	err := h.execute("echo first >&2; echo no such deployment >&2; exit 3")
	if want := "ended with exit code 3: no such deployment"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

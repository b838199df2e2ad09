package config

import (
	"strings"
	"testing"
)

// A shell has a kill of its own, and a path names any command.
func TestCommandsNamedAsActions(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"kill -9 123", "kill $(cat pid)", "/bin/kill 1", "/sbin/start vllm", "killall vllm"} {
		c := mustResolve(t, Input{Command: "run", Flags: flagsOf("duration", "60s", "replicas", "2", "at", "20s: "+command)})
		if e := c.Events()[0]; e.OnEngine() || e.OnFleet() || e.String() != command {
			t.Errorf("%s: %+v, want the shell's", command, e)
		}
	}
}

// What nothing would be judged by is refused before the load.
func TestObjectivesWithoutAnEvent(t *testing.T) {
	t.Parallel()
	for objective, cure := range map[string]string{"recovery:max<9s": "--at", "lost:rate<1%": "--at", "leak:rate<1%": "--cancel 10%"} {
		if _, err := Resolve(Input{Command: "run", Flags: flagsOf("duration", "60s", "slo", objective)}); err == nil || !strings.Contains(err.Error(), objective) || !strings.Contains(err.Error(), cure) {
			t.Errorf("%s: %v", objective, err)
		}
	}
}

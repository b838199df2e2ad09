package simserver

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// StartPhase is a part of a simulated start.
type StartPhase struct {
	Name  string
	Lasts time.Duration
}

// Open is the phase in whose place the port begins to accept connections.
const openPhase = "open"

const maxStartUp = time.Hour

// ParseStartUp reads phases such as "import 1s, open, weights 2s, compile 1s": those
// before the port is open, and those after, while requests are refused. Without open
// the port is open from the beginning.
func ParseStartUp(given string) (closed, loading []StartPhase, err error) {
	var all []StartPhase
	opened := 0
	var total time.Duration
	for part := range strings.SplitSeq(given, ",") {
		words := strings.Fields(part)
		if slices.Equal(words, []string{openPhase}) {
			opened = len(all)
			continue
		}
		if len(words) != 2 {
			return nil, nil, fmt.Errorf("expected phases such as 'import 1s, open, weights 2s, compile 1s', got %q", strings.TrimSpace(part))
		}
		lasts, err := time.ParseDuration(words[1])
		if total += lasts; err != nil || lasts < 0 || total > maxStartUp {
			return nil, nil, fmt.Errorf("%s: expected a time such as 2s, and at most an hour for all, got %q", words[0], words[1])
		}
		all = append(all, StartPhase{words[0], lasts})
	}
	return all[:opened], all[opened:], nil
}

// logged are vLLM's words for the end of a phase.
var logged = map[string]string{"weights": "Loading weights took %.2f seconds", "compile": "torch.compile took %.2f s in total",
	"graphs": "Graph capturing finished in %.0f secs"}

// String is what the engine's log says at the end of the phase.
func (p StartPhase) String() string {
	if words, ok := logged[p.Name]; ok {
		return fmt.Sprintf(words, p.Lasts.Seconds())
	}
	return fmt.Sprintf("%s took %.2f s", p.Name, p.Lasts.Seconds())
}

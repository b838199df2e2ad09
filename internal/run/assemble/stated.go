package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// believe gives what the plan states before what was found, and says where the
// two differ: a reader must know both.
func believe(res *result.Result, c *config.Config, key, found string) string {
	stated := c.Masked(c.Metadata.Get(key))
	if stated == "" || found == "" || sameFact(stated, found) {
		return cmp.Or(stated, found)
	}
	differ(res, key, stated, found)
	if key == "engine" && Simulated(result.Engine{Name: found, Embedded: res.Engine.Embedded}) {
		return found // the simulator passes for nothing else
	}
	return stated
}

func differ(res *result.Result, what, stated, found string) {
	res.Warnings = append(res.Warnings, result.Warning{Figure: "metadata", Text: fmt.Sprintf("the plan states %s %s, the server says %s", what, stated, found)})
}

func sameFact(a, b string) bool {
	return strings.EqualFold(strings.TrimPrefix(a, "v"), strings.TrimPrefix(b, "v"))
}

// flagName is a flag as engines report it: max_num_seqs, whatever its dashes.
func flagName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "-", "_")) }

// compareFlags says which flags the plan states otherwise than the server has
// them.
func compareFlags(res *result.Result, stated, found map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(stated)) {
		if other, ok := found[name]; ok && !sameFact(stated[name], other) && !sameNumber(stated[name], other) {
			differ(res, name, stated[name], other)
		}
	}
}

func sameNumber(a, b string) bool {
	x, errA := strconv.ParseFloat(a, 64)
	y, errB := strconv.ParseFloat(b, 64)
	return errA == nil && errB == nil && x == y
}

var (
	tensorParallel   = regexp.MustCompile(`(?i)\b(?:tp|tensor[- _]parallel(?:[- _]size)?)[ =]*(\d+)`)
	pipelineParallel = regexp.MustCompile(`(?i)\b(?:pp|pipeline[- _]parallel(?:[- _]size)?)[ =]*(\d+)`)
	sizeInName       = regexp.MustCompile(`(?i)(?:^|[-_/ ])(\d+(?:x\d+)?(?:\.\d+)?b)(?:$|[-_/ ])`)
)

// spread reads how many accelerators share the model out of the words for it.
func spread(e *result.Engine, c *config.Config) {
	number := func(from *regexp.Regexp) int {
		if found := from.FindStringSubmatch(e.Parallelism); found != nil {
			n, _ := strconv.Atoi(found[1])
			return n
		}
		return 0
	}
	e.TP, e.PP = number(tensorParallel), number(pipelineParallel)
	if c.Embedded() {
		e.TP, e.PP = max(1, c.Server.Sim.TP), 1
	}
}

// sizeOf is how large a model is, as the plan states it or as its name says.
func sizeOf(c *config.Config, name string) string {
	if stated := c.Masked(c.Metadata.Get("model_size")); stated != "" {
		return stated
	}
	if found := sizeInName.FindStringSubmatch(name); found != nil {
		return strings.ToUpper(found[1])
	}
	return ""
}

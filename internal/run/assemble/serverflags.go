package assemble

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/plan/config"
)

// believe gives what the plan states before what was found, and says where the
// two differ: a reader must know both.
func believe(res *result.Result, c *config.Config, key, found string) string {
	stated := c.MaskText(c.Metadata.Get(key))
	if stated == "" || found == "" || sameFact(stated, found) {
		return cmp.Or(stated, found)
	}
	warnDifference(res, key, stated, found)
	if key == "engine" && IsSimulated(result.Engine{Name: found, Embedded: res.Engine.Embedded}) {
		return found // the simulator passes for nothing else
	}
	return stated
}

func warnDifference(res *result.Result, what, stated, found string) {
	res.Warnings = append(res.Warnings, result.Warning{Figure: "metadata", Text: fmt.Sprintf("the plan states %s %s, the server says %s", what, stated, found)})
}

func sameFact(a, b string) bool {
	return strings.EqualFold(strings.TrimPrefix(a, "v"), strings.TrimPrefix(b, "v"))
}

// flagNames are other spellings of what engines report.
var flagNames = map[string]string{"tp": tpFlag, "tp_size": tpFlag, "num_shard": tpFlag, "pp": ppFlag, "pp_size": ppFlag, "dp": dpFlag, "dp_size": dpFlag}

const (
	tpFlag = "tensor_parallel_size"
	ppFlag = "pipeline_parallel_size"
	dpFlag = "data_parallel_size"
)

// flagName is a flag as engines report it: max_num_seqs, whatever its dashes.
func flagName(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "-", "_"))
	return cmp.Or(flagNames[name], name)
}

// flagsOf takes a command line apart: "vllm serve NAME --max-num-seqs=256
// -tp 2 --no-enable-prefix-caching". What has no flag stands as it is.
func flagsOf(text string) map[string]string {
	if text == "" {
		return nil
	}
	flags, last := map[string]string{}, ""
	for word := range strings.FieldsSeq(text) {
		name := strings.TrimLeft(word, "-")
		switch {
		case name != word && name != "" && !isNumber(word):
			key, value, _ := strings.Cut(name, "=")
			key, off := strings.CutPrefix(flagName(key), "no_")
			if off {
				value = "false"
			}
			last, flags[key] = key, cmp.Or(value, "true")
		case last == "": // the command and the model before its flags
		case flags[last] == "true":
			flags[last] = word
		default:
			flags[last] += " " + word
		}
	}
	if len(flags) == 0 {
		return map[string]string{"flags": text}
	}
	return flags
}

// layoutText is how flags lay a model over accelerators, "" where they do not say.
func layoutText(flags map[string]string) string {
	var parts []string
	for _, f := range [][2]string{{"tp", tpFlag}, {"pp", ppFlag}, {"dp", dpFlag}} {
		if n := flags[f[1]]; isNumber(n) {
			parts = append(parts, f[0]+" "+n)
		}
	}
	return strings.Join(parts, ", ")
}

// sameLayout compares what is said of both.
func sameLayout(a, b string) bool {
	tp, pp, dp := parallelism(a)
	otherTP, otherPP, otherDP := parallelism(b)
	same := func(x, y int) bool { return x == 0 || y == 0 || x == y }
	return same(tp, otherTP) && same(pp, otherPP) && same(dp, otherDP)
}

func isNumber(text string) bool {
	_, ok := number(text)
	return ok
}

// number reads 0.9, 8192 and, as engines do, 8k for 8000 and 8K for 8192.
func number(text string) (float64, bool) {
	scale := 1.0
	for suffix, by := range map[string]float64{"k": 1e3, "m": 1e6, "K": 1 << 10, "M": 1 << 20} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			text, scale = rest, by
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return n * scale, err == nil
}

func sameNumber(a, b string) bool {
	x, okA := number(a)
	y, okB := number(b)
	return okA && okB && x == y
}

var (
	tensorParallel   = regexp.MustCompile(`(?i)\b(?:tp|tensor[- _]parallel(?:[- _]size)?)[ =]*(\d+)`)
	pipelineParallel = regexp.MustCompile(`(?i)\b(?:pp|pipeline[- _]parallel(?:[- _]size)?)[ =]*(\d+)`)
	sizeInName       = regexp.MustCompile(`(?i)(?:^|[-_/ ])(\d+(?:x\d+)?(?:\.\d+)?b)(?:$|[-_/ ])`)
)

// readParallelism reads how many accelerators share the model out of the words for it.
func readParallelism(e *result.Engine, c *config.Config) {
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
	if stated := c.MaskText(c.Metadata.Get("model_size")); stated != "" {
		return stated
	}
	if found := sizeInName.FindStringSubmatch(name); found != nil {
		return strings.ToUpper(found[1])
	}
	return ""
}

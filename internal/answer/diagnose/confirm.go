package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// engineKeys are the settings of the embedded engine that a command has to
// repeat, with those that need not be.
var engineKeys = []struct{ key, flag, usual string }{
	{"model", "--model", "llama-3.1-8b"}, {"gpu", "--gpu", "H100"}, {"tp", "--tp", "1"}, {"replicas", "--replicas", "1"},
	{"max_num_seqs", "--max-num-seqs", "1024"}, {"num_gpu_blocks_override", "--num-gpu-blocks-override", ""},
	{"enable_prefix_caching", "--enable-prefix-caching", "true"}, {"prefill_first", "--prefill-first", "false"},
	{"memory_share", "--mbu", "0.8"}, {"net_delay", "--net-delay", ""}, {"rate_limit", "--rate-limit", ""}, {"cold_start", "--cold-start", ""},
}

// Confirm is the command whose outcome would settle the rule's regime at a
// point of a result.
func (r *rule) Confirm(res *result.Result, point int) string {
	return r.confirm(&scene{res: res, index: point, point: &res.Points[point]})
}

// command is a redline command on the same server.
func (s *scene) command(verb string, args ...string) string {
	if s.res.Isolation != nil && slices.Contains(args, "--plan") && slices.Contains(args, "--rate") {
		verb, args = "matrix", append(args, "--isolation") // a class by itself says nothing of the others
	}
	words := []string{"redline", verb}
	if !slices.Contains(args, "--plan") {
		words = append(words, s.target()...)
	}
	for _, a := range args {
		words = append(words, text.Shell(a))
	}
	return strings.Join(words, " ")
}

func (s *scene) target() []string {
	if !s.res.Engine.Embedded {
		words := []string{"--url", text.Shell(s.res.Engine.URL)}
		if s.res.Model.Name != "" {
			words = append(words, "--model", text.Shell(s.res.Model.Name))
		}
		return words
	}
	var words []string
	server, _ := s.res.Plan["server"].(map[string]any)
	engine, _ := server["sim"].(map[string]any)
	for _, k := range engineKeys {
		v, given := engine[k.key]
		if !given || fmt.Sprint(v) == k.usual {
			continue
		}
		words = append(words, k.flag+"="+text.Shell(fmt.Sprint(v)))
	}
	return words
}

// dropFlag leaves out a flag of the embedded engine, which the command sets
// itself.
func dropFlag(command, flag string) string {
	words := strings.Fields(command)
	for i, w := range words {
		if strings.HasPrefix(w, flag+"=") {
			return strings.Join(append(words[:i], words[i+1:]...), " ")
		}
	}
	return command
}

// work repeats the workload and what is asked of it. A workload that takes more than
// a word stands in the plan that the run's directory keeps, with the server and the
// objectives.
func (s *scene) work() []string {
	var args []string
	switch name := s.res.Plan["workload"].(type) {
	case nil:
	case string:
		args = []string{"--workload", name}
	default:
		return []string{"--plan", "plan.yaml"}
	}
	for _, v := range s.point.Objectives {
		args = append(args, "--slo", v.Objective)
	}
	return args
}

// load repeats what was offered.
func (s *scene) load() []string {
	if r := s.point.Load.Rate; r != nil {
		return []string{"--rate", text.Plain(text.Round(*r, 3))}
	}
	if n := s.point.Load.Concurrency; n != nil {
		return []string{s.atOnce(), strconv.Itoa(*n)}
	}
	return nil
}

// atOnce is the flag that bounds what goes on at once.
func (s *scene) atOnce() string {
	if s.point.Load.Agents {
		return "--agents"
	}
	return "--concurrency"
}

func confirmRate(s *scene) string {
	rate := max(0.1, 0.8*s.point.Rates.Ended)
	return s.command("run", append(s.work(), "--rate", text.Plain(text.Round(rate, 3)))...)
}

func confirmWarm(s *scene) string {
	return s.command("run", append(append(s.work(), s.load()...), "--warmup", "2m")...)
}

func confirmHalf(s *scene) string {
	half := max(1, int(inFlight(s.point)/2))
	if n := s.point.Load.Concurrency; n != nil && s.point.Load.Agents {
		half = max(1, *n/2)
	}
	return s.command("run", append(s.work(), s.atOnce(), strconv.Itoa(half))...)
}

// confirmSeqs raises the limit of the embedded engine; another server has to be
// restarted first.
func confirmSeqs(s *scene) string {
	c := s.command("run", append(s.work(), s.load()...)...)
	if most := s.maxSeqs(); s.res.Engine.Embedded && most > 0 {
		return dropFlag(c, "--max-num-seqs") + " --max-num-seqs " + strconv.Itoa(2*int(most))
	}
	return c
}

func confirmCold(s *scene) string {
	if s.point.Load.Agents {
		return confirmAgent(s)
	}
	return s.command("run", append(append(s.work(), s.load()...), "--cache", "cold")...)
}

func confirmNear(s *scene) string {
	if s.res.Engine.Embedded {
		return dropFlag(s.command("run", append(s.work(), s.atOnce(), "1")...), "--net-delay")
	}
	return "redline doctor --url " + text.Shell(s.res.Engine.URL)
}

// confirmShort offers the requests without the long half of the prompts.
func confirmShort(s *scene) string {
	prompts, outputs := s.point.Tokens.PromptLengths, s.point.Tokens.OutputLengths
	work := fmt.Sprintf("in=fixed(%d) out=fixed(%d)", whole(p50(prompts)), whole(p50(outputs)))
	load := s.load()
	if s.point.Load.Agents {
		load = []string{"--concurrency", strconv.Itoa(whole(inFlight(s.point)))}
	}
	return s.command("run", append([]string{"--workload", work}, load...)...)
}

func whole(v float64) int { return max(1, int(math.Round(v))) }

// longerBy is how many times as long a search is confirmed by another.
const longerBy = 3

// confirmLimit searches for the limit, after a search for longer than that.
func confirmLimit(s *scene) string {
	args := append(s.work(), "--find-limit")
	if s.point.Load.Agents {
		args = append(args, "--agents", "1..500")
	}
	if l := s.res.Limit; l != nil {
		args = append(args, "--budget", fmt.Sprintf("%.0fm", math.Ceil(longerBy*l.LoadS/60)))
	}
	if len(s.point.Objectives) == 0 {
		args = append(args, "--slo", "ttft:p99<2s")
	}
	return s.command("sweep", args...)
}

func confirmPrefill(s *scene) string {
	length := whole(2 * s.point.Tokens.PromptLengths.Mean)
	return s.command("run", "--workload", fmt.Sprintf("in=fixed(%d) out=fixed(16)", length), "--concurrency", "1", "--requests", "50")
}

func confirmStream(s *scene) string {
	return s.command("run", "--workload", "in=fixed(256) out=fixed(512)", "--concurrency", "1", "--requests", "30")
}

// confirmWhole asks for the same without events.
func confirmWhole(s *scene) string {
	return s.command("run", append(append(s.work(), s.load()...), "--no-stream")...)
}

func confirmBatch(s *scene) string {
	return s.command("sweep", append(s.work(), "--concurrencies", "1,2,4,8,16,32,64")...)
}

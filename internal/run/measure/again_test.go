package measure

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/plan/config"
	"redline/internal/store"
	"redline/internal/twin/sim"
)

// A run is assembled in one way: judged again by its own objectives, pooled with
// no other, and rebuilt from its records it is what it was when it ended.
func TestARunReadAgainIsTheSame(t *testing.T) {
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	text := "metadata: {hardware: H100}\nmetrics: {kv_cache_estimation: true}\ncost: {per_hour: 3}\nworkload: {prompt: 'uniform(100,400)', output: 'uniform(5,20)'}\n"
	must.Write(t, plan, text)
	flags := map[string][]string{"url": {"http://sim"}, "model": {"llama-3.1-8b"}, "rate": {"10"}, "arrival": {"constant"}, "duration": {"60s"},
		"slo": {"ttft:p99<500ms", "itl:p95<60ms", "error:rate<1%", "kv:max<900MB"}}
	runVirtualOn(t, sim.Spec{Model: "llama-3.1-8b", GPU: "H100"}, flags, plan, func(res *result.Result, dir *store.Dir, _ []*sim.Job) {
		own := res.Points[0]
		c := must.Get(config.Reopen(dir.PlanPath()))(t)
		verdicts := must.Get(Judge(c, dir.Path, c.Objectives))(t)
		expect.NoDiff(t, cmp.Diff(own.Objectives, verdicts), "judged again (-live +again)")
		pooled := must.Get(Pool(c, []string{dir.Path}))(t)
		for name, pair := range map[string][2]any{"latency": {own.Latency, pooled.Latency}, "requests": {own.Requests, pooled.Requests},
			"rates": {own.Rates, pooled.Rates}, "cache": {own.KV, pooled.KV}, "cost": {own.Cost, pooled.Cost}} {
			expect.NoDiff(t, cmp.Diff(pair[0], pair[1]), "%s, pooled (-live +pooled)", name)
		}
		must.Do(t, os.Remove(filepath.Join(dir.Path, "result.json")))
		again := must.Get(Rebuild(dir.Path))(t)
		rebuilt := again.Points[0]
		for name, pair := range map[string][2]any{"engine": {res.Engine, again.Engine}, "model": {res.Model, again.Model}, "hardware": {res.Hardware, again.Hardware},
			"load": {own.Load, rebuilt.Load}, "unknown": {res.Unknown, again.Unknown}, "standings": {standings(own), standings(rebuilt)}} {
			expect.NoDiff(t, cmp.Diff(pair[0], pair[1]), "%s, rebuilt (-live +rebuilt)", name)
		}
		// Its window ends with the last mark in the log.
		if n := rebuilt.Requests.OK; n < own.Requests.OK-10 || n > own.Requests.OK || rebuilt.KV == nil || rebuilt.Cost == nil {
			t.Errorf("rebuilt with %d ok of %d, cache %v, cost %v", n, own.Requests.OK, rebuilt.KV, rebuilt.Cost)
		}
	})
}

func standings(p result.Point) (list []slo.Standing) {
	for _, v := range p.Objectives {
		list = append(list, v.Standing)
	}
	return list
}

package config

import (
	"path/filepath"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/traffic/workload"
)

func keptRun(t *testing.T, result string) string {
	t.Helper()
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "result.json"), result)
	return dir
}

func TestLimitOfAnotherRun(t *testing.T) {
	t.Parallel()
	dir := keptRun(t, `{"schema":"redline/result/1","limit":{"rate":12.5,"interval":[12,13]}}`)
	c := mustResolve(t, Input{Flags: flags("--profile=overload(2)", "--limit="+dir)})
	if c.Load.Limit != 12.5 || c.Load.RateAt(0) != 25 {
		t.Errorf("limit %g, rate %g; want 12.5 and twice as much", c.Load.Limit, c.Load.RateAt(0))
	}
	number := mustResolve(t, Input{Flags: flags("--profile=overload", "--limit=8")})
	if got := number.Load.RateAt(0); got != 12 {
		t.Errorf("overload of 8 requests/s is %g, want 12", got)
	}
}

func TestLimitThatNobodyFound(t *testing.T) {
	t.Parallel()
	none, never := keptRun(t, `{"schema":"redline/result/1"}`), keptRun(t, `{"limit":{"rate":0,"standing":"below"}}`)
	broken, empty := keptRun(t, `{"limit":`), t.TempDir()
	for _, tt := range []struct{ name, limit, want string }{
		{"a run without a search", none, `--limit: the run in "` + none + `" did not search for a limit: give the rate itself, or a run that searched for it`},
		{"nothing was kept", never, `--limit: the run in "` + never + `" met its objectives at no rate, so there is no limit to exceed: give the rate itself`},
		{"no result", empty, `--limit: "` + empty + `" holds no result.json: expected the directory of a run that found a limit`},
		{"no result but something else", broken, "--limit: " + filepath.Join(broken, "result.json") + ": is no result: unexpected end of JSON input"},
		{"neither", "fast", `--limit: expected requests per second or the directory of a run, got "fast", which is neither`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Resolve(Input{Flags: flags("--profile=overload", "--limit="+tt.limit)})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// A missing limit is not blamed on a flag that has nothing to do with it.
func TestMissingLimitIsNotAnotherFlagsFault(t *testing.T) {
	t.Parallel()
	_, err := Resolve(Input{Flags: flags("--profile=overload", "--out=somewhere")})
	const want = "--limit: overload is a multiple of the rate that the server sustains: give that rate, " +
		"or the directory of the run that found it (--limit)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHotSpotProfile(t *testing.T) {
	t.Parallel()
	type spot struct {
		Tenants []workload.Tenant
		HotSpot *workload.HotSpot
	}
	made := []workload.Tenant{{Name: "tenant", Count: 10}}
	ours := []workload.Tenant{{Name: "acme", Share: 3}, {Name: "small", Count: 2}}
	const plan = "workload:\n  tenants: [{name: acme, share: 3}, {name: small, count: 2}]\n"
	for _, tt := range []struct {
		name, plan string
		flags      []string
		want       spot
	}{
		{"steady has none", "", nil, spot{}},
		{"tenants are made", "", []string{"--profile=hot-spot"}, spot{made, &workload.HotSpot{Tenant: "tenant-1", Share: 0.8}}},
		{"of another share", "", []string{"--profile=hot-spot(0.5)"}, spot{made, &workload.HotSpot{Tenant: "tenant-1", Share: 0.5}}},
		{"the first of ours", plan, []string{"--profile=hot-spot"}, spot{ours, &workload.HotSpot{Tenant: "acme", Share: 0.8}}},
		{"the plan's own stays", plan + "  hot_spot: {tenant: small-2, share: 0.6}\n", []string{"--profile=hot-spot"},
			spot{ours, &workload.HotSpot{Tenant: "small-2", Share: 0.6}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := Input{Flags: flags(tt.flags...)}
			if tt.plan != "" {
				in.PlanPath = writePlan(t, tt.plan)
			}
			c := mustResolve(t, in)
			expect.Same(t, tt.want, spot{c.Workload.Tenants, c.Workload.HotSpot})
			if c.Load.Varies() || c.Load.RateAt(0) != defaultRate {
				t.Errorf("rate %g, varies %t; want the steady default", c.Load.RateAt(0), c.Load.Varies())
			}
		})
	}
	alone := writePlan(t, "workload:\n  tenants: [{name: acme}]\n")
	_, err := Resolve(Input{PlanPath: alone, Flags: flags("--profile=hot-spot")})
	if want := "--profile: a hot spot is one tenant among others, but the workload has one alone"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

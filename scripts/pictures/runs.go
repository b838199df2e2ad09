package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"redline/internal/judge/result"
	"redline/internal/judge/series"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
)

const recorded = "internal/twin/testdata/recorded"

// recordings are archives of runs, by the directory that they are unpacked into.
var recordings = map[string]string{
	"llama-3.1-8b":       "vllm-0.24.0-h200-llama-3.1-8b.tar.gz",
	"llama-3.1-8b-first": "vllm-0.24.0-h200-llama-3.1-8b-first.tar.gz",
	"qwen3-14b":          "vllm-0.24.0-h200-qwen3-14b.tar.gz",
	"qwen3-30b-a3b":      "vllm-0.24.0-h200-qwen3-30b-a3b.tar.gz",
}

var objectives = []string{"ttft:p95<450ms", "tpot:p95<25ms"}

// writeRuns unpacks the recordings below a directory, and judges the runs.
func writeRuns(root string) error {
	for name, archive := range recordings {
		into := filepath.Join(root, name)
		if err := os.MkdirAll(into, 0o755); err != nil {
			return err
		}
		if out, err := exec.Command("tar", "-xzf", filepath.Join(recorded, archive), "-C", into).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", archive, err, out)
		}
	}
	paths, err := filepath.Glob(filepath.Join(root, "*", "*", store.ResultFile))
	if err != nil {
		return err
	}
	for _, path := range paths {
		dir := filepath.Dir(path)
		res, err := redrawResult(dir)
		if err != nil {
			return err
		}
		res.Label = "h200"
		if err := (&store.Dir{Path: dir}).WriteResult(res); err != nil {
			return err
		}
	}
	return nil
}

// redrawResult is the result of a run that was recorded before results held what charts
// are drawn from, judged by objectives that it did not have.
func redrawResult(path string) (*result.Result, error) {
	dir, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err != nil {
		return nil, err
	}
	plan, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return nil, err
	}
	asked, err := slo.ParseAll(objectives)
	if err != nil {
		return nil, err
	}
	p := &res.Points[0]
	if p.Objectives, err = measure.Judge(plan, path, asked); err != nil {
		return nil, err
	}
	res.Verdict.SLO, res.Verdict.Reasons = slo.Overall(p.Objectives), []string{}
	logged, err := dir.ReadTelemetry()
	if err != nil {
		return nil, err
	}
	start := int64(p.Window.StartS * 1e9)
	binned := series.New(start-int64(*p.Window.WarmupS*1e9), start, int64(p.Window.EndS*1e9))
	for r, err := range dir.Records() {
		if err != nil {
			return nil, err
		}
		binned.Add(r)
	}
	p.Series, p.Distributions = binned.Over(logged.Scrapes(), logged.Accelerators()), binned.Distributions()
	return res, nil
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/must"
	"redline/internal/workers/bus"
)

// TestWorkersKeepRecords has processes keep complete records beside a run that has
// the token times of a few.
func TestWorkersKeepRecords(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	dir := filepath.Join(t.TempDir(), "records")
	for _, name := range []string{"w1", "w2"} {
		cmd, _, _ := program(t, "worker", "--nats", c.nats, "--name", name, "--keep", dir)
		cmd.Env = append(cmd.Env, bus.TokenVariable+"="+crewToken)
		startedProcess(t, cmd)
	}
	run := c.conducts(2, "run", "--rate", "50", "--requests", "150", "--token-times", "20%")
	res := run.result()
	kept := map[int]record.Record{}
	for _, name := range []string{"w1", "w2"} {
		for _, r := range readLog(t, filepath.Join(dir, res.ID+"-"+name+".jsonl")) {
			kept[r.ID] = r
		}
	}
	timed, all := 0, readRecords(t, run.dir)
	for _, r := range all {
		whole, there := kept[r.ID]
		if !there || whole.Thinned() || whole.Sent != r.Sent || whole.Last != r.Last || whole.ChunkCount() != r.ChunkCount() || whole.Outcome != r.Outcome {
			t.Errorf("request %d: kept as\n%s of\n%s", r.ID, whole.AppendLine(nil), r.AppendLine(nil))
		}
		if !r.Thinned() {
			timed++
		}
	}
	if len(all) != len(kept) || len(all) < 150 || timed < 20 || timed > 45*len(all)/150 {
		t.Errorf("%d requests, %d with token times, %d kept by workers", len(all), timed, len(kept))
	}
}

// readLog reads a log of records that stands alone.
func readLog(t *testing.T, path string) (list []record.Record) {
	t.Helper()
	f := must.Get(os.Open(path))(t)
	defer f.Close()
	r := must.Get(record.NewReader(f))(t)
	for rec, err := range r.All() {
		must.Do(t, err)
		list = append(list, *rec)
	}
	return list
}

package config

import (
	"path/filepath"
	"strings"
	"testing"

	"redline/internal/catalog"
	"redline/internal/must"

	"github.com/google/go-cmp/cmp"
)

const anEngine = `schema: redline/engine/1
model: smollm2
max_num_seqs: 4
step_overhead: 250us
law:
  weights_us: 4000
  token_us: 90.5
  corner: 1.5
fitted:
  from: [runs/a]
  anything: 3
`

func engineAt(t *testing.T, text string) string {
	t.Helper()
	path := must.File(t, "engine.yaml", text)
	return path
}

// The embedded engine is the file's, but for what flags say; the kept plan
// holds it without the file.
func TestEngineFile(t *testing.T) {
	t.Parallel()
	c := must.Get(Resolve(Input{Flags: map[string][]string{"engine": {engineAt(t, anEngine)}, "max-num-seqs": {"2"}},
		LookupEnv: func(string) (string, bool) { return "", false }}))(t)
	want := &catalog.Law{WeightsUS: 4000, TokenUS: 90.5, Corner: 1.5}
	if s := c.Server.Sim; s.Model != "smollm2" || s.MaxNumSeqs != 2 || s.StepOverhead != 250_000 || cmp.Diff(want, s.Law) != "" {
		t.Errorf("the engine is %+v with law %+v", s, s.Law)
	}
	if c.Server.Engine != "" {
		t.Errorf("the kept plan names the file %q", c.Server.Engine)
	}
}

func TestBadEngineFiles(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"no schema", "law: {weights_us: 1, corner: 1}\n", "schema: expected redline/engine/1"},
		{"a plan", "seed: 1\nprovider: {model: a}\n", "engine.yaml:2: provider: unknown key"},
		{"a slip", strings.Replace(anEngine, "token_us", "tokens_us", 1), "engine.yaml:7: law.tokens_us: unknown key, did you mean token_us?"},
		{"a word for a number", strings.Replace(anEngine, "4000", "fast", 1), "engine.yaml:6: law.weights_us"},
		{"an absurd law", strings.Replace(anEngine, "4000", "-1", 1), "law.weights_us: expected microseconds"},
		{"empty", "", "is empty"},
	} {
		_, err := ReadEngine(engineAt(t, row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q in it", row.name, err, row.want)
		}
	}
	if _, err := ReadEngine(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "no such") {
		t.Errorf("a missing file: %v", err)
	}
}

// FuzzEngine holds every file that is accepted to an engine that can be made.
func FuzzEngine(f *testing.F) {
	f.Add([]byte(anEngine))
	f.Add([]byte("schema: redline/engine/1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, err := parseEngine("engine.yaml", data)
		if err != nil {
			return
		}
		if err := spec.Validate(); err != nil {
			t.Errorf("an accepted engine is refused: %v", err)
		}
	})
}

package catalog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/must"
)

const small = `dated: 2026-11-01
source: here
models:
  - name: tiny
    aliases: [wee]
    layers: 2
    hidden: 64
    heads: 8
    kv_heads: 2
    head_dim: 8
    ffn: 256
    vocab: 1000
    max_len: 4096
    precision: fp8
    confidence: low
accelerators:
  - {name: brick, bf16_tflops: 10, memory_gib: 1.5, bandwidth_gbs: 100}
`

func TestFilesAddEntries(t *testing.T) {
	t.Parallel()
	path := must.File(t, "mine.yaml", small)
	c := must.Get(Open(path))(t)
	wantModel := Model{Name: "tiny", Aliases: []string{"wee"}, Layers: 2, Hidden: 64, Heads: 8, KVHeads: 2, HeadDim: 8, FFN: 256,
		Vocab: 1000, MaxLen: 4096, Precision: FP8, Dated: "2026-11-01", Source: "here", Confidence: "low"}
	got, err := c.Model("someone/Wee")
	if diff := cmp.Diff(wantModel, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	wantBrick := Accelerator{Name: "brick", BF16: 10e12, Memory: 3 << 29, Read: 100e9, Dated: "2026-11-01", Source: "here"}
	brick, err := c.Accelerator("Brick")
	if diff := cmp.Diff(wantBrick, brick); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := c.Model("llama-3.1-8b"); err != nil {
		t.Errorf("the built-in entries are gone: %v", err)
	}
	if _, err := FindModel("tiny"); err == nil {
		t.Error("a user's entry changed the built-in catalog")
	}
}

// An entry of a known name, or of an alias, changes what it says and nothing
// else.
func TestEntriesOverrideByName(t *testing.T) {
	t.Parallel()
	c := must.Get((*Catalog)(nil).Add("mine.json", []byte(`{"accelerators": [{"name": "h100", "price": {"low": 2.2, "high": 2.2, "source": "a contract"}}]}`)))(t)
	want := must.Get(FindAccelerator("H100"))(t)
	want.PriceLow, want.PriceHigh, want.PriceSource = 2.2, 2.2, "a contract"
	got, err := c.Accelerator("H100-SXM")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if n := len(c.Accelerators()); n != len(builtin().Accelerators()) {
		t.Errorf("%d accelerators, want as many as before", n)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	change := func(old, new string) string { return strings.Replace(small, old, new, 1) }
	for _, row := range []struct{ name, text, want string }{
		{"empty", "", "c.yaml: is empty"},
		{"no YAML", "models: [", "c.yaml:1: not YAML"},
		{"binary", "\x00\x01", "c.yaml: is not a text file"},
		{"a list", "- name: x", "c.yaml:1: expected a block with keys such as dated, got a list"},
		{"unknown top key", change("models:", "modles:"), "c.yaml:3: modles: unknown key, did you mean models?"},
		{"unknown key", change("kv_heads:", "kvheads:"), "c.yaml:9: models[0].kvheads: unknown key, did you mean kv_heads?"},
		{"negative bytes", change("memory_gib: 1.5", "memory_gib: -1"), `c.yaml:17: accelerators[0].memory_gib: expected a number from 0 to 100000, got "-1"`},
		{"no number", change("layers: 2", "layers: two"), `c.yaml:6: models[0].layers: expected a whole number from 1 to 1000, got "two"`},
		{"a fraction", change("layers: 2", "layers: 2.5"), `c.yaml:6: models[0].layers: expected a whole number`},
		{"not a number at all", change("layers: 2", "layers: .nan"), `c.yaml:6: models[0].layers: expected a whole number`},
		{"absurd", change("vocab: 1000", "vocab: 1e18"), "c.yaml:12: models[0].vocab: expected a whole number from 1 to 4194304"},
		{"missing", change("    vocab: 1000\n", ""), "models[0] (tiny): has no vocab"},
		{"cannot be", change("kv_heads: 2", "kv_heads: 3"), "models[0] (tiny): 3 kv_heads do not divide 8 heads"},
		{"precision", change("fp8", "fp7"), `c.yaml:14: models[0].precision: unknown precision "fp7"`},
		{"confidence", change("confidence: low", "confidence: sure"), `c.yaml:15: models[0].confidence: expected high, medium, low, got "sure"`},
		{"no name", change("name: brick, ", ""), "c.yaml:17: accelerators[0]: has no name"},
		{"empty name", change("name: brick", `name: "--"`), `c.yaml:17: accelerators[0].name: expected a name with letters or digits`},
		{"twice", change("    layers: 2\n", "    layers: 2\n    layers: 3\n"), "c.yaml:7: key layers is given twice in one block"},
		{"entries that are no list", "models: {name: x}", "c.yaml:1: models: expected a list of entries"},
		{"price upside down", change("bandwidth_gbs: 100", "bandwidth_gbs: 100, price: {low: 3, high: 1}"), "high 1 is below low 3"},
		{"share", change("bandwidth_gbs: 100", "bandwidth_gbs: 100, reached: {bf16: 2}"), "accelerators[0].reached.bf16: expected a share above 0 and up to 1"},
		{"deep", "models: " + strings.Repeat("[", 50) + strings.Repeat("]", 50), "c.yaml:1: nested too deeply"},
		{"two documents", small + "---\n" + small, "a second YAML document; only one is read"},
	} {
		_, err := (*Catalog)(nil).Add("c.yaml", []byte(row.text))
		if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s:\n got %v\nwant %s", row.name, err, row.want)
		}
	}
}

func TestBadPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	must.Write(t, large, make([]byte, maxFileBytes+1))
	for path, want := range map[string]string{
		filepath.Join(dir, "nothing.yaml"): "nothing.yaml: no such file: expected a catalog, or the config.json of a model",
		dir:                                filepath.Join(dir, "config.json") + ": no such file",
		large:                              "large.yaml: has 1048577 bytes",
		os.DevNull:                         os.DevNull + ": is no file",
	} {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

// FuzzAdd: any bytes give entries that arithmetic bears, or one line.
func FuzzAdd(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("accelerators: [{name: H100, price: {low: 1, high: 2}}]"))
	f.Add([]byte("models: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := (*Catalog)(nil).Add("c.yaml", data)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r") {
				t.Errorf("more than a line: %q", err)
			}
			return
		}
		for _, m := range c.Models() {
			usable(t, m)
		}
	})
}

package catalog

import (
	"strings"
	"testing"

	"redline/internal/must"
)

func TestFindModelIsTolerant(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"llama-3.1-8b":                          "llama-3.1-8b",
		"meta-llama/Llama-3.1-8B-Instruct":      "llama-3.1-8b",
		"meta-llama/Meta-Llama-3.1-8B-Instruct": "llama-3.1-8b",
		"Llama_3.1 70B":                         "llama-3.1-70b",
		"meta-llama/Llama-2-70b-chat-hf":        "llama-2-70b",
		"Qwen/Qwen2.5-7B-Instruct-AWQ":          "qwen2.5-7b",
		"mistralai/Mistral-7B-Instruct-v0.3":    "mistral-7b",
		"mistralai/Mixtral-8x7B-Instruct-v0.1":  "mixtral-8x7b",
		"deepseek-ai/DeepSeek-R1-0528":          "deepseek-v3",
		"openai/gpt-oss-120b":                   "gpt-oss-120b",
		"google/gemma-3-27b-it":                 "gemma-3-27b",
		"Qwen/Qwen3-30B-A3B-Instruct-2507":      "qwen3-30b-a3b",
	} {
		if m, err := FindModel(in); err != nil || m.Name != want {
			t.Errorf("%q: got %q, %v; want %q", in, m.Name, err, want)
		}
	}
}

// A name that ends in a precision means it, unless the catalog has that very name.
func TestANameTellsThePrecision(t *testing.T) {
	t.Parallel()
	own := must.Get(FindModel("qwen3-8b"))(t)
	own.Name, own.Precision = "our-fp8-tuned", INT4
	c := &Catalog{models: builtin().models.clone()}
	c.models.put(own, own.names())
	for in, want := range map[string]Precision{
		"Qwen/Qwen3-32B":                         BF16,
		"Qwen/Qwen3-32B-FP8":                     FP8,
		"qwen3_32b_fp8":                          FP8,
		"Qwen/Qwen3-235B-A22B-Thinking-2507-FP8": FP8,
		"Llama-3.3-70B-Instruct-AWQ":             INT4,
		"llama-3.1-8b-instruct_gptq":             INT4,
		"nvidia/Llama-3.3-70B-Instruct-NVFP4":    FP4,
		"RedHatAI/Qwen3-8B-FP8-dynamic":          FP8,
		"deepseek-ai/DeepSeek-V3":                FP8,
		"DeepSeek-V3-bf16":                       BF16,
		"us/our-fp8-tuned":                       INT4,
	} {
		if m, err := c.Model(in); err != nil || m.Precision != want {
			t.Errorf("%q: got %q, %v; want %q", in, m.Precision, err, want)
		}
	}
	if m, err := c.Model("qwen3-32b"); err != nil || m.Precision != BF16 {
		t.Errorf("the entry itself has become %q, %v", m.Precision, err)
	}
}

func TestFindAcceleratorIsTolerant(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"h100":                   "H100-SXM",
		"NVIDIA H100 80GB HBM3":  "H100-SXM",
		"h100_pcie":              "H100-PCIe",
		"A100":                   "A100-80G-SXM",
		"NVIDIA A100-SXM4-40GB":  "A100-40G-SXM",
		"AMD Instinct MI300X":    "MI300X",
		"NVIDIA GeForce RTX4090": "RTX-4090",
		"v5e":                    "TPU-v5e",
	} {
		if a, err := FindAccelerator(in); err != nil || a.Name != want {
			t.Errorf("%q: got %q, %v; want %q", in, a.Name, err, want)
		}
	}
}

func TestUnknownNamesAreHelped(t *testing.T) {
	t.Parallel()
	_, modelErr := FindModel("lama-3.1-8b")
	_, acceleratorErr := FindAccelerator("H300")
	for _, row := range []struct {
		err  error
		want []string
	}{
		{modelErr, []string{`unknown model "lama-3.1-8b"`, "did you mean llama-3.1-8b?", "gemma-3-27b"}},
		{acceleratorErr, []string{`unknown accelerator "H300"`, "did you mean H100?", "TPU-v6e"}},
	} {
		for _, want := range row.want {
			if row.err == nil || !strings.Contains(row.err.Error(), want) {
				t.Errorf("got %v, want %q in it", row.err, want)
			}
		}
	}
	if _, err := FindModel(""); err == nil {
		t.Error("an empty name was found")
	}
}

// TestBuiltinIsSourced: reading the file checks the shapes; whatever is added
// must also say when it was true, who said so, and how far to trust it.
func TestBuiltinIsSourced(t *testing.T) {
	t.Parallel()
	c := builtin()
	for _, m := range c.Models() {
		if !strings.HasPrefix(m.Dated, "20") || m.Source == "" || m.Confidence == "" {
			t.Errorf("%s: dated %q, source %q, confidence %q", m.Name, m.Dated, m.Source, m.Confidence)
		}
	}
	for _, a := range c.Accelerators() {
		if !strings.HasPrefix(a.Dated, "20") || a.Source == "" || a.Confidence == "" {
			t.Errorf("%s: dated %q, source %q, confidence %q", a.Name, a.Dated, a.Source, a.Confidence)
		}
		if a.PriceHigh > 0 && (a.PriceDated == "" || a.PriceSource == "" || a.PriceConfidence == "") {
			t.Errorf("%s: a price without its date, source or confidence", a.Name)
		}
		if (len(a.Reached) > 0) != (a.ReachedSource != "") {
			t.Errorf("%s: a share without a source", a.Name)
		}
	}
}

// FuzzFind: any name gets an entry or an error that names it.
func FuzzFind(f *testing.F) {
	for _, seed := range []string{"", "/", "meta-llama/Llama-3.1-8B", "instruct", "H100\x00", "ünïcode", "metameta"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if m, err := FindModel(name); (err == nil) == (m.Name == "") {
			t.Errorf("model %q: got %q, %v", name, m.Name, err)
		}
		if a, err := FindAccelerator(name); (err == nil) == (a.Name == "") {
			t.Errorf("accelerator %q: got %q, %v", name, a.Name, err)
		}
	})
}

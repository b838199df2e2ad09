package slo

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func texts(list []Objective) []string {
	var out []string
	for _, o := range list {
		out = append(out, o.Text)
	}
	return out
}

func TestExpand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ttft:p99<500ms":                  {"ttft:p99<500ms"},
		"mlperf:llama2-70b-interactive":   {"ttft:p99<450ms", "tpot:p99<40ms"},
		" MLPerf:Llama2-70B-Server ":      {"ttft:p99<2s", "tpot:p99<200ms"},
		"mlperf:qwen3-vl-235b-server":     {"e2e:p99<12s"},
		"chat":                            {"ttft:p95<1s", "tpot:p95<40ms", "e2e:p99<15s"},
		"class=rag tenant=acme chat":      {"class=rag tenant=acme ttft:p95<1s", "class=rag tenant=acme tpot:p95<40ms", "class=rag tenant=acme e2e:p99<15s"},
		"class=rag ttft:p99<2s":           {"class=rag ttft:p99<2s"},
		"mlperf:deepseek-r1-interactive":  {"ttft:p99<1.5s", "tpot:p99<15ms"},
		"mlperf:gpt-oss-120b-interactive": {"ttft:p99<2s", "tpot:p99<15ms"},
	} {
		got, err := Expand(text)
		if err != nil {
			t.Errorf("Expand(%q): %v", text, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(want, texts(got)), "Expand(%q) (-want +got)", text)
	}
}

func TestExpandSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"mlperf:llama2-70b-interactiv": "did you mean mlperf:llama2-70b-interactive?",
		"chats":                        "did you mean chat?",
		"banana-split-with-everything": "or a preset such as chat",
		"ttft:p99":                     "expected metric:stat<limit",
		"ttft":                         "expected metric:stat<limit",
		"":                             "expected metric:stat<limit",
		"class=":                       "the name is missing",
	} {
		got, err := Expand(text)
		if err == nil {
			t.Errorf("Expand(%q) = %v, want an error", text, texts(got))
			continue
		}
		if !strings.Contains(err.Error(), part) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Expand(%q): %v, want one line with %q", text, err, part)
		}
	}
}

// The table is data that users rely on: every line must parse, to what it says,
// under a name of its own that no objective could be mistaken for.
func TestEveryPresetIsSound(t *testing.T) {
	t.Parallel()
	names := PresetNames()
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("a name is given twice in %v", names)
	}
	for _, p := range presets {
		got, err := Expand(p.Name)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(p.Texts, texts(got)), "%s is not spelled as objectives are (-table +parsed)", p.Name)
		if p.About == "" || p.Source == "" {
			t.Errorf("%s: whom it is for (%q) or its source (%q) is missing", p.Name, p.About, p.Source)
		}
	}
}

func TestTheManualListsEveryPreset(t *testing.T) {
	t.Parallel()
	manual := must.Read(t, "../../../docs/reference/METRICS.md")
	for _, p := range presets {
		line := "| `" + p.Name + "` | `" + strings.Join(p.Texts, "` `") + "` | " + p.About + " |"
		if !strings.Contains(string(manual), line) {
			t.Errorf("docs/reference/METRICS.md lacks the line\n%s", line)
		}
		if !strings.Contains(string(manual), p.Source) {
			t.Errorf("docs/reference/METRICS.md lacks the source of %s: %s", p.Name, p.Source)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"chat", "class=rag chat", "mlperf:llama2-70b-interactive", "ttft:p99<500ms", `tenant="a b" batch`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := Expand(text)
		if err != nil {
			return
		}
		for _, o := range list {
			again, err := Parse(o.Text)
			if err != nil {
				t.Fatalf("%q gives %q, which is an error: %v", text, o.Text, err)
			}
			expect.NoDiff(t, cmp.Diff(o, again), "%q: %q changes when it is read again", text, o.Text)
		}
	})
}

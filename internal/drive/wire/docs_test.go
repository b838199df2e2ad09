package wire

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/llm"
	"redline/internal/must"
)

// TestDocumentedDialects holds the table of docs/reference/DIALECTS.md to the dialects
// there are: their order, paths, framings, and the words that set the length.
func TestDocumentedDialects(t *testing.T) {
	t.Parallel()
	page := must.Read(t, "../../../docs/reference/DIALECTS.md")
	type row struct{ Name, Path, Framing, Length, Features string }
	var got, want []row
	rows := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| `([^`]+)` \\| (\\w+) \\| (.*) \\| (.*) \\|$")
	for _, m := range rows.FindAllStringSubmatch(string(page), -1) {
		got = append(got, row{m[1], m[2], m[3], m[4], m[5]})
	}
	for _, d := range All() {
		want = append(want, row{d.Name, d.Path, d.Framing.String(), lengthWords(d), featureWords(d)})
		if !regexp.MustCompile("(?m)^### .*\\b" + d.Name + "\\b").Match(page) {
			t.Errorf("%s has no section", d.Name)
		}
	}
	expect.NoDiff(t, cmp.Diff(want, got), "docs/reference/DIALECTS.md (-code +page)")
	for _, name := range slices.Sorted(maps.Keys(placeholders)) {
		if !strings.Contains(string(page), "`{{"+name+"}}`") {
			t.Errorf("the placeholder %s is not told of", name)
		}
	}
}

// TestDocumentedNeeds holds the second table to what each dialect has words for.
func TestDocumentedNeeds(t *testing.T) {
	t.Parallel()
	page := must.Read(t, "../../../docs/reference/DIALECTS.md")
	var want strings.Builder
	want.WriteString("\n| a request with | goes to |\n|---|---|\n")
	for _, need := range slices.Sorted(maps.Keys(needy())) {
		var names []string
		for _, d := range All() {
			if d.Has(need) {
				names = append(names, d.Name)
			}
		}
		want.WriteString("| " + string(need) + " | " + strings.Join(names, ", ") + " |\n")
	}
	if want.WriteByte('\n'); !strings.Contains(string(page), want.String()) {
		t.Errorf("docs/reference/DIALECTS.md does not hold%s", want.String())
	}
}

// featureWords lists what a dialect can say, but for the length.
func featureWords(d *Dialect) string {
	var words []string
	for _, f := range []struct {
		has  bool
		word string
	}{{d.Reasoning, "reasoning"}, {d.Tools, "tools"}, {d.Schemas, "schema"}, {d.Seed, "seed"}, {d.Stop, "stop"}} {
		if f.has {
			words = append(words, f.word)
		}
	}
	if words == nil {
		return "–"
	}
	return strings.Join(words, ", ")
}

// TestFeaturesOfRequests holds the features to what a request says. Those of
// replies are the round trips' concern.
func TestFeaturesOfRequests(t *testing.T) {
	t.Parallel()
	for _, d := range All() {
		r := everyKnob()
		r.Format = &llm.Format{Schema: llm.JSON(`{"required":["a"]}`)}
		body := string(d.Encode(nil, r, Quirks{}))
		got := Features{Reasoning: d.Reasoning, Tools: d.Tools, WholeCalls: d.WholeCalls, Schemas: strings.Contains(body, "required"),
			IgnoreEOS: strings.Contains(body, `"ignore_eos":true`), Seed: strings.Contains(body, `seed":7`), Stop: strings.Contains(body, `["x"]`)}
		if got != d.Features {
			t.Errorf("%s says %+v, but writes %s", d.Name, d.Features, body)
		}
	}
}

// lengthWords finds the keys that a body has because of the length asked for.
func lengthWords(d *Dialect) string {
	keys := regexp.MustCompile(`"(\w+)":(?:77777|true)`)
	r := &llm.Request{MaxTokens: 77777, Messages: []llm.Message{{}, {}}}
	var words []string
	for _, m := range keys.FindAllStringSubmatch(string(d.Encode(nil, r, Quirks{})), -1) {
		if !strings.Contains(m[1], "details") {
			words = append(words, "`"+m[1]+"`")
		}
	}
	if words == nil {
		return "–"
	}
	return strings.Join(words, ", ")
}

package report

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	fig "redline/internal/judge/figure"
	"redline/internal/must"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// everyPage is the style and the script, which are the same in all of them.
var everyPage = regexp.MustCompile(`(?s)(<style>).*?(</style>)|(<script>).*?(</script>)|(script-src &#39;).*?(&#39;)`)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got = everyPage.ReplaceAll(got, []byte("$1$3$5…$2$4$6"))
	if *update {
		must.Do(t, os.MkdirAll("testdata", 0o755))
		must.Write(t, path, got)
		return
	}
	want := must.Read(t, path)
	expect.NoDiff(t, cmp.Diff(string(want), string(got)), "%s differs (-want +got); look at it and run with -update if it is better", path)
}

func TestTerminalGolden(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		var got bytes.Buffer
		must.Do(t, Terminal(&got, s.result, TerminalOptions{}))
		golden(t, s.name+".txt", got.Bytes())
	}
}

func TestTerminalOptionsGolden(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]TerminalOptions{
		"missed_color.txt":  {Color: true},
		"missed_narrow.txt": {Width: 80},
	} {
		var got bytes.Buffer
		must.Do(t, Terminal(&got, missedSample(), o))
		golden(t, name, got.Bytes())
	}
}

// TestExplain: every figure of the page has its formula below, and no other.
func TestExplain(t *testing.T) {
	t.Parallel()
	var got bytes.Buffer
	must.Do(t, Terminal(&got, missedSample(), TerminalOptions{Explain: true}))
	_, text, found := strings.Cut(got.String(), "what the figures mean\n")
	if !found {
		t.Fatalf("no explanation in\n%s", got.String())
	}
	text = strings.Join(strings.Fields(text), " ")
	explained := map[string]bool{}
	for _, f := range fig.All {
		explained[f.Key] = strings.Contains(text, " "+f.Title+" "+f.Formula)
	}
	for _, name := range []string{"ttft", "ttft_due", "tpot", "itl", "icl", "stall", "e2e_due", "lag", "fluidity",
		"offered_rate", "sent_rate", "completed_rate", "output_tokens_per_s", "prompt_tokens_per_s", "in_flight_mean", "goodput", "good_fraction"} {
		if !explained[name] {
			t.Errorf("%s is shown and not explained", name)
		}
	}
	for _, name := range []string{"slot_wait", "ttfa", "e2e", "connect", "error_rate"} {
		if explained[name] {
			t.Errorf("%s is explained and not shown", name)
		}
	}
	for _, u := range missedSample().Verdict.Unchecked {
		if !strings.Contains(text, u.Name+" "+u.Why) {
			t.Errorf("why %s was not checked is not said", u.Name)
		}
	}
}

// TestExplainedNamesAreThoseOfThePage: whoever looks a figure up finds it under
// the name that the tables have.
func TestExplainedNamesAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	for _, s := range samples() {
		var got bytes.Buffer
		must.Do(t, Terminal(&got, s.result, TerminalOptions{Explain: true}))
		page, text, _ := strings.Cut(got.String(), "what the figures mean\n")
		text, _, _ = strings.Cut(text, "\n\n")
		page = strings.Join(strings.Fields(page), " ")
		for line := range strings.Lines(text) {
			name := strings.TrimSpace(line[:min(len(line), explainWidth)])
			if strings.HasPrefix(line, strings.Repeat(" ", 4)) || name == "stamps" {
				continue
			}
			name = strings.TrimSuffix(name, " per second") // said once for three rates
			if name == "icl" && strings.Contains(page, "stall") {
				continue
			}
			for word := range strings.FieldsSeq(name) {
				if !strings.Contains(page, word) {
					t.Errorf("%s: %q is explained and not on the page", s.name, name)
				}
			}
		}
	}
}

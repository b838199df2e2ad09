package listing

import (
	"flag"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/validity"
	"redline/internal/must"
	"redline/internal/run/doctor"
	"redline/internal/show/document"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// everyPage is the style and the script, which are the same in all of them.
var everyPage = regexp.MustCompile(`(?s)(<style>).*?(</style>)|(<script>).*?(</script>)|(script-src &#39;).*?(&#39;)`)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	got = everyPage.ReplaceAll(got, []byte("$1$3$5…$2$4$6"))
	if *update {
		must.Write(t, path, got)
		return
	}
	want := must.Read(t, path)
	expect.NoDiff(t, cmp.Diff(string(want), string(got)), "%s differs (-want +got); look at it and run with -update if it is better", path)
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	r := &doctor.Report{Verdict: "1 problem: reachable", Machine: &validity.Machine{System: "linux/arm64"}, Findings: []validity.Finding{
		{Check: "cores", About: "machine", Mark: validity.OK, What: "cores", Figure: "8 cores"},
		{Check: "governor", About: "machine", Mark: validity.Unread, What: "CPU governor", Figure: "not readable here"},
		{Check: "pacing", About: "machine", Mark: validity.Warn, What: "pacing error", Figure: "p99 2 ms", Cure: "stop it"},
		{Check: "reach", About: "http://a", Mark: validity.Bad, What: "reachable", Figure: "refused", Cure: "start it"},
	}}
	want := `1 problem: reachable

this machine (linux/arm64)
  ok    cores         8 cores
  –     CPU governor  not readable here
  warn  pacing error  p99 2 ms → stop it

http://a
  bad   reachable     refused → start it
`
	var plain, colored, narrow strings.Builder
	must.Do(t, document.Terminal(&plain, Doctor(r, ""), document.TerminalOptions{}))
	expect.Same(t, want, plain.String())
	must.Do(t, document.Terminal(&colored, Doctor(r, ""), document.TerminalOptions{Color: true}))
	bare := strings.NewReplacer("\x1b[1;31m", "", "\x1b[1m", "", "\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[0m", "").Replace(colored.String())
	if diff := cmp.Diff(want, bare); diff != "" || !strings.Contains(colored.String(), "\x1b[31mbad \x1b[0m") {
		t.Errorf("in color (-want +got, colors taken out):\n%s", diff)
	}
	r.Verdict = "1 problem: " + strings.Repeat("a long reason ", 12)
	must.Do(t, document.Terminal(&narrow, Doctor(r, ""), document.TerminalOptions{Width: 80}))
	if first, _, _ := strings.Cut(narrow.String(), "\n"); len(first) > 80 {
		t.Errorf("%d columns, want at most 80: %s", len(first), first)
	}
}

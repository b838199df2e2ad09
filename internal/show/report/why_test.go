package report

import (
	"bytes"
	"strings"
	"testing"

	"redline/internal/must"
)

// A page shows a finding whole; a run that is not valid explains
// nothing.
func TestWhyIsShownWhole(t *testing.T) {
	t.Parallel()
	var html bytes.Buffer
	must.Do(t, HTML(&html, missedSample()))
	plain := strings.NewReplacer(`\`, "", "&#39;", "'").Replace(html.String())
	for _, want := range []string{"The batch is at its limit of 128 requests while 31 wait", "31 wait on average (points[0].server.waiting.mean)",
		"scheduler-saturation, certain", "--max-num-seqs up", "redline run --url http://server:8000 --workload chat --rate 34",
		"short-context chat: a stack tuned for decode", "Network and front end take 80 ms"} {
		if !strings.Contains(plain, want) {
			t.Errorf("a page does not say %q", want)
		}
	}
	invalid := missedSample()
	invalid.Verdict.Valid = "no"
	for _, f := range Formats {
		var out bytes.Buffer
		must.Do(t, f.Write(&out, invalid))
		if strings.Contains(out.String(), "is at its limit") {
			t.Errorf("%s explains a run that is not valid", f.Name)
		}
	}
}

package ui

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// Series are rows of one table, those that became worse first; asked for by itself,
// a series has its page.
func TestDriftIsOneTable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, label := range []string{"one", "two"} {
		keep(t, root, label, func(r *result.Result) { r.Label = label })
	}
	for i := range 24 {
		keep(t, root, "slower-"+string(rune('a'+i)), func(r *result.Result) {
			r.Label, r.Started = "slower", r.Started.AddDate(0, 0, i-100)
			r.Points[0].Throughput.Output += float64(i % 3)
			if i >= 12 {
				r.Points[0].Throughput.Output /= 2
			}
		})
	}
	v := visit(t, Options{Root: root})
	page := v.page("/drift")
	says(t, page, `href="/drift?run=`+Key("two")+`"`, `<span class="chip ">too early</span>`, `<span class="chip bad">worse</span>`, "throughput of the last 24 runs")
	if strings.Count(page, "<table") != 1 || strings.Index(page, ">worse<") > strings.Index(page, ">too early<") {
		t.Errorf("want one table that begins with what became worse:\n%s", plain(page))
	}
	says(t, v.page("/drift?run="+Key("two")), "TOO EARLY", "The runs of this series (1)")
	says(t, v.page("/drift?label=slower"), "WORSE", "throughput")
}

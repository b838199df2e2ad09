package ui

import (
	"strings"
	"testing"

	"redline/internal/judge/result"
)

// Series of one run, of which nothing can be said yet, are one list; asked for by
// itself, such a series has its page.
func TestSeriesOfOneRunAreOneList(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, label := range []string{"one", "two", "three"} {
		keep(t, root, label, func(r *result.Result) { r.Label = label })
	}
	v := visit(t, Options{Root: root})
	page := v.page("/drift")
	says(t, page, "Too early: series of one run (3)", `<a href="/drift?run=`+Key("two")+`">two</a>`)
	if strings.Contains(page, "TOO EARLY") {
		t.Error("a series of one run among others has a block of its own")
	}
	says(t, v.page("/drift?run="+Key("two")), "TOO EARLY")
}

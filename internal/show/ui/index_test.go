package ui

import (
	"errors"
	"net"
	"net/http"
	"testing"

	"redline/internal/answer/pareto"
	"redline/internal/judge/result"
	"redline/internal/must"
)

// While new runs are read, every page says how far that is and comes again.
func TestAPageShowsHowFarTheIndexIs(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	keep(t, root, "one")
	v := visit(t, Options{Root: root})
	v.tell(1200, 3000)
	for _, target := range []string{"/", "/run/x", "/drift", "/compare?a=x&b=y"} {
		w := v.send(http.MethodGet, target, "")
		if w.Code != http.StatusAccepted {
			t.Errorf("%s: status %d", target, w.Code)
		}
		says(t, w.Body.String(), "Reading the runs into the index: 1,200 of 3,000.", `max="3000" value="1200"`, `http-equiv="refresh" content="1"`)
	}
	v.reading.Store(nil)
	if v.tell(1, 2); v.reading.Load() != nil {
		t.Error("a page says that it reads two runs")
	}
	says(t, v.page("/"), "1–1 of 1")
}

// A listener that fails ends the pages with its error, and they wait for nobody.
func TestAListenerThatFailsIsSaid(t *testing.T) {
	t.Parallel()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := New(Options{Root: t.TempDir()}, l.Addr())
	_ = l.Close() // it fails from now on
	if err := s.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener gives %v", err)
	}
}

// Runs of one label are told apart by their directories, all of them; a label that
// one run has alone names it.
func TestSeriesOfAFrontierHaveNames(t *testing.T) {
	t.Parallel()
	list := []*run{{Dir: "first/chat"}, {Dir: "chat"}, {Dir: "other"}, {Dir: "bare"}}
	var series []pareto.Series
	for _, label := range []string{"h200", "h200", "b200", ""} {
		series = append(series, pareto.Series{Runs: []*result.Result{{Label: label}}})
	}
	nameSeries(series, list)
	for i, want := range []string{"first/chat", "chat", "b200", "bare"} {
		if series[i].Name != want {
			t.Errorf("series %d is %q, want %q", i, series[i].Name, want)
		}
	}
}

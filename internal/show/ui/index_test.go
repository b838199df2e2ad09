package ui

import (
	"errors"
	"net"
	"net/http"
	"testing"
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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Root: t.TempDir()}, l.Addr())
	_ = l.Close() // it fails from now on
	if err := s.Serve(t.Context(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener gives %v", err)
	}
}

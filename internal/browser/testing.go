package browser

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// shared is the browser of a package's tests, stopShared ends it.
var (
	stopShared = func() {}
	shared     = sync.OnceValues(func() (*Browser, error) {
		b, stop, err := Start(context.Background())
		if err == nil {
			stopShared = stop
		}
		return b, err
	})
)

// Main runs the tests of a package that has browser tests, and ends their browser.
func Main(m *testing.M) int {
	defer func() { stopShared() }()
	return m.Run()
}

// For gives a test the browser of its package, which Main ends. The test is
// skipped where there is none.
func For(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	b, err := shared()
	if errors.Is(err, ErrNone) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Tab opens an empty tab for a test.
func (b *Browser) Tab(t *testing.T) *Page {
	t.Helper()
	p, err := b.tab()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Look shows an address for a test and keeps its picture under a name.
func (p *Page) Look(t *testing.T, address, name string, look Look) *Page {
	t.Helper()
	if err := p.Show(address, look); err != nil {
		t.Fatal(err)
	}
	if err := p.Keep(name + "-" + look.Name); err != nil {
		t.Error(err)
	}
	return p
}

// Text is what an expression of the page comes to, as text.
func (p *Page) Text(t *testing.T, expression string) string {
	t.Helper()
	found, err := Ask[string](p, "(async () => String(await "+expression+"))()")
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return found
}

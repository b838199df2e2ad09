package must

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
)

// fake is a test that notes its end.
type fake struct{ said []any }

func (f *fake) Helper()           {}
func (f *fake) Fatal(args ...any) { f.said = append(f.said, args...); runtime.Goexit() }

// ended gives what the test said that the func ended, or nil where it went through.
func ended(f func(TB)) []any {
	t, done := new(fake), make(chan bool)
	go func() {
		defer close(done)
		f(t)
	}()
	<-done
	return t.said
}

func TestMust(t *testing.T) {
	file, gone := File(t, "file", "first"), errors.New("gone")
	one := func(err error) (int, error) { return 1, err }
	two := func(err error) (int, string, error) { return 1, "two", err }
	for name, f := range map[string]func(TB, error) bool{
		"Do":   func(t TB, err error) bool { Do(t, err); return true },
		"Get":  func(t TB, err error) bool { return Get(one(err))(t) == 1 },
		"Get2": func(t TB, err error) bool { n, s := Get2(two(err))(t); return n == 1 && s == "two" },
	} {
		right := false
		if said := ended(func(t TB) { right = f(t, nil) }); said != nil || !right {
			t.Errorf("%s without an error: %v, %v", name, said, right)
		}
		if said := ended(func(t TB) { f(t, gone); t.Fatal("it went on") }); len(said) != 1 || said[0] != gone {
			t.Errorf("%s of an error: %v", name, said)
		}
	}
	if got := string(Read(t, file)); got != "first" {
		t.Errorf("read %q", got)
	}
	Write(t, file, "text")
	Write(t, file, []byte("again"))
	if got := string(Read(t, file)); got != "again" {
		t.Errorf("read %q", got)
	}
	for name, f := range map[string]func(TB){
		"Read":  func(t TB) { Read(t, file+".none") },
		"Write": func(t TB) { Write(t, filepath.Join(file, "below"), "text") },
	} {
		said := ended(func(t TB) { f(t); t.Fatal("it went on") })
		if err := new(fs.PathError); len(said) != 1 || !errors.As(said[0].(error), &err) {
			t.Errorf("%s of what is not there: %v", name, said)
		}
	}
}

// Package must keeps tests short: it takes what a call gave and ends the test at the
// caller's line where that is an error. No command imports it.
package must

import (
	"os"
	"path/filepath"
)

// TB is the part of testing.TB that is needed, which rapid's T has too.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Do ends the test at an error.
func Do(t TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Get gives the value of a call that can fail: must.Get(os.Open(path))(t). What the
// call gives stands alone between the parentheses, because Go takes no other
// argument beside several results.
func Get[V any](v V, err error) func(TB) V {
	return func(t TB) V {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}

// Get2 is Get of a call that gives two values.
func Get2[V, W any](v V, w W, err error) func(TB) (V, W) {
	return func(t TB) (V, W) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v, w
	}
}

// Read gives the content of a file.
func Read(t TB, path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
	return data
}

// Write makes a file, or replaces what it holds.
func Write[D ~string | ~[]byte](t TB, path string, data D) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}

// File makes a file in a folder of the test's own, and gives its path.
func File[D ~string | ~[]byte](t interface {
	TB
	TempDir() string
}, name string, data D) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	Write(t, path, data)
	return path
}

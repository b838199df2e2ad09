// Package expect keeps tests short: it says at the caller's line what is not as
// expected, and the test goes on. No command imports it.
package expect

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
)

// TB is the part of testing.TB that is needed, which rapid's T has too.
type TB interface {
	Helper()
	Error(args ...any)
	Errorf(format string, args ...any)
}

// OK expects no error.
func OK(t TB, err error) {
	if err != nil {
		t.Helper()
		t.Error(err)
	}
}

// Same expects a value, and says where another differs.
func Same(t TB, want, got any, opts ...cmp.Option) {
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Helper()
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// NoDiff expects that there is no difference, and says of what it is.
func NoDiff(t TB, diff, format string, args ...any) {
	if diff != "" {
		t.Helper()
		t.Errorf("%s:\n%s", fmt.Sprintf(format, args...), diff)
	}
}

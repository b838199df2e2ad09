package expect

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
)

// fake is a test that notes what it says.
type fake struct{ said []string }

func (f *fake) Helper()           {}
func (f *fake) Error(args ...any) { f.said = append(f.said, fmt.Sprint(args...)) }
func (f *fake) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func TestExpect(t *testing.T) {
	for _, c := range []struct {
		name string
		f    func(TB)
		want []string // parts of what is said
	}{
		{"no error", func(t TB) { OK(t, nil) }, nil},
		{"an error", func(t TB) { OK(t, errors.New("gone")) }, []string{"gone"}},
		{"the same", func(t TB) { Same(t, 1.5, 1.5) }, nil},
		{"nearly the same", func(t TB) { Same(t, 1.5, 1.51, cmpopts.EquateApprox(0, 0.1)) }, nil},
		{"others", func(t TB) { Same(t, 1.5, 2.5) }, []string{"(-want +got):\n", "1.5", "2.5"}},
		{"another type", func(t TB) { Same(t, 1, int64(1)) }, []string{"int64"}},
		{"no difference", func(t TB) { NoDiff(t, "", "row %d", 7) }, nil},
		{"a difference", func(t TB) { NoDiff(t, "one and two", "row %d", 7) }, []string{"row 7:\none and two"}},
	} {
		f := new(fake)
		c.f(f)
		said := strings.Join(f.said, "\n")
		for _, part := range c.want {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q lacks %q", c.name, said, part)
			}
		}
		if c.want == nil && f.said != nil {
			t.Errorf("%s: said %q", c.name, said)
		}
	}
}

package frame

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
)

// readLines pushes a stream in pieces and overwrites each once it was read.
func readLines(n *Reader, pieces ...string) []string {
	var out []string
	for _, p := range pieces {
		b := []byte(p)
		n.Push(b)
		for f, ok := n.Next(); ok; f, ok = n.Next() {
			out = append(out, string(f.Data))
		}
		for i := range b {
			b[i] = '#'
		}
	}
	return out
}

func TestNDJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, stream string
		want         []string
		pending      bool
	}{
		{"one line", "{}\n", []string{"{}"}, false},
		{"two lines", "{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}, false},
		{"carriage returns", "{}\r\n[]\r\n", []string{"{}", "[]"}, false},
		{"blank lines", "\n \n{}\n\r\n\n", []string{"{}"}, false},
		{"a line without end", "{}\n{", []string{"{}"}, true},
		{"nothing", "", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ways := append(cutsInTwo(c.stream), []string{c.stream}, bytewise(c.stream))
			for _, pieces := range ways {
				n := Reader{lines: true}
				if diff := cmp.Diff(c.want, readLines(&n, pieces...)); diff != "" || n.Pending() != c.pending {
					t.Errorf("in %q, pending %v (-want +got):\n%s", pieces, n.Pending(), diff)
				}
			}
		})
	}
}

func TestNDJSONPushBeforeAllWasTaken(t *testing.T) {
	t.Parallel()
	n := Reader{lines: true}
	n.Push([]byte("1\n2\n3"))
	first, _ := n.Next()
	got := []string{string(first.Data)}
	expect.Same(t, []string{"1", "2", "34"}, append(got, readLines(&n, "4\n")...))
}

func TestNDJSONRefusesALineWithoutEnd(t *testing.T) {
	t.Parallel()
	n := Reader{lines: true}
	piece := strings.Repeat("x", maxEvent/2+1)
	if got := readLines(&n, piece, piece, "\n{}\n"); got != nil || !errors.Is(n.Err(), errEventTooLong) {
		t.Errorf("got %d lines and error %v, want ErrEventTooLong", len(got), n.Err())
	}
	n.Reset()
	if got := readLines(&n, "{}\n"); n.Err() != nil || len(got) != 1 {
		t.Errorf("after Reset: %q, %v", got, n.Err())
	}
}

func TestFramings(t *testing.T) {
	t.Parallel()
	for _, f := range []Framing{Events, Lines, Single} {
		if got, err := ParseFraming(f.String()); err != nil || got != f {
			t.Errorf("ParseFraming(%q): %v, %v", f, got, err)
		}
		if (f.NewReader() == nil) != (f == Single) {
			t.Errorf("%s: a reader of what does not stream, or none of what does", f)
		}
	}
	if _, err := ParseFraming("grpc"); err == nil {
		t.Error("grpc was taken for a framing")
	}
}

// TestHeld: readers know how much they hold of what has not ended, and hold
// nothing of what has.
func TestHeld(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		framing Framing
		whole   string
		begun   string
		least   int
	}{
		{Events, "data: {}\n\n", "event: a\ndata: 12345\ndata: 67", len("a1234567")},
		{Lines, "{}\n", `{"a":"123`, len(`{"a":"123`)},
	} {
		r := tt.framing.NewReader()
		take := func(text string) int {
			r.Push([]byte(text))
			for _, ok := r.Next(); ok; _, ok = r.Next() {
			}
			return r.Buffered()
		}
		if got := take(tt.whole); got != 0 {
			t.Errorf("%s: %d bytes held behind a whole event", tt.framing, got)
		}
		if got := take(tt.whole + tt.begun); got < tt.least || got > len(tt.begun) {
			t.Errorf("%s: %d bytes held of %q, want %d to %d", tt.framing, got, tt.begun, tt.least, len(tt.begun))
		}
		if r.Reset(); r.Buffered() != 0 {
			t.Errorf("%s: %d bytes held after a reset", tt.framing, r.Buffered())
		}
	}
}

// cutsInTwo cuts a stream in two at every byte, or every few where it is long.
func cutsInTwo(stream string) [][]string {
	var cuts [][]string
	for i := 0; i < len(stream); i += 1 + len(stream)/300 {
		cuts = append(cuts, []string{stream[:i], stream[i:]})
	}
	return cuts
}

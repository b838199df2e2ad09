package main

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got := must.Get(parse(strings.NewReader("IQ== 0\nYWI= 1\n/w== 2\n")))(t)
	want := [][]byte{[]byte("!"), []byte("ab"), {0xff}}
	expect.Same(t, want, got)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, lines, want string }{
		{"a gap in the ranks", "IQ== 0\nYWI= 2\n", `line 2: expected rank 1, got "2"`},
		{"no rank", "IQ==\n", `line 1: expected rank 0, got ""`},
		{"no base64", "??? 0\n", "line 1: illegal base64 data at input byte 0"},
		{"an empty token", " 0\n", "line 1: must be 1 to 255 bytes, got 0"},
	} {
		_, err := parse(strings.NewReader(c.lines))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPack(t *testing.T) {
	t.Parallel()
	packed := must.Get(pack([][]byte{[]byte("!"), []byte("ab"), {0xff}}))(t)
	got := must.Get(io.ReadAll(flate.NewReader(bytes.NewReader(packed))))(t)
	if want := "\x01\x02\x01\x00!ab\xff"; string(got) != want {
		t.Errorf("unpacked %q, want %q", got, want)
	}
}

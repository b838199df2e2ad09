package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/text"
)

// TestNoSecretIsKept: a server that prints its key, even in two parts and
// without an end of line, leaves it neither in the file nor in messages.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "server.log")
	j := must.Get(newJournal(Options{Log: path, Hide: text.NewMask("sk-12345")}))(t)
	for _, part := range []string{"api_key='sk-1", "2345'\nlisten", "ing, key sk-12", "345"} {
		if n, err := j.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	want := []string{"api_key='***'", "listening, key ***"}
	expect.NoDiff(t, cmp.Diff(want, j.lines(9)), "messages")
	j.close()
	j.close() // again does no harm
	kept, err := os.ReadFile(path)
	if err != nil || string(kept) != strings.Join(want, "\n") {
		t.Errorf("file: %q, %v", kept, err)
	}
}

// TestAFullDiskEndsNoServer: what the file does not take is still in messages.
func TestAFullDiskEndsNoServer(t *testing.T) {
	t.Parallel()
	j := must.Get(newJournal(Options{Log: filepath.Join(t.TempDir(), "server.log")}))(t)
	must.Do(t, j.file.Close())
	if n, err := j.Write([]byte("all is well\n")); n != 12 || err != nil {
		t.Errorf("%d, %v; want everything taken", n, err)
	}
	expect.Same(t, []string{"all is well"}, j.lines(9))
}

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/docs/pages"
	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/must"
)

// TestMain lets this program play its other roles, and builds redline once for
// the tests that run it.
func TestMain(m *testing.M) {
	playRole(os.Args[1:])
	dir, err := os.MkdirTemp("", "measure-test")
	if err == nil {
		builtRedline = filepath.Join(dir, "redline")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", builtRedline, "redline/cmd/redline").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var builtRedline string

// runMeasurement runs a measurement against the real program, with a page of its own,
// and gives what became of the page.
func runMeasurement(t *testing.T, page string, prepare func(*harness) func() error, args ...string) (string, error) {
	t.Helper()
	path := must.File(t, "PAGE.md", page)
	h := newHarness("test", path)
	err := h.run(prepare(h), append([]string{"-redline", builtRedline, "-dir", t.TempDir()}, args...))
	after := must.Read(t, path)
	return string(after), err
}

const markedPage = "# A page\n\n<!-- first: begin -->\nold\n<!-- first: end -->\nbetween\n<!-- second: begin -->\n<!-- second: end -->\n"

// TestMarks: the pages of all measurements have the places that they write to.
func TestMarks(t *testing.T) {
	t.Parallel()
	marks := map[string][]string{"offered": {"offered"}, "real": {"real"}, "reliability": {"mends", "kills", "fuzz", "race"}, "scale": {"few cores", "many cores"},
		"scrape": {"scrape"}, "screen": {"screen"}, "soak": {"soak"}, "sockets": {"sockets"}, "twin": {"twin"}, "workers": {"workers"}}
	for _, m := range measurements {
		if m.page == "" {
			continue
		}
		page, err := os.ReadFile(filepath.Join("../..", m.page))
		expect.OK(t, err)
		for _, mark := range marks[m.name] {
			before, err := pages.Replace(string(page), mark, "new\n")
			again, _ := pages.Replace(before, mark, "new\n")
			if err != nil || !strings.Contains(before, "<!-- "+mark+": begin -->\nnew\n<!-- "+mark+": end -->") || again != before {
				t.Errorf("%s: %v", m.page, err)
			}
		}
	}
	for _, page := range []string{"", "<!-- x: begin -->\n", "<!-- x: end -->"} {
		if _, err := pages.Replace(page, "x", "new"); err == nil {
			t.Errorf("%q: no error", page)
		}
	}
}

// TestPagesSayWhereTheyComeFrom: a real run against a real server is written
// between the marks, with date, version and machine.
func TestPagesSayWhereTheyComeFrom(t *testing.T) {
	t.Parallel()
	page := must.Get(runMeasurement(t, markedPage, func(h *harness) func() error {
		return func() error {
			s, err := h.simulateTruth(place{}, "--pace", "1ms")
			if err != nil {
				return err
			}
			defer s.kill()
			f, err := h.drive("--url", s.url, "--requests", "3", "--concurrency", "1", "--workload", "fixed(8,5)", "--warmup", "0s")
			if err != nil {
				return err
			}
			truth, err := s.stop()
			if err != nil {
				return err
			}
			tokens := 0
			if err := joinTruth(f.dir, truth, func(r *record.Record, t reply, _ int64) { tokens += len(t.Before) }); err != nil {
				return err
			}
			h.invalid = nil // whether this machine is quiet is not asked here
			return h.writePart("first", fmt.Sprintf("%d requests, %d of %d tokens, %v\n", f.point.Requests.OK, tokens/5*5, tokens, f.cpu > 0 && s.cpu() > 0))
		}
	}))(t)
	want := regexp.MustCompile("(?s)<!-- first: begin -->\nMeasured 20\\d\\d-\\d\\d-\\d\\d with redline .*, by `make test` on \\d+ cores.*\nLoad average as it began: .*\n\n" +
		"(\\d+) requests, (\\d+) of (\\d+) tokens, true\n<!-- first: end -->\nbetween\n")
	m := want.FindStringSubmatch(page)
	if m == nil || m[1] != "3" || m[2] != m[3] {
		t.Errorf("the page is %s", page)
	}
}

// TestNoPageOfAnInvalidRun: a server that counts twice its tokens makes a run invalid, which leaves the page as it
// is, and the error says why.
func TestNoPageOfAnInvalidRun(t *testing.T) {
	t.Parallel()
	page, err := runMeasurement(t, markedPage, func(h *harness) func() error {
		return func() error {
			s, err := h.simulate(place{}, "--pace", "1ms", "--fault", "wrong-usage")
			if err != nil {
				return err
			}
			defer s.kill()
			f, err := h.drive("--url", s.url, "--requests", "30", "--concurrency", "2", "--workload", "fixed(8,20)", "--warmup", "0s")
			if err != nil {
				return err
			}
			return h.writePart("first", f.checks())
		}
	})
	if page != markedPage {
		t.Errorf("the page was written: %s", page)
	}
	if err == nil || !strings.Contains(err.Error(), "PAGE.md is not written, because 1 run behind it is invalid: ") || !strings.Contains(err.Error(), "--requests 30") {
		t.Errorf("the error is %v", err)
	}
}

func TestRounds(t *testing.T) {
	t.Parallel()
	var order strings.Builder
	got, err := rounds(3, []string{"a", "b", "c"}, func(v string) (string, error) {
		order.WriteString(v)
		return v + fmt.Sprint(order.Len()), nil
	})
	if diff := cmp.Diff([][]string{{"a1", "a6", "a8"}, {"b2", "b4", "b9"}, {"c3", "c5", "c7"}}, got); diff != "" || err != nil || order.String() != "abcbcacab" {
		t.Errorf("%v %s %s", err, order.String(), diff)
	}
	if _, err := rounds(1, []string{"a"}, func(string) (int, error) { return 0, errors.New("no server") }); err == nil || err.Error() != "round 1: no server" {
		t.Errorf("error %v", err)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	self := func(v float64) float64 { return v }
	for want, values := range map[string][]float64{"2.5 (1.0–4.0)": {4, 1, 3, 2}, "7.0 (7.0–7.0)": {7}, "–": nil} {
		if got := spread(values, 1, self); got != want {
			t.Errorf("%v: %s, want %s", values, got, want)
		}
	}
}

func TestNoProgram(t *testing.T) {
	t.Parallel()
	h := newHarness("test", "PAGE.md")
	err := h.run(func() error { t.Error("it measures"); return nil }, []string{"-redline", filepath.Join(t.TempDir(), "redline")})
	if err == nil || !strings.Contains(err.Error(), "make build") {
		t.Errorf("error %v, want one that says how to build it", err)
	}
}

func TestAServerThatDoesNotStartIsNamed(t *testing.T) {
	t.Parallel()
	_, err := runMeasurement(t, "", func(h *harness) func() error {
		return func() error {
			_, err := h.simulate(place{}, "--no-such-flag")
			return err
		}
	})
	if err == nil || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("error %v", err)
	}
}

func TestWriteTrace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "trace.csv")
	must.Do(t, writeTrace(path, 500, 4*time.Second))
	text := must.Read(t, path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	var first, last float64
	_, _ = fmt.Sscanf(lines[1], "%f,", &first)
	_, _ = fmt.Sscanf(lines[len(lines)-1], "%f,", &last)
	// 2,000 gaps of 2 ms in the mean: 4 s, give or take 3 times 2 ms × √2000.
	if len(lines) != 2001 || last-first < 3.7 || last-first > 4.3 {
		t.Errorf("%d lines from %v to %v", len(lines), first, last)
	}
}

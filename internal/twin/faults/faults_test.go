package faults

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

// plainFault is a Fault that can be compared: its kind by name.
type plainFault struct {
	Name   string
	Wait   time.Duration
	Number uint64
	Share  float64
}

func plain(f Fault) plainFault { return plainFault{f.Kind.Name, f.Wait, f.Number, f.Share} }

func TestParseFault(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want plainFault
	}{
		{"reset:2%", plainFault{"reset", 0, 0, 0.02}},
		{"reset:0.5%", plainFault{"reset", 0, 0, 0.005}},
		{"crlf", plainFault{"crlf", 0, 0, 1}},
		{"crlf:100%", plainFault{"crlf", 0, 0, 1}},
		{"429(2s):#5", plainFault{"429", 2 * time.Second, 5, 0}},
		{"503", plainFault{"503", time.Second, 0, 1}},
		{"stall(3s):10%", plainFault{"stall", 3 * time.Second, 0, 0.1}},
		{"stall:#1", plainFault{"stall", 5 * time.Second, 1, 0}},
		{" slow-head ( 1m30s ) : 50 % ", plainFault{"slow-head", 90 * time.Second, 0, 0.5}},
	} {
		f, err := parse(row.text)
		if err != nil {
			t.Errorf("%q: %v", row.text, err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(row.want, plain(f)), "%q (-want +got)", row.text)
	}
}

func TestFaultsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                "unknown fault",
		"rest:2%":         "did you mean reset?",
		"xyzzy":           "expected one of 429, 503,",
		"RESET":           "did you mean reset?",
		"reset(3s)":       "reset takes nothing in parentheses",
		"stall()":         "such as stall(3s)",
		"stall(3s":        "such as stall(3s)",
		"stall(3)":        "such as stall(3s)",
		"stall(-3s)":      "a positive time",
		"stall(3s)x:2%":   "such as stall(3s)",
		"429(1500ms)":     "whole seconds",
		"reset:":          "a share such as 2%",
		"reset:2":         "a share such as 2%",
		"reset:0%":        "a share such as 2%",
		"reset:101%":      "a share such as 2%",
		"reset:NaN%":      "a share such as 2%",
		"reset:-1%":       "a share such as 2%",
		"reset:#0":        "such as #5",
		"reset:#-1":       "such as #5",
		"reset:#two":      "such as #5",
		"reset:2%:#5":     "a share such as 2%",
		"429(2s):#5 more": "such as #5",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want an error with %q", text, err, want)
		}
	}
}

// What is read is written so that it reads the same.
func FuzzParseFault(f *testing.F) {
	for _, k := range Kinds {
		f.Add(k.Name)
		f.Add(k.Name + "(2s):#5")
		f.Add(k.Name + ":2.5%")
	}
	f.Fuzz(func(t *testing.T, text string) {
		read, err := parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: an error of several lines: %v", text, err)
			}
			return
		}
		again, err := parse(read.String())
		if err != nil {
			t.Fatalf("%q is written as %q, which is none: %v", text, read, err)
		}
		// A share passes through percent, which moves its last bit.
		if d := again.Share - read.Share; d > 1e-15 || d < -1e-15 {
			t.Errorf("%q is written as %q: share %v became %v", text, read, read.Share, again.Share)
		}
		again.Share = read.Share
		expect.NoDiff(t, cmp.Diff(plain(read), plain(again)), "%q is written as %q (-read +again)", text, read)
	})
}

// struckOf counts whom a fault strikes among the first n requests.
func struckOf(t *testing.T, seed uint64, n int, hit func(*Effect) bool, faults ...string) (numbers []int) {
	t.Helper()
	plan := must.Get(NewPlan(seed, faults))(t)
	for i := 1; i <= n; i++ {
		if m := plan.Effect(uint64(i)); m != nil && hit(m) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

func isReset(m *Effect) bool { return m.Ending == Reset }

func TestFaultsRepeat(t *testing.T) {
	t.Parallel()
	first := struckOf(t, 7, 1000, isReset, "reset:10%")
	expect.NoDiff(t, cmp.Diff(first, struckOf(t, 7, 1000, isReset, "reset:10%")), "the same seed strikes others")
	if cmp.Equal(first, struckOf(t, 8, 1000, isReset, "reset:10%")) {
		t.Error("another seed strikes the same requests")
	}
	expect.NoDiff(t, cmp.Diff(first, struckOf(t, 7, 1000, isReset, "429:50%", "reset:10%")), "a second fault changes whom the first strikes")
}

func TestFaultsStrikeTheirShare(t *testing.T) {
	t.Parallel()
	const n = 10_000
	// Four standard deviations of a binomial count around its mean.
	if got := len(struckOf(t, 1, n, isReset, "reset:10%")); got < 1000-120 || got > 1000+120 {
		t.Errorf("10%% of %d struck %d", n, got)
	}
	expect.NoDiff(t, cmp.Diff([]int{5}, struckOf(t, 1, n, isReset, "reset:#5")), "the fifth request (-want +got)")
	if got := len(struckOf(t, 1, n, isReset, "reset")); got != n {
		t.Errorf("all of %d struck %d", n, got)
	}
}

func TestFaultsOfOneRequest(t *testing.T) {
	t.Parallel()
	plan := must.Get(NewPlan(1, []string{"stall(3s)", "crlf", "halved", "bytewise", "truncated", "reset", "503(4s)", "429"}))(t)
	want := &Effect{Status: 503, RetryAfter: 4 * time.Second, Midway: 3 * time.Second,
		Ending: Truncated, Pieces: InHalves, CRLF: true}
	expect.Same(t, want, plan.Effect(1))
}

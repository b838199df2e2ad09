//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

// reliability measures what its page shows besides its catalog; parts that are
// named run alone:
//
//	mends   every mend taken out again: its test has to fail
//	kills   runs killed while they write, and disks that fill up
//	fuzz    every fuzz target, FUZZTIME each
//	race    all tests under the race detector
func reliability(h *harness) func() error {
	return func() error {
		for _, p := range []struct {
			name    string
			measure func() (string, error)
		}{{"mends", mends}, {"kills", kills}, {"fuzz", fuzz}, {"race", race}} {
			if h.NArg() > 0 && !slices.Contains(h.Args(), p.name) {
				continue
			}
			body, err := p.measure()
			if err == nil {
				err = h.writePart(p.name, body)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		return nil
	}
}

// goTest runs go test at a low priority and gives what it printed.
func goTest(env []string, args ...string) (string, error) {
	c := place{priority: low}.command(append([]string{"go", "test"}, args...)...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

// kills counts the runs that were killed while they wrote, and fills disks.
func kills() (string, error) {
	killed, err := countPassed("--- PASS: TestAKill(edRunKeepsWhatItHad/|FreesIt)", "-count", "10", "-run", "^TestAKilledRunKeepsWhatItHad$|^TestAKillFreesIt$", "./internal/store", "./internal/lock")
	if err != nil {
		return "", err
	}
	cut, err := countPassed("\n--- PASS", "-count=1", "-run", "^TestAKilledRunCountsWhatHung$|^TestAFullDiskDoesNotLoseTheRun$|^TestADirectoryHasOneWriter$", "./cmd/redline")
	if err != nil {
		return "", err
	}
	disk, err := countPassed("\n--- PASS", "-count=1", "-run", "Disk", "./internal/store", "./internal/drive/record", "./internal/observe/telemetry", "./internal/show/report")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`| what | how often | came out |
|---|---|---|
| a process that writes records is killed with SIGKILL | %d times | every record that ended more than a second before is read back in order; its lock is free |
| a whole run is killed while every second request hangs, and two commands want one directory | %d tests of commands | all is accounted for; one writer |
| a disk fills up (a small file system, a device that is always full) | %d tests | the load goes on, the report is whole, the directory says why it is cut |`, killed, cut, disk), nil
}

// countPassed runs tests and counts a pattern in what they print. None may be left out.
func countPassed(pattern string, args ...string) (int, error) {
	out, err := goTest(nil, append([]string{"-v"}, args...)...)
	if err == nil && strings.Contains(out, "--- SKIP") {
		err = errors.New("a test was left out, which may want root")
	}
	if err != nil {
		return 0, fmt.Errorf("%w\n%s", err, out)
	}
	return len(regexp.MustCompile(pattern).FindAllString(out, -1)), nil
}

// execs is a fuzzer's own count.
var execs = regexp.MustCompile(`execs: (\d+)`)

// fuzz runs every target that make fuzz names.
func fuzz() (string, error) {
	each := os.Getenv("FUZZTIME")
	if each == "" {
		each = "2m"
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		return "", err
	}
	_, targets, _ := strings.Cut(string(makefile), "\nFUZZED := ")
	targets, _, _ = strings.Cut(targets, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "Every reader of foreign bytes was fuzzed for %s on one core (`make fuzz` takes ten minutes each):\n\n| target | inputs tried | findings |\n|---|---|---|\n", each)
	for target := range strings.FieldsSeq(targets) {
		pkg, name, _ := strings.Cut(target, ":")
		out, err := goTest(nil, "-run", "^$", "-fuzz", "^"+name+"$", "-fuzztime", each, "-fuzzminimizetime", "20x", "-parallel", "1", "./internal/"+pkg)
		if err != nil {
			return "", fmt.Errorf("%s: %w\n%s", target, err, out)
		}
		all := execs.FindAllStringSubmatch(out, -1)
		if len(all) == 0 {
			return "", fmt.Errorf("%s says nothing of what it tried:\n%s", target, out)
		}
		tried, err := strconv.Atoi(all[len(all)-1][1])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| `%s` (%s) | %s | 0 |\n", name, pkg, text.Count(tried))
	}
	return b.String(), nil
}

// race runs all tests under the race detector, the short ones.
func race() (string, error) {
	began := time.Now()
	out, err := goTest(nil, "-race", "-short", "-timeout", "40m", "./...")
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return fmt.Sprintf("`go test -race -short ./...` (`make check` runs all of it before a release): %d packages with tests passed, 0 races, in %.0f minutes.",
		strings.Count("\n"+out, "\nok "), time.Since(began).Minutes()), nil
}

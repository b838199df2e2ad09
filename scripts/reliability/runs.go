package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// kills counts the runs that were killed while they wrote, and fills disks.
func kills() (string, error) {
	const rounds = 10
	killed, err := timed("-count", fmt.Sprint(rounds), "-v", "-run", "^TestAKilledRunKeepsWhatItHad$|^TestAKillFreesIt$", "./internal/run/store", "./internal/lock")
	if err != nil {
		return "", err
	}
	times := strings.Count(killed.out, "--- PASS: TestAKilledRunKeepsWhatItHad/") + strings.Count(killed.out, "--- PASS: TestAKillFreesIt")
	cut, err := timed("-count=1", "-v", "-run", "^TestAKilledRunCountsWhatHung$|^TestAFullDiskDoesNotLoseTheRun$|^TestADirectoryHasOneWriter$", "./cmd/redline")
	if err != nil {
		return "", err
	}
	disk, err := timed("-count=1", "-v", "-run", "Disk", "./internal/run/store", "./internal/drive/record", "./internal/observe/telemetry", "./internal/show/report")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf(`| what | how often | came out |
|---|---|---|
| a process that writes records is killed with SIGKILL | %d times | every record that ended more than a second before is read back in order; its lock is free |
| a whole run is killed while every second request hangs, and two commands want one directory | %d tests of commands | all is accounted for; one writer |
| a disk fills up (a small file system, a device that is always full) | %d tests | the load goes on, the report is whole, the directory says why it is cut |`, times, cut.passed, disk.passed), nil
}

// ran is what a go test -v came to.
type ran struct {
	out    string
	passed int
}

func timed(args ...string) (ran, error) {
	out, err := goTest(nil, args...)
	if err != nil {
		return ran{}, fmt.Errorf("%w\n%s", err, out)
	}
	if strings.Contains(out, "--- SKIP") {
		return ran{}, fmt.Errorf("a test was left out, which may want root:\n%s", out)
	}
	return ran{out, strings.Count(out, "\n--- PASS")}, nil
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
		fmt.Fprintf(&b, "| `%s` (%s) | %s | 0 |\n", name, pkg, thousands(all[len(all)-1][1]))
	}
	return b.String(), nil
}

func thousands(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// race runs all tests under the race detector, the short ones.
func race() (string, error) {
	c := exec.Command("nice", "-n", "5", "go", "test", "-race", "-short", "-timeout", "40m", "-json", "./...")
	out, err := c.StdoutPipe()
	if err != nil {
		return "", err
	}
	c.Stderr = os.Stderr
	begun := time.Now()
	if err := c.Start(); err != nil {
		return "", err
	}
	packages, tests, races := 0, 0, 0
	var failed []string
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct{ Action, Package, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		top := !strings.Contains(e.Test, "/")
		switch {
		case strings.Contains(e.Output, "WARNING: DATA RACE"):
			races++
		case e.Action == "fail" && top:
			failed = append(failed, strings.TrimSpace(e.Package+" "+e.Test))
			fmt.Println("failed:", e.Package, e.Test)
		case e.Action == "pass" && e.Test == "":
			packages++
			fmt.Println(e.Package)
		case e.Action == "pass" && top:
			tests++
		}
	}
	_ = c.Wait() // a failure is among what was counted
	if races > 0 {
		return "", fmt.Errorf("%d races", races)
	}
	text := fmt.Sprintf("`go test -race -short ./...` (`make check` runs all of it before a release): %d packages with tests, %d tests passed, 0 races", packages, tests)
	if len(failed) > 0 {
		return "", fmt.Errorf("%s, and failed after %v: %s", text, time.Since(begun).Round(time.Second), strings.Join(failed, ", "))
	}
	return fmt.Sprintf("%s, in %.0f minutes.", text, time.Since(begun).Minutes()), nil
}

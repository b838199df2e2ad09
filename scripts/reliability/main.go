// Command reliability measures what docs/measured/RELIABILITY.md shows besides its
// catalogue, and writes each part between its marks there. It runs from the
// repository's root, by make reliability; parts that are named run alone:
//
//	mends   every mend taken out again: its test has to fail
//	kills   runs killed while they write, and disks that fill up
//	fuzz    every fuzz target, FUZZTIME each
//	race    all tests under the race detector
package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"redline/docs/pages"
	"redline/scripts/truth"
)

const page = "docs/measured/RELIABILITY.md"

var parts = []struct {
	name    string
	measure func() (string, error)
}{{"mends", mends}, {"kills", kills}, {"fuzz", fuzz}, {"race", race}}

func main() {
	for _, p := range parts {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], p.name) {
			continue
		}
		text, err := p.measure()
		if err == nil {
			err = write(p.name, text)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			os.Exit(1)
		}
	}
}

// write puts a part between its marks, with the machine it was measured on.
func write(name, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	between := regexp.MustCompile(`(?s)<!-- ` + name + `: begin -->\n.*<!-- ` + name + `: end -->`)
	if !between.Match(old) {
		return fmt.Errorf("%s has no marks for it", page)
	}
	text = fmt.Sprintf("<!-- %s: begin -->\n%s\n\n%s On %s.\n<!-- %s: end -->", name, strings.TrimSpace(text), pages.Stamp(), truth.Machine(), name)
	return os.WriteFile(page, between.ReplaceAllLiteral(old, []byte(text)), 0o644)
}

// goTest runs go test at a low priority and gives what it printed.
func goTest(env []string, args ...string) (string, error) {
	c := exec.Command("nice", append([]string{"-n", "10", "go", "test"}, args...)...)
	c.Env = append(os.Environ(), env...)
	out, err := c.CombinedOutput()
	return string(out), err
}

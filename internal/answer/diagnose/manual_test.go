package diagnose

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/observe/engine"
)

var update = flag.Bool("update", false, "write the tables of docs/design/DIAGNOSIS.md")

const manualPath = "../../../docs/design/DIAGNOSIS.md"

// keepPart compares a generated part of the manual with what stands there.
func keepPart(t *testing.T, name, want string) {
	t.Helper()
	text := must.Read(t, manualPath)
	open, shut := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
	before, rest, ok := strings.Cut(string(text), open)
	is, after, closed := strings.Cut(rest, shut)
	if !ok || !closed {
		t.Fatalf("%s has no part %s", manualPath, name)
	}
	if is == want {
		return
	}
	if !*update {
		t.Errorf("%s: the part %s is not what the code says; go test ./internal/answer/diagnose -update writes it", manualPath, name)
		return
	}
	must.Write(t, manualPath, before+open+want+shut+after)
}

// The manual's tables are the program's.
func TestManualShowsTheRules(t *testing.T) {
	about := map[phase]string{first: "first token", stream: "later tokens", either: "both"}
	var rules, first, classes strings.Builder
	rules.WriteString("| regime | about | when | confidence | settled by | explains |\n|---|---|---|---|---|---|\n")
	var columns []*engine.Engine
	first.WriteString("| regime | any engine |")
	for _, e := range engine.All() {
		if e.Advice != nil {
			columns = append(columns, e)
			first.WriteString(" " + e.Name + " |")
		}
	}
	first.WriteString("\n|---|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for i := range Rules {
		r := &Rules[i]
		fmt.Fprintf(&rules, "| `%s` | %s | %s | %s | %s | %s |\n", r.Regime, about[r.about], r.When, r.Sure, r.Settled, strings.Join(r.Explains, ", "))
		fmt.Fprintf(&first, "| `%s` | %s |", r.Regime, strings.Join(r.Response, "; "))
		for _, e := range columns {
			fmt.Fprintf(&first, " %s |", e.Advice[r.Regime])
		}
		first.WriteString("\n")
	}
	classes.WriteString("| scenario | approach | why | cost |\n|---|---|---|---|\n")
	for _, c := range Classes {
		fmt.Fprintf(&classes, "| %s (%s) | %s | %s | %s |\n", c.Name, c.Bounds, c.Advice, c.Why, c.Cost)
	}
	keepPart(t, "rules", rules.String())
	keepPart(t, "responses", first.String())
	keepPart(t, "classes", classes.String())
}

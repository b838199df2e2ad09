package config

import (
	"regexp"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/traffic/arrival"
	"redline/internal/traffic/workload"
)

// section gives the text under a heading of docs/guide/WORKLOADS.md.
func section(t *testing.T, heading string) string {
	t.Helper()
	page := must.Read(t, "../../../docs/guide/WORKLOADS.md")
	_, rest, found := strings.Cut(string(page), heading)
	if !found {
		t.Fatalf("docs/guide/WORKLOADS.md has no %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// forms lists what stands in backquotes in the first cells of a section's
// table.
func forms(t *testing.T, heading string) []string {
	t.Helper()
	var out []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*?) \\|").FindAllStringSubmatch(section(t, heading), -1) {
		for _, form := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			out = append(out, form[1])
		}
	}
	if len(out) < 5 {
		t.Fatalf("%s has only %q", heading, out)
	}
	return out
}

func TestEveryPlanOfTheWorkloadPageIsOne(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(section(t, "# Workloads\n")+
		section(t, "## Files")+section(t, "## Traces")+section(t, "## Shared prefixes")+section(t, "## Sessions")+
		section(t, "## Mixes and tenants"), -1)
	if len(blocks) < 5 {
		t.Fatalf("%d plans, want one in each of five sections", len(blocks))
	}
	for _, block := range blocks {
		_, err := Resolve(Input{PlanPath: writePlan(t, block[1]), LookupEnv: env(map[string]string{"MY_KEY": "sk-of-the-page"})})
		if err != nil {
			t.Errorf("%v in\n%s", err, block[1])
		}
	}
}

func TestEveryFormOfTheWorkloadPageIsRead(t *testing.T) {
	t.Parallel()
	for _, form := range forms(t, "## Lengths") {
		if _, err := workload.Parse("in=" + form + " out=1"); err != nil {
			t.Errorf("length %s: %v", form, err)
		}
	}
	for _, form := range forms(t, "## Arrivals") {
		spec := arrival.Spec{Rate: 5, Limit: 5, Profile: form}
		if err := spec.Validate(); err != nil && strings.Contains(err.Error(), "own rates") {
			spec.Rate = 0
		}
		if err := spec.Validate(); err != nil {
			t.Errorf("profile %s: %v", form, err)
		}
	}
	known := strings.Join(workload.FileFormats(), " ") + " "
	for _, form := range forms(t, "## Files") {
		if !strings.Contains(known, form+" ") {
			t.Errorf("format %s is not known", form)
		}
	}
}

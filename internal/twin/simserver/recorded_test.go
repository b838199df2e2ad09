package simserver

import (
	"io"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
	"redline/internal/twin/sim"
)

var (
	seriesLine = regexp.MustCompile(`(?m)^(vllm:[a-z0-9_:]+)\{(.*)\} `)
	seriesPair = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// forms lists the series of a page as they are told apart: name, labels, and
// the values of those labels that are the same on every server.
func forms(page string) []string {
	var all []string
	for _, line := range seriesLine.FindAllStringSubmatch(page, -1) {
		form := []string{line[1]}
		for _, pair := range seriesPair.FindAllStringSubmatch(line[2], -1) {
			if name := pair[1]; line[1] != "vllm:cache_config_info" && (name == "le" || name == "engine" || strings.HasSuffix(name, "reason")) {
				form = append(form, name+"="+strings.TrimSuffix(pair[2], ".0"))
			} else if line[1] != "vllm:cache_config_info" {
				form = append(form, name)
			}
		}
		slices.Sort(form[1:])
		all = append(all, strings.Join(form, " "))
	}
	slices.Sort(all)
	return all
}

// TestPageIsVLLMs holds the page to that of a real vLLM: whatever series the
// simulator shows, the real one has under the same name, with the same labels,
// reasons and buckets.
func TestPageIsVLLMs(t *testing.T) {
	t.Parallel()
	recorded := must.Read(t, "../../observe/telemetry/testdata/vllm-0.24.0/metrics.txt")
	spec := sim.Spec{MaxModelLen: 16384}
	spec = must.Get(spec.Resolve())(t)
	w := httptest.NewRecorder()
	(&Server{meters: []*meters{newMeters(spec, 0, func(int) sim.Stats { return sim.Stats{} })}}).serveMeters(w, nil)
	page := must.Get(io.ReadAll(w.Body))(t)
	real, ours := forms(string(recorded)), forms(string(page))
	if len(ours) < 100 {
		t.Fatalf("%d series on the page", len(ours))
	}
	for _, form := range ours {
		if _, has := slices.BinarySearch(real, form); !has && !strings.HasPrefix(form, "redline_") {
			t.Errorf("a real vLLM has no %s", form)
		}
	}
	// Both ways, for a histogram that the simulator has: no bucket is missing.
	for _, form := range real {
		name, _, _ := strings.Cut(form, " ")
		if !strings.HasSuffix(name, "_bucket") && name != "vllm:request_success_total" && name != "vllm:num_requests_waiting_by_reason" {
			continue
		}
		shown := slices.ContainsFunc(ours, func(o string) bool { return strings.HasPrefix(o, name+" ") })
		if _, has := slices.BinarySearch(ours, form); shown && !has {
			t.Errorf("the simulator lacks %s", form)
		}
	}
}

package simserver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"redline/internal/clock"
	"redline/internal/must"
	"redline/internal/observe/engine"
	"redline/internal/twin/sim"
)

// TestEveryStyleIsAPage reads each style's page with the reference parser and
// gets every page that it has beside it.
func TestEveryStyleIsAPage(t *testing.T) {
	t.Parallel()
	for _, e := range engine.All() {
		if e.Style == nil {
			continue
		}
		t.Run(e.Style.Name, func(t *testing.T) {
			t.Parallel()
			spec := must.Get(sim.Spec{ServedModelName: `odd "name"`}.Resolve())(t)
			core := must.Get(coreFor(spec, 0))(t)
			s := must.Get(NewServer(Options{Spec: spec, Core: core, Clock: clock.New(), Version: "9.9", MetricsStyle: e.Style.Name}))(t)
			t.Cleanup(func() { s.Close() })
			get := func(path string) *recorder {
				r := &recorder{header: http.Header{}, status: http.StatusOK}
				req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://sim"+path, nil))(t)
				s.ServeHTTP(r, req)
				return r
			}
			parser := expfmt.NewTextParser(model.LegacyValidation)
			families, err := parser.TextToMetricFamilies(strings.NewReader(get(e.Metrics.Path).String()))
			if err != nil || len(families) < 5 {
				t.Errorf("%d families: %v", len(families), err)
			}
			for path := range e.Style.Pages {
				if r := get(path); r.status != http.StatusOK || !strings.HasPrefix(r.String(), "{") {
					t.Errorf("%s: %d %s", path, r.status, r.String())
				}
			}
		})
	}
}

func TestUnknownStyle(t *testing.T) {
	t.Parallel()
	_, err := Start(t.Context(), sim.Spec{}, ServeOptions{MetricsStyle: "sglan"})
	want := `sim: metrics-style: unknown "sglan": did you mean sglang? known: vllm, sglang, tgi, llamacpp, nim, triton`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

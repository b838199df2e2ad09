package engine_test

import (
	"context"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/drive/wire"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/engine"
	"redline/internal/observe/enginelog"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
	"redline/internal/twin/sim"
	"redline/internal/twin/simserver"
)

// TestOneFileIsAnEngine has the engine of toy_test.go simulated, recognised, its
// page read, its log understood and its flags advised.
func TestOneFileIsAnEngine(t *testing.T) {
	t.Parallel()
	server := must.Get(simserver.Start(t.Context(), sim.Spec{MaxNumSeqs: 7}, simserver.ServeOptions{Pace: time.Millisecond, MetricsStyle: "toy"}))(t)
	t.Cleanup(func() { server.Close() })
	call := engine.Over(server.URL())
	facts := engine.Ask(t.Context(), call, "m")
	expect.NoDiff(t, cmp.Diff(engine.Facts{Engine: "toy", Model: sim.DefaultModel, Flags: map[string]string{"slots": "7"}}, facts), "facts (-want +got)")
	if paths := engine.MetricsPaths(); !slices.Contains(paths, "/toy/metrics") {
		t.Errorf("its page is not looked for: %v", paths)
	}
	page := must.Get(call(t.Context(), "/toy/metrics", nil))(t)
	reading, known := telemetry.ParsePage(page).Read()
	want := &telemetry.Reading{Engine: "toy", Replicas: 1, Running: new(0.0), PromptTokens: new(0.0)}
	if known {
		reading.E2E = nil // whose buckets are the simulator's
	}
	expect.NoDiff(t, cmp.Diff(want, reading), "%s (-want +got)", page)
	if name := engine.Recognize("ToyServe 3").AdvisedEngine().Name; name != "toy" {
		t.Errorf("%s advises", name)
	}
	if !engine.ByName("toy").CountsAtEnd {
		t.Error("it counts along")
	}
	if n := len(engine.TokenizeBodies()); n != 4 {
		t.Errorf("%d ways to ask for tokens, want three and its own", n)
	}
	if kinds := followLine(t, "3 requests were thrown out\n"); kinds["preemption"] != 1 {
		t.Errorf("its log speaks of %v", kinds)
	}
}

// followLine gives the kinds of trouble in a line that is added to a log.
func followLine(t *testing.T, line string) map[string]int64 {
	t.Helper()
	path := must.File(t, "engine.log", "")
	log := must.Get(enginelog.Follow(path, io.Discard, text.NewMask()))(t)
	must.Write(t, path, line)
	return log.Stop().Kinds
}

// TestTableIsWhole keeps the table fit to choose from.
func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, e := range engine.All() {
		if e.Name == "" || names[e.Name] || len(e.Words) == 0 {
			t.Errorf("%q is empty, taken, or not recognised by any word", e.Name)
		}
		names[e.Name] = true
		if e.Metrics.Prefix != "" && e.Metrics.Marks != nil {
			t.Errorf("%s: wants a prefix or marks", e.Name)
		}
		if e.Wraps != "" && engine.ByName(e.Wraps).Advice == nil {
			t.Errorf("%s wraps %s, whose flags are not known", e.Name, e.Wraps)
		}
		for _, d := range e.Dialects {
			if _, known := wire.ByName(d); !known {
				t.Errorf("%s: no dialect is called %s", e.Name, d)
			}
		}
	}
}

// TestRecognize takes the longest word: servers name the model, too.
func TestRecognize(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"vllm": "vllm", "redline sim": "vllm", "NIM": "vllm", "SGLang serving Llama": "sglang", "ollama": "llama.cpp",
		"text-generation-inference": "tgi", "llamacpp": "llama.cpp", "triton": "", "": "", "acme": "",
	} {
		got := ""
		if e := engine.Recognize(name).AdvisedEngine(); e != nil {
			got = e.Name
		}
		if got != want {
			t.Errorf("%s has the flags of %q, want %q", name, got, want)
		}
	}
}

// A cache is emptied by the engine's own page, and by each part of one that has
// several; a page that is not there is an error.
func TestResetsOfCaches(t *testing.T) {
	t.Parallel()
	for _, style := range []string{"vllm", "sglang"} {
		server := must.Get(simserver.Start(t.Context(), sim.Spec{}, simserver.ServeOptions{MetricsStyle: style}))(t)
		t.Cleanup(func() { server.Close() })
		call := engine.Over(server.URL())
		if done, err := engine.ByName(style).Reset.Run(t.Context(), call, nil); !done || err != nil {
			t.Errorf("%s: %v, %v", style, done, err)
		}
		if done, err := (engine.Reset{Path: "/nowhere"}).Run(t.Context(), call, nil); done || err == nil {
			t.Errorf("%s: a page that is not there: %v, %v", style, done, err)
		}
	}
	var asked []string
	done, err := engine.ByName("llama.cpp").Reset.Run(t.Context(), func(_ context.Context, path string, _ []byte) ([]byte, error) {
		asked = append(asked, path)
		return []byte(`{"id_slot":0}`), nil
	}, map[string]string{"total_slots": "2"})
	if want := []string{"/slots/0?action=erase", "/slots/1?action=erase"}; !done || err != nil || !slices.Equal(asked, want) {
		t.Errorf("%v, %v, asked %v", done, err, asked)
	}
}

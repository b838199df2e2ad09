package telemetry

import (
	"context"
	"errors"
	"testing"
	"time"

	"redline/internal/expect"
	"redline/internal/must"
)

// fetchPage is a server whose page is always the same.
func fetchPage(page string) Fetch {
	return func(context.Context) ([]byte, error) { return []byte(page), nil }
}

func dead(context.Context) ([]byte, error) { return nil, errors.New("connection refused") }

func TestPagesOfSeveralReplicas(t *testing.T) {
	t.Parallel()
	one := fetchPage("vllm:num_requests_running{engine=\"0\"} 3\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.5\nvllm:prompt_tokens_total 10\n")
	// The last line has no end, so that its number may be cut.
	two := fetchPage("vllm:num_requests_running{engine=\"0\"} 4\nvllm:kv_cache_usage_perc{engine=\"0\"} 1\nvllm:prompt_tokens_total 2")
	text := must.Get(FetchAll([]Fetch{one, two})(t.Context()))(t)
	got, _ := ParsePage(text).Read()
	want := &Reading{Engine: "vllm", Replicas: 2, Running: new(7.0), KVUsage: new(0.75), PromptTokens: new(10.0),
		Each: []Replica{{Name: "0/0", Running: new(3.0), KVUsage: new(0.5)}, {Name: "1/0", Running: new(4.0), KVUsage: new(1.0)}}}
	expect.Same(t, want, got)
	if _, err := FetchAll([]Fetch{one, dead})(t.Context()); err == nil || err.Error() != "connection refused" {
		t.Errorf("with a dead replica: %v, want its error", err)
	}
}

func TestRecognize(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		fetch         Fetch
		engine, fault string
	}{
		{"an engine", fetchPage("vllm:num_requests_running 1\n"), "vllm", ""},
		{"an engine behind another program", FetchAll([]Fetch{fetchPage("up 1\n"), fetchPage("vllm:num_requests_running 1\n")}), "vllm", ""},
		{"another program", fetchPage("up 1\n"), "", "the page has no metrics of a known engine"},
		{"a web page", fetchPage("\n<!doctype html><title>hello</title>"), "", "it answers with a web page, not with metrics"},
		{"nothing at all", fetchPage(""), "", "the page has no metrics of a known engine"},
		{"nobody", dead, "", "connection refused"},
	} {
		engine, err := Recognize(t.Context(), c.fetch)
		fault := ""
		if err != nil {
			fault = err.Error()
		}
		if engine != c.engine || fault != c.fault {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, engine, fault, c.engine, c.fault)
		}
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	for interval, ok := range map[time.Duration]bool{0: true, time.Second: true, 100 * time.Millisecond: true, time.Minute: true,
		-time.Second: false, time.Millisecond: false, 61 * time.Second: false} {
		if err := (Spec{Interval: interval}).Validate(); (err == nil) != ok {
			t.Errorf("an interval of %v: %v", interval, err)
		}
	}
	if !(Spec{}).Scrapes() || (Spec{Scrape: new(false)}).Scrapes() || !(Spec{Scrape: new(true)}).Scrapes() {
		t.Error("a server is to be watched unless the spec says otherwise")
	}
}

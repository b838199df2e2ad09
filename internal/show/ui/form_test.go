package ui

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestNoValueOfTheFormIsReadAsAFlag(t *testing.T) {
	t.Parallel()
	for want, form := range map[string]url.Values{
		"run --rate --force --slo a<1s --slo b<2s":      {"rate": {" --force "}, "slo": {"a<1s\r\n\nb<2s"}, "unknown": {"x"}, "rates": {"1,2"}, "a": {"http://a"}},
		"sweep --find-limit --budget 5m":                {"kind": {"sweep"}, "find-limit": {"yes"}, "rate": {"5"}, "budget": {"5m"}},
		"sweep --url http://s --rates 1,2":              {"kind": {"sweep"}, "url": {"http://s"}, "rates": {"1,2"}, "rounds": {"3"}},
		"compare http://a http://b --rate 5 --rounds 3": {"kind": {"compare"}, "b": {"http://b"}, "a": {"http://a"}, "rate": {"5"}, "rounds": {"3"}, "url": {"http://s"}},
		"run --rate 5": {"kind": {"worker"}, "rate": {"5"}},
		`server A: expected a URL such as http://localhost:8000, got "--resume"`: {"kind": {"compare"}, "a": {"--resume"}, "b": {"http://b"}},
	} {
		words, _, err := parseForm(form)
		got := strings.Join(words, " ")
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("the form %v gives %q, want %q", form, got, want)
		}
	}
}

// The form shows the command of what is chosen, and the page starts the same.
func TestTheFormAsksForRunsSweepsAndComparisons(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	v := visit(t, Options{Root: root})
	page := v.page("/start?kind=compare&a=http://a:1&b=http://b:1&rate=5&check=1")
	says(t, page, "redline compare http://a:1 http://b:1 --rate 5 --out "+root, `name="kind" value="compare"`, `value="compare" checked`)
	says(t, v.page("/start?kind=sweep&find-limit=yes&check=1"), "redline sweep --find-limit --out "+root, `name="find-limit" value="yes" checked`)
	for query, want := range map[string]string{
		"rate=abc": "--rate: expected a number", "rate=5&slo=ttft": "ttft", "kind=compare&a=http://a:1&rate=5": "fill in server A and server B", "plan=none.yaml": "none.yaml",
	} {
		page := v.page("/start?check=1&" + query)
		_, said, wrong := strings.Cut(page, `role="alert">`)
		if said, _, _ = strings.Cut(said, "</p>"); !wrong || !strings.Contains(said, want) || strings.Contains(page, "Start it now") {
			t.Errorf("%s: says %q and offers it: %v", query, said, strings.Contains(page, "Start it now"))
		}
		if w := v.ask(http.MethodPost, "/start", query); w.Code != http.StatusConflict {
			t.Errorf("%s is started: %d", query, w.Code)
		}
	}
	v.cookie = false
	if page := v.page("/start?check=1&plan=none.yaml"); strings.Contains(page, "alert") || strings.Index(page, "it has the token") > strings.Index(page, "<form") {
		t.Error("without the token a plan is read, or nothing says so before the form")
	}
	v.cookie = true
	if w := v.ask(http.MethodGet, "/start?kind=compare&a=-x", ""); w.Code != http.StatusBadRequest {
		t.Errorf("a flag in place of a server gives %d", w.Code)
	}
}

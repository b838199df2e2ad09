package slo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseWithScope(t *testing.T) {
	t.Parallel()
	ttft := func(scope Scope, text string) Objective {
		return Objective{Metric: "ttft", Stat: "p99", P: 0.99, Limit: 2 * s, Scope: scope, Text: text}
	}
	for text, want := range map[string]Objective{
		"class=rag ttft:p99<2s":                  ttft(Scope{Class: "rag"}, "class=rag ttft:p99<2s"),
		" Class = rag  TTFT : p99 < 2s ":         ttft(Scope{Class: "rag"}, "class=rag ttft:p99<2s"),
		"class=RAG ttft:p99<2s":                  ttft(Scope{Class: "RAG"}, "class=RAG ttft:p99<2s"),
		"tenant=acme:eu ttft:p99<2s":             ttft(Scope{Tenant: "acme:eu"}, "tenant=acme:eu ttft:p99<2s"),
		"tenant=acme class=rag ttft:p99<2s":      ttft(Scope{Class: "rag", Tenant: "acme"}, "class=rag tenant=acme ttft:p99<2s"),
		`class="short chat" ttft:p99<2s`:         ttft(Scope{Class: "short chat"}, `class="short chat" ttft:p99<2s`),
		`class="rag"ttft:p99<2s`:                 ttft(Scope{Class: "rag"}, "class=rag ttft:p99<2s"),
		`class="say \"a\"" ttft:p99<2s`:          ttft(Scope{Class: `say "a"`}, `class="say \"a\"" ttft:p99<2s`),
		"class=ttft:p99<1s tenant=x ttft:p99<2s": ttft(Scope{Class: "ttft:p99<1s", Tenant: "x"}, "class=ttft:p99<1s tenant=x ttft:p99<2s"),
	} {
		got, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func TestBadScopesSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		"class= ":                     "class: the name is missing; write it as in class=rag ttft:p99<2s",
		`class="" ttft:p99<2s`:        "class: the name is missing",
		`tenant="acme ttft:p99<2s`:    `the quotes of "acme ttft:p99<2s do not close`,
		"class=a class=b ttft:p99<2s": "class is given twice",
		"class=rag":                   "want metric:stat<limit",
		"klass=rag ttft:p99<2s":       "unknown figure",
		"class=rag ttfd:p99<2s":       "did you mean ttft?",
	} {
		o, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Parse(%q) gives %+v, %v; want an error with %q", text, o, err, part)
		}
	}
}

func TestWithinMovesAPromise(t *testing.T) {
	t.Parallel()
	plain := objective(t, "error:rate<1%")
	rag := plain.Within(Scope{Class: "rag"})
	for _, c := range []struct {
		got  Objective
		want string
	}{
		{rag, "class=rag error:rate<1%"},
		{rag.Within(Scope{Tenant: "acme"}), "tenant=acme error:rate<1%"},
		{rag.Within(Scope{}), "error:rate<1%"},
	} {
		if diff := cmp.Diff(objective(t, c.want), c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.want, diff)
		}
	}
}

func TestCovers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope         Scope
		class, tenant string
		want          bool
	}{
		{Scope{}, "", "", true},
		{Scope{}, "rag", "acme", true},
		{Scope{Class: "rag"}, "rag", "acme", true},
		{Scope{Class: "rag"}, "chat", "acme", false},
		{Scope{Class: "rag"}, "", "", false},
		{Scope{Tenant: "acme"}, "rag", "acme", true},
		{Scope{Class: "rag", Tenant: "acme"}, "rag", "other", false},
	} {
		if got := c.scope.Covers(c.class, c.tenant); got != c.want {
			t.Errorf("%+v covers %s of %s: %t", c.scope, c.class, c.tenant, got)
		}
	}
}

// FuzzScope holds every name to a spelling that is read back.
func FuzzScope(f *testing.F) {
	f.Add("rag", "acme")
	f.Add("short chat", `say "a"`)
	f.Add("a=b", "\x00\xff")
	f.Fuzz(func(t *testing.T, class, tenant string) {
		o, err := Parse("ttft:p99<2s")
		if err != nil {
			t.Fatal(err)
		}
		scoped := o.Within(Scope{Class: class, Tenant: tenant})
		back, err := Parse(scoped.Text)
		if err != nil {
			t.Fatalf("%q: %v", scoped.Text, err)
		}
		if diff := cmp.Diff(scoped, back); diff != "" {
			t.Fatalf("%q (-want +got):\n%s", scoped.Text, diff)
		}
	})
}

package slo

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

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
		expect.NoDiff(t, cmp.Diff(objective(t, c.want), c.got), "%s (-want +got)", c.want)
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
		o := must.Get(Parse("ttft:p99<2s"))(t)
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

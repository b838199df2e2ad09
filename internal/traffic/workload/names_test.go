package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestWhoEndsReplies(t *testing.T) {
	t.Parallel()
	golden := must.File(t, "golden.txt", "What is two and two?\nWhere is Paris?\n")
	chat, natural := Part{Preset: "chat"}, Part{Preset: "chat", Natural: true}
	for _, tt := range []struct {
		name string
		spec Spec
		want bool
	}{
		{"a preset", Spec{Traffic: Traffic{Preset: "chat"}}, false},
		{"natural lengths", Spec{Traffic: Traffic{Preset: "chat", Natural: true}}, true},
		{"golden prompts", Spec{Traffic: Traffic{File: golden, Format: "golden"}}, true},
		{"the same file as prose", Spec{Traffic: Traffic{File: golden}}, false},
		{"a file that is gone", Spec{Traffic: Traffic{File: "./gone.jsonl"}}, false},
		{"no class", Spec{Classes: []Class{{Name: "a", Workload: chat}, {Name: "b", Workload: chat}}}, false},
		{"one class of two", Spec{Classes: []Class{{Name: "a", Workload: chat}, {Name: "b", Workload: natural}}}, true},
	} {
		if got := tt.spec.EndsNaturally(); got != tt.want {
			t.Errorf("%s: the model ends replies: %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestWhichNamesAreKnown(t *testing.T) {
	t.Parallel()
	type known struct {
		Classes    []string
		AllClasses bool
		Tenants    []string
		AllTenants bool
	}
	tenants := []Tenant{{Name: "acme"}, {Name: "small", Count: 2}}
	for _, tt := range []struct {
		name string
		spec Spec
		want known
	}{
		{"a preset", Spec{Traffic: Traffic{Preset: "chat"}}, known{nil, true, nil, true}},
		{"a built-in mix", Spec{Traffic: Traffic{Preset: "chat-mix"}}, known{[]string{"chat", "conversation"}, true, nil, true}},
		{"a file", Spec{Traffic: Traffic{File: "./a.csv"}, Tenants: tenants}, known{nil, false, []string{"acme", "small-1", "small-2"}, false}},
		{"classes, one of a file", Spec{Classes: []Class{{Name: "a"}, {Name: "b", Workload: Part{File: "./a.csv"}}}, Tenants: tenants},
			known{[]string{"a", "b"}, true, []string{"acme", "small-1", "small-2"}, false}},
	} {
		var got known
		got.Classes, got.AllClasses = tt.spec.ClassNames()
		got.Tenants, got.AllTenants = tt.spec.TenantNames()
		expect.NoDiff(t, cmp.Diff(tt.want, got), "%s: -want +got", tt.name)
	}
}

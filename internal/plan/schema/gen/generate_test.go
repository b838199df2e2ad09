package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/plan/schema"
)

// The embedded schemas are what the types say today.
func TestSchemasAreGenerated(t *testing.T) {
	t.Chdir("../../../..")
	all := must.Get(generate())(t)
	for _, name := range schema.Names {
		embedded, err := schema.Get(name)
		if err != nil {
			t.Error(err)
			continue
		}
		expect.NoDiff(t, cmp.Diff(string(all[name]), string(embedded)), "%s is not what the types give; run go generate ./internal/plan/schema", name)
		delete(all, name)
	}
	for name := range all {
		t.Errorf("schema %s is generated but not listed", name)
	}
}

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/plan/schema"
)

// The embedded schemas are what the types say today.
func TestSchemasAreGenerated(t *testing.T) {
	t.Chdir("../../../..")
	all, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range schema.Names {
		embedded, err := schema.Get(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(string(all[name]), string(embedded)); diff != "" {
			t.Errorf("%s is not what the types give; run go generate ./internal/plan/schema\n%s", name, diff)
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("schema %s is generated but not listed", name)
	}
}

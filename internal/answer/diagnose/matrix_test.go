package diagnose

import (
	"slices"
	"testing"
)

// The bounds of the matrix are those of the documents: short below 2k, long from
// 16k; rows about turns and tenants apply beside them.
func TestDecisionMatrix(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		traffic Traffic
		want    []string
	}{
		{Traffic{PromptP50: 500, PromptP99: 1900}, []string{"short-context chat"}},
		{Traffic{PromptP50: 1999, PromptP99: 3000}, []string{"short-context chat"}},
		{Traffic{PromptP50: 2000, PromptP99: 3000}, []string{"medium context"}},
		{Traffic{PromptP50: 15_999, PromptP99: 30_000}, []string{"medium context"}},
		{Traffic{PromptP50: 16_000, PromptP99: 64_000}, []string{"long context"}},
		{Traffic{PromptP50: 600, PromptP99: 32_000}, []string{"mixed, with a heavy tail", "short-context chat"}},
		{Traffic{PromptP50: 600, PromptP99: 900, Turns: 6}, []string{"agent loops", "short-context chat"}},
		{Traffic{PromptP50: 600, PromptP99: 900, Turns: 6, InFlight: 2}, []string{"short-context chat"}},
		{Traffic{PromptP50: 600, PromptP99: 900, Tenants: 3}, []string{"several tenants", "short-context chat"}},
	} {
		var got []string
		for _, row := range Matrix(c.traffic) {
			if row.Applies {
				got = append(got, row.Scenario)
			}
			if row.Approach == "" || row.Why == "" || row.Cost == "" {
				t.Errorf("%s lacks something: %+v", row.Scenario, row)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.traffic, got, c.want)
		}
	}
	if rows := Matrix(Traffic{}); rows != nil {
		t.Errorf("of nothing: %+v", rows)
	}
}

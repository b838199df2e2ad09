package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"redline/internal/must"
)

// Long arrays of numbers take a line, and nothing else changes: not short ones,
// not arrays of anything else, not a text that looks like one.
func TestPackNumbers(t *testing.T) {
	t.Parallel()
	document := map[string]any{"long": []float64{1, -2.5, 3e-9, 4, 5, 6, 7, 8}, "short": []int{1, 2}, "words": strings.Fields("1 2 3 4 5 6 7 8"),
		"text": "[\n  1,\n  2,\n  3,\n  4,\n  5,\n  6,\n  7,\n  8\n]", "rows": [][]int{{1, 2, 3, 4, 5, 6, 7, 8}, {}}}
	plain := must.Get(json.MarshalIndent(document, "", "  "))(t)
	packed := PackNumbers(plain)
	var got, want bytes.Buffer
	if json.Compact(&got, packed) != nil || json.Compact(&want, plain) != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
		t.Errorf("the values changed:\n%s", packed)
	}
	if lines := bytes.Count(packed, []byte("\n")); lines != bytes.Count(plain, []byte("\n"))-2*9 || !bytes.Contains(packed, []byte(`"long": [1,-2.5,3e-9,4,5,6,7,8]`)) {
		t.Errorf("%d lines:\n%s", lines, packed)
	}
}

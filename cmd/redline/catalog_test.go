package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What does not fit says so first, and nothing is wider than a terminal.
func TestCatalogFitsATerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args  string
		first string
	}{
		{"llama-3.1-70b --gpu H100", "DOES NOT FIT: weights and one request lack 63.8 GiB; the least that fits is --tp 2\n"},
		{"llama-3.1-70b --gpu H100 --tp 4 --concurrency 5000", "llama-3.1-70b at bf16 on 4 × H100-SXM: "},
		{"H100", "H100-SXM: 80 GiB at 3.35 TB/s"},
		{"deepseek-v3", "deepseek-v3: 671 B parameters"},
		{"", "model "},
	} {
		code, out, said := redline(t, nil, strings.Fields("catalog "+tt.args)...)
		if code != exitOK || !strings.HasPrefix(out, tt.first) {
			t.Errorf("%s: code %d, %q, begins %.80q, want %q", tt.args, code, said, out, tt.first)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 100 {
				t.Errorf("%s: %d columns: %s", tt.args, n, line)
			}
		}
	}
}

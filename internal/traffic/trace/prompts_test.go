package trace

import (
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
)

// A log that tells of prompts alone is read for what it tells; what was assumed
// for the rest is said.
func TestLogsOfPromptsAlone(t *testing.T) {
	t.Parallel()
	words := func(text string) int { return len(strings.Fields(text)) }
	const access = `10.0.0.1 - - [01/Nov/2026:10:00:0%s +0000] "POST /v1/chat/completions HTTP/1.1" %s 99 request_length=%s`
	line := func(second, status, length string) string {
		return strings.NewReplacer("0%s ", "0"+second+" ", `" %s `, `" `+status+` `, "=%s", "="+length).Replace(access)
	}
	for _, c := range []struct {
		name, file, content, format string
		prompts                     []int
		timed                       bool
		assumed                     string
	}{
		{"a column of lengths", "log.csv", "prompt_tokens\n100\n200\n", "csv", []int{100, 200}, false, ""},
		{"lengths with times", "log.csv", "timestamp,prompt_tokens\n1,100\n2,200\n", "csv", []int{100, 200}, true, ""},
		{"objects with lengths", "log.jsonl", "{\"prompt_tokens\":100}\n{\"prompt_tokens\":200}\n", "jsonl", []int{100, 200}, false, ""},
		{"a column of prompts", "log.csv", "prompt\none two\n\"three, four five\"\n", "csv", []int{2, 3}, false, ""},
		{"objects with prompts", "log.jsonl", "{\"prompt\":\"one two\"}\n{\"messages\":[{\"role\":\"user\",\"content\":\"one two three\"}]}\n", "jsonl", []int{2, 3}, false, ""},
		{"lengths on lines", "lengths.log", "100\n200\n", "lengths", []int{100, 200}, false, ""},
		{"prompts on lines", "prompts.txt", "one two\nthree four five\n", "prompts", []int{2, 3}, false, ""},
		{"an access log", "access.log", line("0", "200", "400") + "\n" + line("1", "502", "1") + "\n" + line("2", "200", "800") + "\n", "access", []int{100, 200}, true,
			"prompts are counted by the bytes of their requests, 4 for a token"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := must.File(t, c.file, c.content)
			f := must.Get(Open(path, Options{Count: words}))(t)
			defer f.Close()
			var prompts []int
			for row, err := range f.rows() {
				must.Do(t, err)
				prompts = append(prompts, row.Prompt)
				if row.Output != assumedOutput {
					t.Errorf("an output of %d", row.Output)
				}
			}
			notes := strings.Join(f.Notes(), "\n")
			if !slices.Equal(prompts, c.prompts) || f.Format() != c.format || f.HasTimes() != c.timed ||
				!strings.Contains(notes, "no output lengths: 128 tokens are assumed") || !strings.Contains(notes, c.assumed) {
				t.Errorf("%v as %s, timed %v, notes %q; want %v as %s, timed %v, %q", prompts, f.Format(), f.HasTimes(), notes, c.prompts, c.format, c.timed, c.assumed)
			}
			if fitted, err := Fit(FitOptions{}, f); err != nil || fitted.Source.Requests != 2 || !strings.Contains(strings.Join(fitted.Source.Notes, "\n"), "assumed") {
				t.Errorf("fitted: %+v, %v", fitted, err)
			}
		})
	}
}

package ui

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"redline/internal/plan/config"
	"redline/internal/text"
)

// kind is a command that a form can start.
type kind struct{ Name, Title string }

var kinds = []kind{{"run", "one load"}, {"sweep", "several loads, or the limit"}, {"compare", "two servers"}}

// field is one thing that a form asks for, by its flag.
type field struct {
	Flag, Title, Hint string
	// For are the commands that it is of; all where it is empty.
	For []string
	// Form is how it is filled in: "" for a line, "lines" for several values,
	// "box" for a flag without a value, "place" for a word without a flag.
	Form string
}

var fields = []field{
	{Flag: "url", Title: "server", Hint: "http://localhost:8000; empty: the built-in simulated engine", For: []string{"run", "sweep"}},
	{Flag: "a", Title: "server A", Hint: "what B is compared with, such as http://old:8000", For: []string{"compare"}, Form: "place"},
	{Flag: "b", Title: "server B", Hint: "such as http://new:8000", For: []string{"compare"}, Form: "place"},
	{Flag: "model", Title: "model", Hint: "empty: the one that the server has"},
	{Flag: "rate", Title: "rate", Hint: "requests per second, such as 5", For: []string{"run", "compare"}},
	{Flag: "concurrency", Title: "concurrency", Hint: "requests in flight, in place of a rate", For: []string{"run", "compare"}},
	{Flag: "find-limit", Title: "find the limit", Hint: "the highest rate that meets the objectives, in place of given levels", For: []string{"sweep"}, Form: "box"},
	{Flag: "rates", Title: "rates", Hint: "levels in requests per second, such as 1,2,4,8", For: []string{"sweep"}},
	{Flag: "concurrencies", Title: "concurrencies", Hint: "levels of requests in flight, in place of rates", For: []string{"sweep"}},
	{Flag: "rounds", Title: "rounds", Hint: "how often both sides are measured; empty: 10", For: []string{"compare"}},
	{Flag: "duration", Title: "duration", Hint: "of one measurement, such as 60s"},
	{Flag: "budget", Title: "budget", Hint: "wall-clock time for all of it, such as 15m", For: []string{"sweep"}},
	{Flag: "workload", Title: "workload", Hint: "such as chat, fixed(500,100) or a file"},
	{Flag: "slo", Title: "objectives", Hint: "one per line, such as ttft:p99<500ms", Form: "lines"},
	{Flag: "label", Title: "label", Hint: "names the series in the history"},
	{Flag: "plan", Title: "plan file", Hint: "a path on this machine; the fields above override it"},
}

// Of reports whether the field is one of a command.
func (f field) Of(command string) bool { return len(f.For) == 0 || slices.Contains(f.For, command) }

// chosenKind is the command that a form asks for.
func chosenKind(form url.Values) string {
	for _, k := range kinds {
		if k.Name == form.Get("kind") {
			return k.Name
		}
	}
	return kinds[0].Name
}

// parseForm is the command that a form has filled in, and its values by their flags.
// Each value stands behind its flag, so that none is read as another flag; one
// that has no flag must not look like one.
func parseForm(form url.Values) (words []string, given map[string][]string, err error) {
	command := chosenKind(form)
	words, given = []string{command}, map[string][]string{}
	for _, f := range fields {
		v := strings.TrimSpace(form.Get(f.Flag))
		if v == "" || !f.Of(command) {
			continue
		}
		values := []string{v}
		switch f.Form {
		case "box":
			given[f.Flag] = []string{"true"}
			words = append(words, "--"+f.Flag)
			continue
		case "place":
			if strings.HasPrefix(v, "-") {
				return nil, nil, fmt.Errorf("%s: expected a URL such as http://localhost:8000, got %q", f.Title, v)
			}
			given[f.Flag] = values
			words = append(words, v)
			continue
		case "lines":
			values = slices.DeleteFunc(text.Each(strings.Split(v, "\n"), strings.TrimSpace), func(line string) bool { return line == "" })
		}
		given[f.Flag] = values
		for _, value := range values {
			words = append(words, "--"+f.Flag, value)
		}
	}
	return words, given, nil
}

// check says what is wrong with a command before it runs, in its own words.
func check(command string, given map[string][]string) error {
	sides := []string{""}
	if command == "compare" {
		if len(given["a"]) == 0 || len(given["b"]) == 0 {
			return errors.New("compare wants two servers: fill in server A and server B, such as http://old:8000 and http://new:8000")
		}
		sides = []string{given["a"][0], given["b"][0]}
	}
	for _, server := range sides {
		flags := maps.Clone(given)
		delete(flags, "a")
		delete(flags, "b")
		if server != "" {
			flags["url"] = []string{server}
		}
		if _, err := config.Resolve(config.Input{Command: command, Flags: flags, LookupEnv: os.LookupEnv, Seed: 1}); err != nil {
			return err
		}
	}
	return nil
}

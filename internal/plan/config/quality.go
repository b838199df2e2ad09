package config

import (
	"cmp"
	"slices"
	"strings"

	"redline/internal/drive/wire"
	"redline/internal/text"
	"redline/internal/traffic/golden"
)

// examination checks the golden set's block. The embedded engine is told the
// answers, for it knows none of its own.
func (c *Config) examination() error {
	if err := c.Quality.Validate(); err != nil {
		return c.errorIn("quality", err)
	}
	if !c.Quality.IsAsked() {
		return nil
	}
	if d, ok := wire.ByName(c.Provider.API); ok && d.PoolsReplies() {
		return c.errorAt("quality.golden", "asks for answers, but %s gives none", d.Name)
	}
	if j := c.Quality.Judge; j != nil {
		if _, err := c.endpoint(judgeURL, j.URL); err != nil {
			return err
		}
		if strings.HasPrefix(j.URL, "unix:") {
			return c.errorAt(judgeURL, "expected a URL that begins with http:// or https://: a judge is not asked over a socket file")
		}
	}
	c.Server.Sim.Golden = c.Quality.Golden
	return nil
}

// goldenSet refuses a golden set that cannot be read, before anything is asked.
func (c *Config) goldenSet() error {
	if !c.Quality.IsAsked() {
		return nil
	}
	set, err := golden.Open(c.Quality.Golden)
	if err != nil {
		return c.errorAt("quality.golden", "%v", err)
	}
	if criterion := set.Criterion(); criterion != "" && c.Quality.Judge == nil {
		return c.errorAt("quality.golden", "%s asks a judge model (%s), but none is given: give quality.judge with its url and model, or leave such questions out", c.Quality.Golden, quote(text.Cut(criterion, 40)))
	}
	tags := set.Tags()
	for _, tag := range sortedKeys(c.Quality.Thresholds.Slices) {
		if slices.Contains(tags, tag) {
			continue
		}
		cure := cmp.Or(text.Hint(tag, append(tags, "overall", "determinism", "structured_validity")), "it has "+strings.Join(tags, ", "))
		return c.errorAt("quality.thresholds", "no question of %s has the tag %s; %s", c.Quality.Golden, quote(tag), cure)
	}
	return nil
}

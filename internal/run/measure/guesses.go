package measure

import (
	"fmt"
	"strings"

	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// confirmGuesses holds what the plan declares of speculative decoding against
// the server's count of guessed tokens.
func confirmGuesses(res *result.Result, server *telemetry.ServerUse) {
	const option = "speculative_decoding"
	declared, is := res.Engine.Declared[option]
	if !is || server == nil || !strings.HasSuffix(declared, "not verified") {
		return
	}
	on, guessed := strings.HasPrefix(declared, "on"), server.SpecAcceptance != nil
	if !guessed && !engine.Named(server.Engine).CountsDrafts {
		return
	}
	if on == guessed {
		res.Engine.Declared[option] = strings.Replace(declared, "not verified", "as the server says", 1)
		return
	}
	res.Engine.Declared[option] = strings.Replace(declared, "not verified", "but the server says otherwise", 1)
	found := "counted no guessed token"
	if guessed {
		found = "took " + text.RoughPercent(*server.SpecAcceptance) + " of the tokens that it guessed"
	}
	res.Warnings = append(res.Warnings, result.Warning{Figure: "engine",
		Text: fmt.Sprintf("the plan declares %s %s, but the server %s", option, strings.SplitN(declared, ",", 2)[0], found)})
}

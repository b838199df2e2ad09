package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"redline/internal/plan/config"
	"redline/internal/run/experiment"
	"redline/internal/run/measure"
	"redline/internal/stats"
	"redline/internal/text"
)

// dryRun prints what a command would send, and sends nothing.
func (p *process) dryRun(cfg *config.Config, command string) error {
	const shown, head, tail = 3, 240, 160 // bodies, and of each the first and last letters
	preview, err := measure.Predict(cfg, shown)
	if err != nil {
		return err
	}
	if command == "run" && preview.Untimed != nil {
		return preview.Untimed
	}
	if command == "run" && cfg.Experiment.Repeat <= 1 && preview.Unpaid != nil {
		return preview.Unpaid
	}
	cfg = preview.Config
	estimate, err := experiment.Foresee(command, cfg)
	if err != nil {
		return usage("%v", err)
	}
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-10s"+format+"\n", append([]any{name}, args...)...)
	}
	b.WriteString("DRY RUN: nothing was sent\n\n")
	row("server", "%s (%s)", targetName(cfg), preview.API)
	if name := cfg.MissingKey(); name != "" {
		row("warning", "environment variable %s is not set: a run would end with that", name)
	}
	row("time", "%s", timeExpected(cfg, estimate, preview))
	if preview.Late != "" && command == "run" {
		row("warning", "%s", preview.Late)
	}
	for _, line := range estimate.Warnings {
		row("warning", "%s", line)
	}
	for _, line := range estimate.Expect {
		row("expect", "%s", line)
	}
	if n := requestsExpected(cfg, command, estimate, preview); n > 0 {
		about := "about"
		if cfg.UntilDecided() {
			about = "at most about"
		}
		row("requests", "%s %s, plus a few before the first", about, text.Short(n))
		row("tokens", "about %s of prompts and %s of replies", text.Short(n*preview.Prompt), text.Short(n*preview.Output))
		if c := cfg.Cost; c.ByToken() {
			row("cost", "about %s", text.Money(n*c.Tokens(preview.Prompt, 0, preview.Output), c.Currency))
		} else {
			row("cost", "no price of tokens is known (--price-per-1m-prompt-tokens, --price-per-1m-output-tokens)")
		}
		for _, line := range measure.EarlyEnds(cfg, n, preview.Prompt, preview.Output) {
			row("limit", "%s", line)
		}
	} else {
		row("requests", "as many as %s in that time", whoSends(cfg, command))
		row("tokens", "about %s of prompt and %s of reply each", text.Short(preview.Prompt), text.Short(preview.Output))
	}
	for i, body := range preview.Bodies {
		line := cfg.MaskText(text.Line(string(body)))
		if letters := []rune(line); len(letters) > head+tail {
			line = string(letters[:head]) + " … " + string(letters[len(letters)-tail:])
		}
		fmt.Fprintf(&b, "\nrequest %d, %d bytes\n%s\n", i+1, len(body), line)
	}
	_, err = io.WriteString(text.Writer(p.stdout), b.String())
	return err
}

// timeExpected says how long a command probably takes.
func timeExpected(cfg *config.Config, e experiment.Estimate, preview *measure.Preview) string {
	switch b := cfg.Load.Bounds; {
	case e.Stages != 1:
		return e.String()
	case cfg.UntilDecided():
		return "until every objective is decided, " + text.Length(b.MaxDuration) + " at most"
	case b.TotalRequests > 0 && b.Duration == 0 && cfg.Mode() == config.Closed && b.Pace > 0:
		return "at least " + text.About(b.Pace*time.Duration((b.TotalRequests-1)/max(1, b.MaxConcurrency)))
	case b.TotalRequests > 0 && b.Duration == 0 && cfg.Mode() == config.Closed:
		return "as long as the server takes to answer"
	case b.TotalRequests > 0 && b.Duration == 0 && cfg.Recorded():
		return "about " + text.About(max(time.Second, preview.LastDue))
	case b.TotalRequests > 0 && b.Duration == 0:
		requests := float64(b.TotalRequests) + warmupRequests(cfg, preview)
		return "about " + text.About(max(time.Second, time.Duration(requests/(cfg.Load.Mean()*preview.Turns)*float64(time.Second))))
	}
	return "about " + text.About(e.Clock)
}

// whoSends says what decides over the number of requests, where the plan does not.
func whoSends(cfg *config.Config, command string) string {
	if command == "bench" || command == "matrix" && len(cfg.Experiment.Toggles) == 0 {
		return "its rows send"
	}
	return "the server answers"
}

// requestsExpected is how many requests are sent in all, 0 where the server or the
// rows of a plan decide that.
func requestsExpected(cfg *config.Config, command string, e experiment.Estimate, preview *measure.Preview) float64 {
	b, x, stages, turns := cfg.Load.Bounds, cfg.Experiment, float64(e.Stages), preview.Turns
	switch {
	case stages == 0 || x.FindLimit || len(x.Concurrencies) > 0 || command == "matrix" && len(x.Toggles) == 0 || command == "bench":
		return 0
	case b.TotalRequests > 0:
		return stages * (float64(b.TotalRequests) + warmupRequests(cfg, preview))
	case cfg.Recorded():
		return stages * float64(preview.Recorded)
	case cfg.Mode() == config.Closed:
		return 0
	case cfg.UntilDecided():
		return cfg.Load.Mean() * turns * stages * b.MaxDuration.Seconds()
	case len(x.Rates) > 0:
		return stats.Mean(x.Rates) * turns * e.Load.Seconds()
	}
	return cfg.Load.Mean() * turns * e.Load.Seconds()
}

// warmupRequests is how many requests the warm-up of one load sends.
func warmupRequests(cfg *config.Config, preview *measure.Preview) float64 {
	const adaptive = 50
	switch b := cfg.Load.Bounds; {
	case b.Plain || cfg.Recorded():
		return 0
	case b.Warmup != nil:
		return cfg.Load.Mean() * preview.Turns * b.Warmup.Seconds()
	}
	return adaptive
}

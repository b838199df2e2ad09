package main

import (
	"fmt"
	"strings"

	"redline/internal/catalog"
	"redline/internal/plan/config"
	"redline/internal/show/document"
	"redline/internal/show/listing"
	"redline/internal/traffic/job"
)

// jobFlags are what is shown of a file of agents' jobs.
type jobFlags struct {
	name, model string
	asJSON      bool
}

// showJobs describes a file of agents' jobs.
func (p *process) showJobs(cfg *config.Config, f jobFlags) error {
	words, err := tokenizerOf(cfg)
	if err != nil {
		return err
	}
	context := 0
	if f.model != "" {
		known, err := catalog.Open()
		if err != nil {
			return err
		}
		model, err := findModel(known, f.model)
		if err != nil {
			return usage("--model: %v", err)
		}
		context = model.MaxLen
	}
	file, err := cfg.Workload.OpenJobs(words.Count)
	if err != nil {
		return err
	}
	example, err := file.Example(f.name)
	if err != nil {
		return err
	}
	summary := file.Summarize(context)
	const width = 78 // and the margin
	return p.answer(f.asJSON, summary, listing.Jobs(summary, example, file.Timeline(example, width)))
}

// fitJobs makes a generator of agents' jobs, and prints how well it fits.
func (p *process) fitJobs(paths []string, o job.Options, out string) error {
	var all *job.File
	for _, path := range paths {
		file, err := job.Open(path, o)
		switch {
		case err != nil:
			return err
		case file.Generator != nil:
			return usage("%s: is fitted already, expected recorded jobs", path)
		case all == nil:
			all = file
		case file.Format != all.Format:
			return usage("%s: is of the format %s, and %s of %s; expected one format", path, file.Format, paths[0], all.Format)
		default:
			all.Jobs = append(all.Jobs, file.Jobs...)
		}
	}
	fitted := job.Fit(all)
	var held job.Comparison
	var own *job.Summary
	if len(all.Jobs) >= job.MinHeldOut {
		held, own = job.HoldOut(all)
	}
	comparison := listing.FittedJobs(fitted.Compare(all), held, own)
	if out == "" {
		if err := fitted.Write(p.stdout); err != nil {
			return err
		}
		return document.Terminal(p.stderr, comparison, p.screen(true))
	}
	if err := writeFitted(fitted, out); err != nil {
		return fmt.Errorf("-o: cannot be written: %w", err)
	}
	if err := p.print(comparison); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.stdout, "\n%s makes jobs like those of %s; try: redline workload show %s\n", out, strings.Join(paths, ", "), out)
	return err
}

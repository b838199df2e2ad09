package main

import (
	"redline/internal/catalog"
	"redline/internal/plan/config"
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
	file, err := job.Open(cfg.Workload.File, job.Options{Format: cfg.Workload.Format, Count: words.Count})
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

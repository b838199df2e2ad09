package workload

import (
	"slices"
	"time"

	"redline/internal/traffic/corpus"
)

// HasTimes reports whether the workload's file says itself when its requests came:
// a trace, or what was fitted to one. A file that cannot be read counts as one
// that does not; New says what is wrong with it.
func (s Spec) HasTimes() bool {
	if s.File == "" || s.Classes != nil {
		return false
	}
	format, err := s.formatOf()
	return err == nil && (format == Fitted || !isCorpus(format) && !isJobs(format))
}

// HoldsJobs reports whether the workload is jobs of agents.
func (s Spec) HoldsJobs() bool { return s.Classes == nil && s.Traffic.isJobs() }

// HoldsFormat reports whether the workload is a file of a format.
func (s Spec) HoldsFormat(name string) bool {
	if s.File == "" {
		return false
	}
	format, err := s.formatOf()
	return err == nil && format == name
}

// Timing says where the times of a Timed workload come from.
func (s Spec) Timing() string {
	if format, err := s.formatOf(); err == nil && format == Fitted {
		return "as fitted"
	}
	return "as recorded"
}

// EndsNaturally reports whether some replies end where the model ends them: the
// workload says so, they are calls or documents, or its file holds golden prompts.
func (s Spec) EndsNaturally() bool {
	parts := []Traffic{s.Traffic}
	for _, c := range s.Classes {
		parts = append(parts, Traffic(c.Workload))
	}
	for _, t := range parts {
		if t.Natural || t.Tools != nil || t.Schemas != nil {
			return true
		}
		if t.File == "" {
			continue
		}
		if format, err := t.formatOf(); err == nil && format == string(corpus.Golden) {
			return true
		}
	}
	return false
}

// Span is how long a replay lasts, 0 where there is none or no end to it.
func (w *Workload) Span() time.Duration {
	if w.times == nil {
		return 0
	}
	played, ok := w.classes[0].source.(*replaySource)
	if !ok || played.replay.Loop {
		return 0
	}
	return played.replay.Span(played.file)
}

// HasText reports whether prompts are what somebody wrote: those of a file that holds
// them. Of a mix every class has to.
func (s Spec) HasText() bool {
	if s.Classes != nil {
		return !slices.ContainsFunc(s.Classes, func(c Class) bool { return !(Spec{Traffic: Traffic(c.Workload)}).HasText() })
	}
	if s.File == "" {
		return false
	}
	format, err := s.formatOf()
	return err == nil && isCorpus(format)
}

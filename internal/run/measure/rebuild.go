package measure

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"redline/internal/answer/diagnose"
	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/judge/validity"
	"redline/internal/observe/engine"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/run/store"
	"redline/internal/text"
)

// Rebuild gives the result of a run directory: the one that the run wrote, or,
// where it was killed before, one made from its records.
func Rebuild(path string) (*result.Result, error) {
	dir, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if err == nil && res.Interrupted == result.Killed && dir.WasFull() {
		res.Interrupted = result.DiskFull
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return res, err
	}
	if dir.IsExperiment() {
		return nil, unfinished(dir)
	}
	if res, err = fromRecords(dir); err == nil {
		text.NewMask().Tidy(res) // the directory may come from anybody
	}
	return res, err
}

// unfinished says what can be done with an experiment that ended before its
// first stage did.
func unfinished(dir *store.Dir) error {
	kind, err := dir.Kind()
	if err != nil {
		return err
	}
	cure := "resume it with its command and --resume " + dir.Path
	if kind != "" {
		cure = fmt.Sprintf("resume with: redline %s --resume %s", kind, dir.Path)
	}
	if stages := dir.Stages(); len(stages) > 0 {
		cure += ", or see what there is of it: redline report " + stages[len(stages)-1]
	}
	return fmt.Errorf("%s: the experiment ended before its first stage did; %s", dir.Path, cure)
}

func fromRecords(dir *store.Dir) (*result.Result, error) {
	header, err := dir.Header()
	if err != nil {
		return nil, err
	}
	c, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return nil, err
	}
	res := blank(c, header.Run, time.Unix(0, header.OriginUnixNS))
	res.Interrupted = result.Killed
	if dir.WasFull() {
		res.Interrupted = result.DiskFull
	}
	ending, err := dir.Ending()
	if err != nil {
		return nil, err
	}
	res.Workload.Tokenizer = c.Tokenizer
	logged := keptTelemetry(res, dir)
	recall(res, c, logged.Header.Subject)
	start, end, err := measuredSpan(dir.Records, cmp.Or(c.Load.Bounds.Duration, c.Load.Bounds.MaxDuration), ending.Mark)
	if err != nil {
		return nil, err
	}
	if end <= start {
		return nothingMeasured(res), nil
	}
	res.Warnings = append(res.Warnings, logWarnings(ending, dir.WasFull())...)
	seen := logged.Accelerators()
	nameHardware(res, seen)
	evidence := keptEvidence(res, c, dir, logged, start, end)
	var facts engine.Facts
	if s := logged.Header.Subject; s != nil && s.Facts != nil {
		facts = *s.Facts
	}
	describe(res, c, facts, evidence.Server)
	err = judge(res, c, dir.Records, start, end, plannedLoad{stageStart: 0}, evidence)
	res.Verdict.Reasons = append(res.Verdict.Reasons, cutReason(res, ending, max(ending.Mark, end)))
	for i := range res.Points {
		useAccelerators(res, &res.Points[i], seen, start, end)
	}
	res.Diagnosis = diagnose.Find(res)
	return res, err
}

// cutReason says in the verdict that the run did not come to its end.
func cutReason(res *result.Result, e store.Ending, end int64) string {
	reason := fmt.Sprintf("the run was cut off (%s) %s after its start", res.Interrupted, text.Seconds(time.Duration(end).Seconds()))
	if e.Unended > 0 {
		reason += fmt.Sprintf(", with %d of its requests unfinished", e.Unended)
	}
	return reason
}

// logWarnings are what the log of a run that was cut off cannot tell.
func logWarnings(e store.Ending, full bool) (list []result.Warning) {
	when := "the run was killed"
	if full {
		when = "the disk was full"
	}
	switch {
	case e.Mark == 0:
		list = append(list, result.Warning{Figure: "requests", Text: when + ": requests that had not ended by then left no record, so slow ones are missing"})
	case e.Unended > 0:
		list = append(list, result.Warning{Figure: "requests", Text: fmt.Sprintf("%s: what was in flight then counts as unfinished, by its age (requests: %d); the last second may be missing", when, e.Unended)})
	}
	if e.Repeated > 0 {
		list = append(list, result.Warning{Figure: "requests", Text: fmt.Sprintf("records that are in the log twice count once (%d): it was copied or joined", e.Repeated)})
	}
	return list
}

// keptEvidence is what the telemetry log of a killed run still tells. How
// arrivals were stamped stands nowhere, so that stays open.
func keptEvidence(res *result.Result, c *config.Config, dir *store.Dir, logged *telemetry.Logged, start, end int64) validity.Evidence {
	evidence := validity.Evidence{Partial: true, Embedded: c.Embedded(), DesignedCache: designedSharing(c, begun(dir)),
		Natural: c.Workload.EndsNaturally(), KeepsLength: keepsLength(c), OwnTokenizer: ownTokenizer(c, res.Model.Tokenizer)}
	if len(logged.Lines) == 0 {
		return evidence
	}
	if server := logged.Server(start, end); server.Samples > 0 {
		evidence.Server = &server
	}
	use := logged.Host(start, end)
	res.Client.CPUs = len(use.Cores)
	fill(&res.Client, use)
	evidence.Client = res.Client
	return evidence
}

// begun is how many sessions a run has records of.
func begun(dir *store.Dir) int {
	seen := map[int]bool{}
	for r, err := range dir.Records() {
		if err != nil {
			break // what can be read counts
		}
		seen[r.Session] = true
	}
	return len(seen)
}

// keptTelemetry reads the telemetry log, as far as there is one.
func keptTelemetry(res *result.Result, dir *store.Dir) *telemetry.Logged {
	logged, err := dir.ReadTelemetry()
	if err != nil {
		res.Warnings = append(res.Warnings, result.Warning{Figure: "server", Text: "the telemetry log cannot be read: " + err.Error()})
	}
	if logged == nil {
		return &telemetry.Logged{}
	}
	return logged
}

// recall names what the run had found before its load; the plan alone says
// less.
func recall(res *result.Result, c *config.Config, s *telemetry.Subject) {
	res.Engine.Embedded, res.Engine.API = c.Embedded(), c.Provider.API
	if c.Embedded() {
		res.Engine.Name, res.Model.Name = simName, c.Server.Sim.ServedModelName
	}
	if s == nil {
		return
	}
	res.Command, res.Version, res.Model.Name = s.Command, s.Version, s.Model
	res.Engine.Name, res.Engine.Version, res.Engine.URL = s.Engine, s.EngineVersion, s.URL
	res.Client.SharesHost = s.SharesHost
}

// measuredSpan finds the window of a run that did not live to write it down:
// from the first request due in it to the last mark, up to which all that was
// begun is known, or to the last thing that was recorded where there are no
// marks; but not beyond the planned length nor into the cool-down.
func measuredSpan(log records, planned time.Duration, mark int64) (start, end int64, err error) {
	var cooldown int64
	for r, err := range log() {
		if err != nil {
			return 0, 0, err
		}
		switch r.Phase {
		case record.Measure:
			if start == 0 || r.Due < start {
				start = r.Due
			}
			end = max(end, r.End)
		case record.Cooldown:
			if cooldown == 0 || r.Due < cooldown {
				cooldown = r.Due
			}
		}
	}
	if mark != 0 && start != 0 {
		end = mark
	}
	if cooldown != 0 {
		end = min(end, cooldown)
	}
	if planned > 0 {
		end = min(end, start+int64(planned))
	}
	return start, end, nil
}

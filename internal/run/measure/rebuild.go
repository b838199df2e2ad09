package measure

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"redline/internal/drive/record"
	"redline/internal/judge/fire"
	"redline/internal/judge/result"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
	"redline/internal/store"
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
	if err == nil && res.Interrupted == result.Killed {
		res.Interrupted = cutBy(dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return res, err
	}
	if dir.IsExperiment() {
		return nil, unfinishedError(dir)
	}
	if res, err = fromRecords(dir); err == nil {
		text.NewMask().Tidy(res) // the directory may come from anybody
	}
	return res, err
}

// cutBy says why a directory has no whole result.
func cutBy(dir *store.Dir) string {
	switch {
	case dir.WasFull():
		return result.DiskFull
	case store.Writer(dir.Path) != "":
		return result.Running
	}
	return result.Killed
}

// unfinishedError says what can be done with an experiment that ended before its
// first stage did.
func unfinishedError(dir *store.Dir) error {
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

// fromRecords makes the result of a run that was killed before it could.
func fromRecords(dir *store.Dir) (*result.Result, error) {
	header, err := dir.Header()
	if err != nil {
		return nil, err
	}
	c, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return nil, err
	}
	ending, err := dir.ReadEnding()
	if err != nil {
		return nil, err
	}
	in := assemble.Run{Plan: c, Records: dir.Records, MaxWindow: maxWindow(c), ID: header.Run, Started: time.Unix(0, header.OriginUnixNS),
		Interrupted: cutBy(dir), Workload: result.Workload{Tokenizer: c.Tokenizer}}
	sessions := 0
	if in.Start, in.End, sessions, err = measuredSpan(dir.Records, cmp.Or(c.Load.Bounds.Duration, c.Load.Bounds.MaxDuration), ending.Mark); err != nil {
		return nil, err
	}
	in.Empty = in.End <= in.Start
	for _, e := range c.Events() {
		if at := in.Start + int64(e.At); at < in.End {
			in.Happened = append(in.Happened, fire.Happening{Action: e.String(), At: at})
		}
	}
	in.Load = plannedLoad(c, in.Start, in.End, 0)
	in.Evidence.Partial = true
	in.Evidence.DesignedCache, in.LiveTokens = designedCache(c, sessions)
	if !in.Empty {
		in.Warnings = logWarnings(ending, in.Interrupted)
		in.Cutoff = cutReason(in.Interrupted, ending, max(ending.Mark, in.End))
	}
	recall(&in, dir)
	return assemble.Assemble(in)
}

// cutReason says in the verdict that the run did not come to its end.
func cutReason(interrupted string, e store.Ending, end int64) string {
	reason := fmt.Sprintf("the run was cut off (%s) %s after its start", interrupted, text.Seconds(time.Duration(end).Seconds()))
	if interrupted == result.Running {
		reason = fmt.Sprintf("the run goes on: this is after %s", text.Seconds(time.Duration(end).Seconds()))
	}
	if e.Unended > 0 {
		reason += fmt.Sprintf(", with %d of its requests unfinished", e.Unended)
	}
	return reason
}

// logWarnings are what the log of a run that was cut off cannot tell.
func logWarnings(e store.Ending, interrupted string) (list []result.Warning) {
	when := map[string]string{result.Killed: "the run was killed", result.DiskFull: "the disk was full", result.Running: "the run goes on"}[interrupted]
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

// recall adds what the telemetry log still tells: what the run had found before
// its load, and what was seen meanwhile. How arrivals were stamped stands
// nowhere, so that stays open.
func recall(in *assemble.Run, dir *store.Dir) {
	in.Engine = result.Engine{Embedded: in.Plan.Embedded(), API: in.Plan.Provider.API}
	if in.Engine.Embedded {
		in.Engine.Name, in.Model = assemble.SimName, in.Plan.Server.Sim.ServedModelName
	}
	logged, err := dir.ReadTelemetry()
	if err != nil {
		in.Warnings = append(in.Warnings, result.Warning{Figure: "server", Text: "the telemetry log cannot be read: " + err.Error()})
	}
	if logged == nil {
		return
	}
	in.Accelerators, in.Scrapes = logged.Accelerators(), logged.Scrapes()
	if s := logged.Header.Subject; s != nil {
		in.Command, in.Version, in.Model, in.Client.SharesHost = s.Command, s.Version, s.Model, s.SharesHost
		in.Engine.Name, in.Engine.Version, in.Engine.URL = s.Engine, s.EngineVersion, s.URL
		if s.Facts != nil {
			in.Facts = *s.Facts
		}
	}
	if len(logged.Lines) == 0 || in.Empty {
		return
	}
	if server := logged.Server(in.Start, in.End); server.Samples > 0 {
		in.Server = &server
	}
	in.Watches = watchesOf(dir)
	use := logged.Host(in.Start, in.End)
	in.Client.CPUs = len(use.Cores)
	fill(&in.Client, use)
}

// measuredSpan finds the window of a run that did not live to write it down:
// from the first request due in it to the last mark, up to which all that was
// begun is known, or to the last thing that was recorded where there are no
// marks; but not beyond the planned length nor into the cool-down. It counts the
// sessions that had begun, too.
func measuredSpan(log assemble.Records, planned time.Duration, mark int64) (start, end int64, sessions int, err error) {
	var cooldown int64
	begun := map[int]bool{}
	for r, err := range log() {
		if err != nil {
			return 0, 0, 0, err
		}
		begun[r.Session] = true
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
	return start, end, len(begun), nil
}

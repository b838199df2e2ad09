package measure

import (
	"fmt"
	"math"
	"runtime"
	"time"

	"redline/internal/drive/load"
	"redline/internal/holdup"
	"redline/internal/judge/result"
	"redline/internal/judge/validity"
	"redline/internal/llm"
	"redline/internal/observe/telemetry"
	"redline/internal/plan/config"
	"redline/internal/run/assemble"
	"redline/internal/text"
)

// facts are what the run that just ended leaves behind.
func (r *run) facts() assemble.Run {
	start, end, empty := r.outcome.WindowStart, r.outcome.WindowEnd, r.outcome.WindowEnd == 0
	if empty {
		// Without a window, what the run used is what there is to tell.
		start, end = r.outcome.Start, r.clock.Now()
	}
	t, warmup := r.target, time.Duration(start-r.outcome.Start).Seconds()
	recorded := r.recordedRate(start-r.outcome.Start, end-r.outcome.Start)
	in := assemble.Run{Plan: r.Config, Records: r.log.Records, Start: start, End: end, Empty: empty, MaxWindow: maxWindow(r.Config),
		Load: plannedLoad(r.Config, start-r.outcome.Start, end-r.outcome.Start, recorded), Warmup: &warmup,
		ID: r.id, Started: r.started, Command: r.Command, Version: r.Version, Interrupted: r.outcome.Stopped, Broke: r.outcome.Broke,
		Engine: t.about, Model: t.model, Facts: t.facts,
		Workload: result.Workload{Name: r.work.Name(), Tokenizer: r.text.Name(), TemplateTokens: t.template, TemplateHash: r.templateHash()},
		Server:   r.watched.serverUse(start, end), Scrapes: r.watched.scrapes(), Accelerators: r.watched.boards.readings(), EngineLog: r.logged,
		Evidence: validity.Evidence{Traffic: r.watched.traffic(), Repeat: t.repeat}}
	in.Happened = r.happened
	in.Hopeless = r.lookout.isHopeless()
	counts := t.tally().less(r.before)
	in.Client, in.Evidence.Shortage = r.client(counts, start, end), counts.shortage
	if r.Resume != "" {
		in.Server, in.Scrapes, in.Evidence.Traffic = nil, nil, nil
		in.Warnings = append(in.Warnings, result.Warning{Figure: "server", Text: "the run was resumed by another conductor: what the server said of itself covers only a part of it and is left out"})
	}
	in.Watches = []holdup.Watch{r.watched.host.Holdups()}
	if r.stint != nil {
		in.Watches = r.stint.Watches()
		in.Workers, in.Conductor = r.stint.Reports(), new(in.Client)
		in.Client = r.crew(in.Client, in.Workers)
	}
	if designed, err := r.work.DesignedSharing(max(1, r.outcome.Counts.Due)); err == nil {
		in.Evidence.DesignedCache = &designed
	}
	if r.Options.Target == nil { // of runs that share one, none pays for it alone
		for _, s := range t.asked {
			in.Preflight.Prompt, in.Preflight.Output = in.Preflight.Prompt+s.prompt, in.Preflight.Output+s.output
		}
	}
	in.LiveTokens = r.work.LiveTokens()
	if t.engine != nil {
		late := t.engine.Lateness()
		in.Evidence.Engine = &validity.Lateness{P99: int64(late.P99), Max: int64(late.Max)}
	}
	if r.exam != nil {
		in.Quality = r.exam.Result()
		in.Evidence.GoldenPrompt, in.GoldenTokens = r.exam.TokensIn(result.UnderLoad)
	}
	in.Warnings = append(in.Warnings, r.warnings(counts.unasked, len(in.Accelerators) > 0)...)
	return in
}

// client is this machine over a stretch of the run.
func (r *run) client(counts tally, start, end int64) result.Client {
	source := "user"
	if counts.kernel >= counts.user && counts.kernel > 0 {
		source = "kernel"
	}
	c := result.Client{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: telemetry.Cores,
		Timestamps: result.Timestamps{Source: source, Reads: counts.kernel + counts.user, Missing: counts.user},
		SharesHost: r.sharesHost(), Retransmits: counts.retransmits, Unasked: counts.unasked}
	if r.Dial == nil { // in virtual time this machine's own load says nothing
		fill(&c, r.watched.host.Over(start, end))
	}
	return c
}

func fill(c *result.Client, use telemetry.HostUse) {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	c.CPUSeconds, c.CPUShare = use.CPU.Seconds(), use.Share
	c.GCPauseMS, c.ClockStepMS, c.SchedDelayMS = ms(use.GCPause), ms(use.ClockStep), ms(use.SchedP99)
	c.Machine = use.MachineUse
}

// warnings are what only the run itself knows.
func (r *run) warnings(unasked int64, sawAccelerators bool) []result.Warning {
	var list []result.Warning
	add := func(figure, text string) {
		if text != "" {
			list = append(list, result.Warning{Figure: figure, Text: text})
		}
	}
	add("client", r.crewWarning)
	add("server", r.target.otherModel())
	add("server", r.watched.unread)
	add("server", r.cacheNote)
	if b := r.watched.boards; b != nil && !sawAccelerators {
		add("accelerator", b.unread)
	}
	for _, note := range append(r.work.Notes(), r.Config.RuleNotes()...) {
		add("workload", note)
	}
	if unasked > 0 {
		add("requests", fmt.Sprintf("replies that no request had asked for came %d times; other answers on those connections may be of another request: look for a server or proxy that answers twice", unasked))
	}
	add("requests", fewerClosed(r.Config, r.outcome.Counts))
	add("engine_log", r.engineLog.whyMissing(r.logged))
	if r.outcome.WarmupCut {
		lacks := "it had lasted twice the mean e2e of 50 requests"
		if r.outcome.Unsettled {
			lacks = "the later turns of sessions came as often as they will: give a longer --warmup"
		}
		add("window", fmt.Sprintf("the warm-up ended at its limit of %.0f s, before %s", r.stage.WarmupLimit().Seconds(), lacks))
	}
	return list
}

// fewerClosed says that redline closed fewer requests than --cancel asks for, since
// their replies had ended by then; "" where it did not, but for chance.
func fewerClosed(c *config.Config, counts load.Counts) string {
	if c.Load.Cancel == nil {
		return ""
	}
	closed := counts.By[llm.Abandoned]
	ended := counts.By[llm.OK] + closed
	asked := *c.Load.Cancel * float64(ended)
	if float64(closed) >= min(0.9*asked, asked-3*math.Sqrt(asked)) {
		return ""
	}
	return fmt.Sprintf("--cancel asks to close %s of the requests, but only %d of %d were closed: other replies had ended before their moment; an earlier --cancel-after closes more",
		text.Percent(*c.Load.Cancel), closed, ended)
}

// plannedLoad is what was asked for over a stretch of the stage; recorded is the
// rate of times that a file gives.
func plannedLoad(c *config.Config, start, end int64, recorded float64) result.Load {
	l := result.Load{Mode: c.Mode()}
	switch {
	case c.Recorded():
		l.Profile = c.Workload.Timing()
		if recorded > 0 {
			l.Rate = &recorded
		}
	case c.Load.Open():
		l.Rate = new(text.Round(c.Load.MeanOver(time.Duration(start), time.Duration(end)), 6))
		l.Profile = c.Load.Shape()
	}
	if n := c.Load.Bounds.MaxConcurrency; n > 0 {
		l.Concurrency = &n
	}
	if l.Mode == config.Closed {
		l.PaceS, l.Agents = c.Load.Bounds.Pace.Seconds(), c.Workload.HoldsJobs()
	}
	return l
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/peer"
	"redline/internal/plan/config"
	"redline/internal/run/gather"
	"redline/internal/show/document"
	"redline/internal/show/report"
	"redline/internal/text"
)

// peerCommands are the commands of other benchmarks, behind the word redline:
// their flags are their own, so that none of ours is among them.
func (p *process) peerCommands() []*cobra.Command {
	var list []*cobra.Command
	words := peer.Commands()
	if of, _ := peer.Find(p.args); of != nil && !slices.Contains(words, p.args[0]) {
		words = append(words, p.args[0]) // a path to Python or to a script
	}
	for _, word := range words {
		list = append(list, &cobra.Command{
			Use: word, Hidden: true, DisableFlagParsing: true,
			Short: "run the command of another benchmark here",
			RunE: func(c *cobra.Command, args []string) error {
				return p.peer(c.Context(), append([]string{word}, args...))
			},
		})
	}
	return list
}

// peer carries out the command line of another benchmark.
func (p *process) peer(ctx context.Context, words []string) error {
	of, rest := peer.Find(words)
	if of == nil {
		var known []string
		for _, other := range peer.All {
			known = append(known, "redline "+other.Commands[0])
		}
		if its := slices.DeleteFunc(slices.Clone(known), func(one string) bool { return !strings.HasPrefix(one, "redline "+words[0]+" ") }); len(its) > 0 {
			known = its
		}
		return usage("unknown command %q; there is %s", "redline "+strings.Join(words[:min(3, len(words))], " "), strings.Join(known, ", "))
	}
	if slices.Contains(rest, "--help") || slices.Contains(rest, "-h") {
		return p.peerHelp(of)
	}
	if slices.Contains(rest, "--keep-text") {
		return usage("--keep-text: a run keeps no prompts and no texts, so they stay empty in the files of %s: leave it out", of.Name)
	}
	if at := slices.Index(rest, "--strict"); at >= 0 { // ours: no peer has it
		rest = slices.Delete(rest, at, at+1)
		asked := p.lookupEnv
		p.lookupEnv = func(name string) (string, bool) {
			if name == "REDLINE_STRICT" {
				return "true", true
			}
			return asked(name)
		}
	}
	values, err := of.Parse(rest)
	if err != nil {
		return usage("%v", err)
	}
	values.Env, values.Read = p.lookupEnv, os.ReadFile
	plans, err := of.Ask(values)
	if err != nil {
		return usage("%v", err)
	}
	strict := false
	for _, plan := range plans { // a mistake in the last shows before the first is run
		cfg, err := p.peerPlan(plan)
		if err != nil {
			return err
		}
		strict = cfg.Strict
	}
	for _, f := range values.Files {
		if err := f.Check(); err != nil {
			return usage("%s: %v: its results cannot be written there; nothing was sent", of.Commands[0], err)
		}
	}
	for _, line := range values.Idle() {
		fmt.Fprintln(p.stderr, "redline:", line)
	}
	if err = p.peerRuns(ctx, of, values, plans); strict {
		return err
	}
	return asPeersEnd(err)
}

// asPeersEnd is how peers end: with success once something was measured, whatever it
// means for an objective.
func asPeersEnd(err error) error {
	var c *exitCodeError
	if errors.As(err, &c) && c.err == nil && slices.Contains([]int{exitInvalid, exitMissed, exitUndecided}, c.code) {
		return nil
	}
	return err
}

// peerRuns runs the plans one after another and shows what the peer would have.
func (p *process) peerRuns(ctx context.Context, of *peer.Peer, values *peer.Values, plans []peer.Plan) error {
	var runs []*peer.Run
	var ended []peerEnd
	var end error
	code, decisive, several := exitOK, 0, len(plans) > 1
	for i := 0; i < len(plans); i++ {
		one, run, err := p.peerRun(ctx, plans[i], several, i)
		if run != nil {
			runs = append(runs, run)
		}
		if one.res == nil {
			return err
		}
		ended = append(ended, one)
		if err = exitErrorFor(one.res, err); err != nil {
			next, _ := exitCode(err)
			if code = worse(code, next); code == next {
				end, decisive = err, i
			}
		}
		if one.res.Interrupted == result.ByUser {
			break
		}
		if i == len(plans)-1 && of.Next != nil {
			plans = append(plans, of.Next(values, runs)...)
		}
	}
	if end == nil {
		decisive = len(ended) - 1
	}
	if err := p.showPeerRun(ended[decisive], ended); err != nil {
		return cmp.Or(end, err)
	}
	if len(runs) == 0 {
		return end
	}
	fmt.Fprintf(p.stdout, "\n%s", of.Close(values, runs))
	files, err := of.Files(values, runs)
	if err != nil {
		return usage("%v", err)
	}
	for _, f := range files {
		if err := f.Write(); err != nil {
			return errors.Join(end, err)
		}
		fmt.Fprintln(p.stderr, "redline: wrote", p.line(filepath.ToSlash(f.Path)))
	}
	return end
}

// peerEnd is a run that has ended, with the command that says the same.
type peerEnd struct {
	res          *result.Result
	path, native string
	notes        []string
}

// peerRun runs one plan.
func (p *process) peerRun(ctx context.Context, plan peer.Plan, several bool, number int) (peerEnd, *peer.Run, error) {
	var none peerEnd
	cfg, err := p.peerPlan(plan)
	if err != nil {
		return none, nil, err
	}
	if several && cfg.Output.Dir != "" {
		cfg.Output.Dir = filepath.Join(cfg.Output.Dir, fmt.Sprint(number))
	}
	for _, url := range plan.Before {
		if err := post(ctx, url, cfg.Provider.Headers["Authorization"]); err != nil {
			return none, nil, usage("%s", p.line(fmt.Sprintf("%s: %v; leave out the flag that asks for it", url, err)))
		}
	}
	if err := p.peerWarmup(ctx, plan); err != nil {
		return none, nil, err
	}
	res, path, err := p.perform(ctx, cfg, resumption{})
	if res == nil {
		return none, nil, err
	}
	end := peerEnd{res: res, path: path, native: plan.Native(filepath.ToSlash(filepath.Join(path, "plan.yaml"))), notes: plan.Notes}
	if cfg.Strict {
		end.native += " --strict"
	}
	if len(res.Points) == 0 {
		return end, nil, err
	}
	runs, unread := gather.Requests(path)
	if unread != nil {
		return end, nil, cmp.Or(err, unread)
	}
	return end, &peer.Run{Run: runs[0], Plan: plan}, err
}

// showPeerRun shows redline's verdict on a run, the one that decides of several,
// and the command that says the same.
func (p *process) showPeerRun(one peerEnd, all []peerEnd) error {
	d := report.Whole(one.res)
	d.Sections = nil
	if err := document.Terminal(p.stdout, d, p.screen(false)); err != nil {
		return err
	}
	if held := report.MachineText(one.res); held != "" {
		fmt.Fprintln(p.stderr, "redline: machine:", p.line(document.PlainSpaces(held)))
	}
	for _, c := range report.FailedChecks(one.res) {
		fmt.Fprintln(p.stderr, "redline:", p.line(document.PlainSpaces(c.Name+": "+report.CheckText(c))))
	}
	fmt.Fprintf(p.stdout, "same as     %s\n", p.line(one.native))
	for _, note := range one.notes {
		fmt.Fprintf(p.stdout, "differs     %s\n", p.line(note))
	}
	fmt.Fprintf(p.stdout, "report      redline report %s\n", text.Shell(filepath.ToSlash(one.path)))
	if n := len(all); n > 1 {
		fmt.Fprintf(p.stdout, "runs        %d, from %s to %s: redline report shows each\n", n, p.line(filepath.ToSlash(all[0].path)), p.line(filepath.ToSlash(all[n-1].path)))
	}
	return nil
}

// peerWarmup sends the requests before a load. Nothing is left of them: a server that
// answers none shows in the load itself.
func (p *process) peerWarmup(ctx context.Context, plan peer.Plan) error {
	if plan.Warmups == 0 {
		return nil
	}
	cfg, err := p.peerPlan(plan.Warmup())
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redline-warmup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintln(p.stderr, "redline: warm-up:", text.Plural(plan.Warmups, "request"))
	cfg.Output.Dir, cfg.Output.Quiet = filepath.Join(dir, "run"), true
	res, _, err := p.perform(ctx, cfg, resumption{})
	if res == nil {
		return err
	}
	return nil
}

// post asks a page of the server by POST, and wants no answer but its success.
func post(ctx context.Context, url, authorization string) error {
	ctx, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	if authorization != "" {
		ask.Header.Set("Authorization", authorization)
	}
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return err
	}
	_ = answer.Body.Close()
	if answer.StatusCode >= 300 {
		return fmt.Errorf("the server says %s", answer.Status)
	}
	return nil
}

// peerPlan resolves what a peer asked for.
func (p *process) peerPlan(plan peer.Plan) (*config.Config, error) {
	in := config.Input{Command: "run", Flags: plan.Flags(), LookupEnv: p.lookupEnv}
	if plan.Workload != "" {
		file, err := os.CreateTemp("", "redline-*.yaml")
		if err != nil {
			return nil, err
		}
		defer os.Remove(file.Name())
		_, err = file.WriteString("workload:\n" + plan.Workload)
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
		in.PlanPath = file.Name()
	}
	return p.resolve(in)
}

// peerHelp lists a peer's flags and what becomes of each.
func (p *process) peerHelp(of *peer.Peer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Run a command of %s (flags as of %s) with redline. The report and the records\nare kept in a run directory; REDLINE_OUT and REDLINE_QUIET work as ever.\n\nExit code: 0 measured, whatever the verdict, 1 no request succeeded, 2 usage,\n130 interrupted. --strict judges as redline run --strict does, and ends with its\nexit code.\n\nUsage:\n", of.Name, of.Version)
	for _, command := range of.Commands {
		fmt.Fprintf(&b, "  redline %s [flags]\n", command)
	}
	b.WriteString("\nFlags:\n")
	for _, f := range of.Flags {
		says := "is --" + f.Ours + " here"
		switch {
		case f.Cannot != "":
			says = "is refused: " + f.Cannot
		case f.Idle != "":
			says = "changes nothing: " + f.Idle
		case f.Ours == "":
			says = "as there"
		}
		if f.Default != "" {
			says += " (default: " + f.Default + ")"
		}
		b.WriteString(p.inColumns("--"+f.Names[0], says))
	}
	_, err := p.stdout.Write([]byte(b.String()))
	return err
}

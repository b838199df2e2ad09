package experiment

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"redline/internal/answer/matrix"
	"redline/internal/answer/protocol"
	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/run/measure"
	"redline/internal/store"
	"redline/internal/text"
)

// benchVariants goes through the protocol once for each variant, each in a
// directory of its own below the whole's.
func benchVariants(ctx context.Context, o Options) (*result.Result, string, error) {
	x := &conductor{Options: o, kind: "bench"}
	if err := x.beginVariants(ctx); err != nil {
		return nil, "", err
	}
	p := &result.Protocol{}
	for i, v := range o.Config.Experiment.Variants {
		res, err := x.variant(ctx, i)
		if res != nil {
			x.addVariant(i, v.Name, res, p)
			err = errors.Join(err, x.spend(filepath.Join(x.dir.Path, variantDir(i, v.Name)), o.Config, res))
		}
		switch {
		case err != nil && x.res == nil:
			return x.stoppedVariants(fmt.Errorf("%s: %w", v.Name, err), "")
		case err != nil && !errors.Is(err, context.Canceled):
			return x.res, x.dir.Path, errors.Join(fmt.Errorf("%s: %w", v.Name, err), x.keep(result.Killed))
		case err != nil || res.Interrupted == result.ByUser:
			return x.stoppedVariants(err, result.ByUser)
		case res.Interrupted != "":
			return x.stoppedVariants(err, res.Interrupted)
		}
		if err := x.keep(result.Killed); err != nil {
			return x.res, x.dir.Path, err
		}
	}
	p.Fields = protocol.Fields(o.Config, x.res)
	return x.res, x.dir.Path, x.keep("")
}

// beginVariants makes or opens the directory of the whole. One that is to be
// replaced stays as it is until the first variant has answered.
func (x *conductor) beginVariants(ctx context.Context) error {
	if err := x.checkDir(); err != nil {
		return err
	}
	if x.Resume == "" && x.Config.Output.Force {
		first, err := x.Config.Variant(0)
		if err != nil {
			return err
		}
		o := x.Options.Options
		o.Config = first
		target, err := measure.Open(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", x.Config.Experiment.Variants[0].Name, err)
		}
		target.Close()
	}
	return x.settle(nil)
}

// stoppedVariants ends a protocol that was interrupted within a variant.
func (x *conductor) stoppedVariants(err error, why string) (*result.Result, string, error) {
	if x.res == nil {
		if x.Resume == "" {
			x.dir.Discard()
		}
		return nil, "", err
	}
	x.res.Interrupted = why
	return x.res, x.dir.Path, x.keep(why)
}

// variantDir is where a variant's protocol is kept, relative to the whole's
// directory: it is a stage that has stages of its own.
func variantDir(i int, name string) string {
	return fmt.Sprintf("%s/%02d-%s", store.StagesDir, i+1, fileName(name))
}

// variant runs one of them, or resumes it.
func (x *conductor) variant(ctx context.Context, i int) (*result.Result, error) {
	c, err := x.Config.Variant(i)
	if err != nil {
		return nil, err
	}
	o := x.Options
	name := x.Config.Experiment.Variants[i].Name
	c.Output.Dir = filepath.Join(x.dir.Path, filepath.FromSlash(variantDir(i, name)))
	o.Config, o.Resume, o.Used = c, "", x.used
	c.Output.Force = true
	if res, same := x.keptVariant(c); same {
		if res != nil && res.Interrupted == "" {
			return res, nil
		}
		o.Resume = c.Output.Dir
	}
	o.say("variant %s", name)
	res, _, err := Bench(ctx, o)
	return res, err
}

// keptVariant is what an earlier attempt left of a variant, nil where it had no
// result yet; same is false where there is nothing that the same plan made.
func (x *conductor) keptVariant(c *config.Config) (res *result.Result, same bool) {
	if x.Resume == "" {
		return nil, false
	}
	dir, err := store.Open(c.Output.Dir)
	if err != nil {
		return nil, false
	}
	settled := *c
	if res, err = dir.Result(); err != nil {
		res = nil
	}
	if was, err := config.Reopen(dir.PlanPath()); err == nil && !c.Embedded() && c.Provider.Model == "" {
		settled.Provider.Model = was.Provider.Model
	}
	same, err = samePlan(dir, &settled)
	return res, same && err == nil
}

// addVariant takes the answers of a variant into the whole: its point at the
// limit, and a line of its own.
func (x *conductor) addVariant(i int, name string, res *result.Result, p *result.Protocol) {
	if x.res == nil {
		x.res = x.blank(res)
		x.res.Limit, x.res.Curve, x.res.Sustained, x.res.Checklist = nil, nil, nil, nil
		x.res.Verdict.SLO = res.Verdict.SLO
	}
	x.bill(res)
	dir := variantDir(i, name)
	line := result.Variant{Name: name, Dir: dir, Model: res.Model.Name, Engine: res.Engine.Name, Limit: res.Limit,
		Valid: res.Verdict.Valid, SLO: res.Verdict.SLO}
	entry := result.Stage{Name: name, Dir: dir, Purpose: "variant", Outcome: protocol.LimitWords(res.Limit),
		Expectation: strings.Join(x.Config.Experiment.Accept, "; ")}
	if res.Protocol != nil {
		line.Acceptance, p.Scale, p.Preflight = res.Protocol.Acceptance, res.Protocol.Scale, res.Protocol.Preflight
		entry.Agrees = matrix.Agrees(line.Acceptance.Standing)
	}
	if res.Sustained != nil && *res.Sustained < len(res.Points) {
		point := res.Points[*res.Sustained]
		point.Name = name
		x.res.Points = append(x.res.Points, point)
		entry.Point = new(len(x.res.Points) - 1)
	}
	x.res.Stages = append(x.res.Stages, entry)
	x.adopt(name, res)
	x.res.Verdict.SLO = slo.First(res.Verdict.SLO, []slo.Standing{x.res.Verdict.SLO, res.Verdict.SLO}, slo.Missed, slo.Undecided)
	p.Variants = append(p.Variants, line)
	standings := text.Each(p.Variants, func(v result.Variant) slo.Standing { return v.Acceptance.Standing })
	p.Acceptance = result.Acceptance{Standing: protocol.Acceptance(standings)}
	x.res.Protocol = p
}

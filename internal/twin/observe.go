package twin

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"

	"redline/internal/catalog"
	"redline/internal/judge/result"
	"redline/internal/observe/engine"
	"redline/internal/store"
	"redline/internal/text"
	"redline/internal/twin/replay"
)

// Level is one load and what was measured under it.
type Level struct {
	// Name says which load: "4 requests/s", "16 in flight".
	Name string
	// Load orders levels: requests per second offered.
	Load float64
	// Asked is the level as a sweep takes it: requests, or jobs, per second, or how
	// many in flight; 0 where no such number was.
	Asked float64
	// tierShare is the share of prompt tokens that came from a tier behind the device.
	tierShare float64
	// Invalid says that the run found itself unsound, Overloaded that its queue
	// grew to the end.
	Invalid, Overloaded bool
	replay.Recording
}

// Evidence is everything measured of one server.
type Evidence struct {
	From   []string // directories
	Model  string
	Engine string
	Server string // its URL
	// Embedded says that the server was redline's own engine.
	Embedded bool
	Levels   []Level
	// Limit is the highest rate that kept the objectives, where a search found
	// it.
	Limit      *result.Limit
	Objectives []string
	// Blocks is the room for keys and values in blocks of 16 tokens, where the
	// server tells; 0 otherwise.
	Blocks  int
	MaxLen  int
	Skipped []string // stages that tell nothing, and why
	// specLength is the tokens that a step with a draft brought, 0 where none was
	// drafted or counted, and countsDrafts whether the engine would say so.
	specLength   float64
	countsDrafts bool
	// specByPlace is the share of drafts whose first, second, third … guess was right.
	specByPlace []float64
	// adapterSlots is how many adapters a batch can have, 0 where the server does not
	// say, and grammars those that the runs so far had compiled.
	adapterSlots int
	grammars     map[string]bool
	// runs are those that were read.
	runs []string
	// engines is how many served the runs, as far as they tell.
	engines int
	// deployed is the model and the hardware, where the runs tell.
	deployed *catalog.Deployment
}

// Observe reads run directories, and those of sweeps and other experiments.
func Observe(paths ...string) (*Evidence, error) {
	ev := &Evidence{}
	for _, path := range paths {
		dir, err := store.Open(path)
		if err != nil {
			return nil, err
		}
		ev.From = append(ev.From, path)
		if err := ev.directory(dir); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(ev.Levels, byLoad)
	if len(ev.Levels) == 0 {
		return nil, fmt.Errorf("%s: no answer with its token times to fit to; measure with streaming on: redline sweep --url URL --rates 1,2,4,8", paths[0])
	}
	return ev, nil
}

// byLoad orders levels: open loops by their rate, then closed ones by their
// size, since a full server answers all of these at about one rate.
func byLoad(a, b Level) int {
	switch {
	case a.Closed && b.Closed:
		return cmp.Compare(a.Cap, b.Cap)
	case a.Closed:
		return 1
	case b.Closed:
		return -1
	}
	return cmp.Compare(a.Load, b.Load)
}

func (ev *Evidence) directory(dir *store.Dir) error {
	if !dir.IsExperiment() {
		return ev.run(dir)
	}
	if kind, err := dir.Kind(); err != nil {
		return err
	} else if kind == "compare" {
		return fmt.Errorf("%s holds two servers; give the stages of one of them: %s/%s/*", dir.Path, dir.Path, store.StagesDir)
	}
	if res, err := dir.Result(); err == nil {
		if res.Limit != nil && res.Limit.Standing == result.LimitFound {
			ev.Limit = res.Limit
		}
		ev.objectives(res)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range dir.Stages() {
		stage, err := store.Open(path)
		if err != nil {
			ev.Skipped = append(ev.Skipped, path+": "+err.Error())
			continue
		}
		if err := ev.run(stage); err != nil {
			return err
		}
	}
	return nil
}

// objectives keeps the objectives that a result judged.
func (ev *Evidence) objectives(res *result.Result) {
	for _, p := range res.Points {
		for _, v := range p.Objectives {
			if !slices.Contains(ev.Objectives, v.Objective) {
				ev.Objectives = append(ev.Objectives, v.Objective)
			}
		}
	}
}

// run adds one run as a level.
func (ev *Evidence) run(dir *store.Dir) error {
	res, err := dir.Result()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		ev.Skipped = append(ev.Skipped, dir.Path+": cut short before it had a result")
		return nil
	case err != nil:
		return err
	case len(res.Points) == 0:
		ev.Skipped = append(ev.Skipped, dir.Path+": nothing was measured")
		return nil
	case res.ID != "" && slices.Contains(ev.runs, res.ID):
		ev.Skipped = append(ev.Skipped, dir.Path+": given twice")
		return nil
	}
	ev.runs = append(ev.runs, res.ID)
	if err := ev.same(res); err != nil {
		return fmt.Errorf("%s: %w", dir.Path, err)
	}
	ev.objectives(res)
	point := res.Points[0]
	ev.noteServerLimits(res, point)
	ev.deploys(point.Prediction, res)
	ev.engines = max(ev.engines, point.Engines())
	level := levelOf(point, res)
	if s := point.Server; s != nil && s.TierHits != nil && s.PrefixQueries != nil {
		level.tierShare = *s.TierHits / max(1, *s.PrefixQueries)
	}
	if err := requests(dir, &level.Recording); err != nil {
		return err
	}
	ev.forgetKnownGrammars(&level.Recording)
	if !slices.ContainsFunc(level.Requests, func(o replay.ObservedRequest) bool { return o.Counted && o.TPOT > 0 }) {
		ev.Skipped = append(ev.Skipped, dir.Path+": no streamed answer in its window")
		return nil
	}
	ev.Levels = append(ev.Levels, level)
	return nil
}

// same refuses runs of different servers.
func (ev *Evidence) same(res *result.Result) error {
	for _, f := range []struct {
		what      string
		seen, now *string
	}{
		{"model", &ev.Model, &res.Model.Name}, {"engine", &ev.Engine, &res.Engine.Name}, {"server", &ev.Server, &res.Engine.URL},
	} {
		if *f.seen != "" && *f.now != "" && *f.seen != *f.now && !(f.what == "server" && res.Engine.Embedded) {
			return fmt.Errorf("its %s is %s, that of the runs before %s: a twin is of one server", f.what, *f.now, *f.seen)
		}
		*f.seen = cmp.Or(*f.seen, *f.now)
	}
	ev.Embedded = res.Engine.Embedded
	return nil
}

// noteServerLimits keeps what the server says of its own limits.
func (ev *Evidence) noteServerLimits(res *result.Result, p result.Point) {
	ev.MaxLen = max(ev.MaxLen, res.Model.MaxLen)
	if p.Server == nil {
		return
	}
	ev.countsDrafts = engine.ByName(p.Server.Engine).CountsDrafts
	if n := p.Server.SpecLength; n != nil {
		ev.specLength, ev.specByPlace = max(ev.specLength, *n), p.Server.SpecByPlace
	}
	ev.adapterSlots, _ = strconv.Atoi(p.Server.Config[engine.SlotsSetting]) // 0 where it is no number
	blocks, err1 := strconv.Atoi(p.Server.Config["num_gpu_blocks"])
	size, err2 := strconv.Atoi(cmp.Or(p.Server.Config["block_size"], "16"))
	if err1 == nil && err2 == nil && blocks > 0 && size > 0 {
		ev.Blocks = blocks * size / replay.BlockSize
	}
}

func levelOf(p result.Point, res *result.Result) Level {
	l := Level{Load: p.Rates.Sent, Asked: p.Load.Amount(), Invalid: res.Verdict.Valid == result.Invalid,
		Overloaded: isOverloaded(p), Recording: replay.Record(p.Load)}
	switch {
	case l.Closed:
		l.Name = p.Load.CapName()
	case p.Load.Rate != nil:
		l.Name = text.Number(*p.Load.Rate) + "/s"
	default:
		l.Name = text.Number(p.Rates.Offered) + "/s"
	}
	return l
}

// requests reads a run's log, warm-up and cool-down too: they are what the
// measured requests met in the server.
func requests(dir *store.Dir, into *replay.Recording) error {
	for r, err := range dir.Records() {
		if err != nil {
			return err
		}
		into.Add(r)
	}
	into.Order()
	return nil
}

// isOverloaded reports whether more came than went: where the window is too short
// to exclude chance, if a quarter of what came was still there at its end.
func isOverloaded(p result.Point) bool {
	w := p.Window
	if w.Overload != nil {
		return *w.Overload
	}
	return w.Growth != nil && *w.Growth >= float64(p.Requests.Due)/4
}

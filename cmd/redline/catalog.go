package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/catalog"
	"redline/internal/show/listing"
)

const catalogHelp = `List known models and accelerators, show one, or compute what a pair can do:
whether the model fits, how many requests fill the KV cache, and the decode and
prefill times that the hardware allows.

A model that is not listed is read from its published config.json; anything else
comes from your own catalog file (--catalog).`

const catalogExamples = `  redline catalog
  redline catalog llama-3.1-70b
  redline catalog llama-3.1-70b --gpu H100 --tp 4 --prompt 1000 --output 300 --concurrency 32
  redline catalog ./Qwen3-14B/config.json --gpu L40S --precision fp8
  redline catalog --catalog mine.yaml my-model --gpu my-gpu --json`

// pairFlags are what a pair is computed for.
type pairFlags struct {
	files                   []string
	gpu, precision, kv      string
	tp                      int
	prompt, output, atATime float64
	asJSON                  bool
}

func (p *process) catalogCommand() *cobra.Command {
	var f pairFlags
	c := &cobra.Command{Use: "catalog [MODEL|ACCELERATOR|config.json]", Short: "list models and accelerators; compute what a pair can do",
		Long: catalogHelp, Example: catalogExamples, Args: oneEntry}
	flags := c.Flags()
	flags.StringArrayVar(&f.files, "catalog", nil, "file of further models and accelerators, or a model's config.json; repeatable")
	flags.StringVar(&f.gpu, "gpu", "", "accelerator to compute for")
	flags.IntVar(&f.tp, "tp", 1, "accelerators that share the model (tensor parallel)")
	flags.Float64Var(&f.prompt, "prompt", 1000, "tokens of a prompt")
	flags.Float64Var(&f.output, "output", 300, "tokens of a reply")
	flags.Float64Var(&f.atATime, "concurrency", 1, "requests at a time")
	flags.StringVar(&f.precision, "precision", "", "how the weights are stored (default: as the name says, as in Qwen3-32B-FP8, else as the model is shipped)")
	flags.StringVar(&f.kv, "kv-precision", "", "how the KV cache is stored (default: bf16)")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON and nothing else")
	c.RunE = func(c *cobra.Command, args []string) error {
		known, err := catalog.Open(f.files...)
		if err != nil {
			return usage("--catalog: %v", err)
		}
		if idle := f.idle(flags); f.gpu == "" && idle != "" {
			return usage("--%s: is about a pair: name the accelerator too, such as --gpu H100", idle)
		}
		if len(args) == 0 {
			if f.gpu != "" {
				return usage("--gpu: name the model too, such as: redline catalog llama-3.1-8b --gpu %s", f.gpu)
			}
			return p.answer(f.asJSON, map[string]any{"models": known.Models(), "accelerators": known.Accelerators()}, listing.Catalog(known))
		}
		return p.showEntry(known, args[0], f)
	}
	return c
}

// oneEntry refuses a second name: a pair is a model and --gpu.
func oneEntry(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usage("expected one name, got %d; a pair is: redline catalog %s --gpu %s", len(args), args[0], args[1])
	}
	return nil
}

// idle names the first flag that means nothing without an accelerator.
func (f pairFlags) idle(flags *pflag.FlagSet) string {
	for _, name := range []string{"tp", "prompt", "output", "concurrency", "precision", "kv-precision"} {
		if flags.Changed(name) {
			return name
		}
	}
	return ""
}

// showEntry shows a model, a pair, or an accelerator.
func (p *process) showEntry(known *catalog.Catalog, name string, f pairFlags) error {
	model, err := findModel(known, name)
	if err != nil {
		switch a, missing := known.Accelerator(name); {
		case missing != nil:
		case f.gpu != "":
			return usage("%s is an accelerator: name the model in its place, such as: redline catalog llama-3.1-8b --gpu %s", name, f.gpu)
		default:
			return p.answer(f.asJSON, a, listing.Accelerator(a))
		}
	}
	switch {
	case err != nil:
		return usage("%v", err)
	case f.gpu != "":
		return p.showPair(known, model, f)
	}
	return p.answer(f.asJSON, model, listing.Model(model))
}

// findModel looks a model up by name, or reads its config.json where the name
// is the path of one.
func findModel(known *catalog.Catalog, name string) (catalog.Model, error) {
	m, err := known.Model(name)
	path := filepath.Base(name) == "config.json" || strings.HasSuffix(name, ".json")
	if _, missing := os.Stat(name); err == nil && !path || missing != nil && !path {
		return m, err
	}
	opened, err := catalog.Open(name)
	if err != nil {
		return catalog.Model{}, err
	}
	m, ok := opened.GivenModel()
	if !ok {
		return catalog.Model{}, usage("%s: is a catalog, expected the config.json of a model; name it with --catalog", name)
	}
	return m, nil
}

func (p *process) showPair(known *catalog.Catalog, model catalog.Model, f pairFlags) error {
	accelerator, err := known.Accelerator(f.gpu)
	if err != nil {
		return usage("--gpu: %v", err)
	}
	d, err := f.deployment(model, accelerator)
	if err != nil {
		return err
	}
	sheet := d.Sheet(catalog.Traffic{Prompt: f.prompt, Output: f.output, Concurrency: f.atATime})
	return p.answer(f.asJSON, sheet, listing.Deployment(sheet))
}

func (f pairFlags) deployment(m catalog.Model, a catalog.Accelerator) (catalog.Deployment, error) {
	d := catalog.Deploy(m, a, f.tp)
	for _, n := range []struct {
		flag  string
		value float64
	}{{"prompt", f.prompt}, {"output", f.output}, {"concurrency", f.atATime}, {"tp", float64(f.tp)}} {
		if !(n.value >= 1 && n.value <= 1e8) {
			return d, usage("--%s: expected a number from 1 to 100,000,000, got %g", n.flag, n.value)
		}
	}
	for _, o := range []struct {
		flag, value string
		into        *catalog.Precision
	}{{"precision", f.precision, &d.Weights}, {"kv-precision", f.kv, &d.KV}} {
		if o.value == "" {
			continue
		}
		precision, err := catalog.ParsePrecision(o.value)
		if err != nil {
			return d, usage("--%s: %v", o.flag, err)
		}
		*o.into = precision
	}
	if err := d.Check(); err != nil {
		return d, usage("--tp: %v", err)
	}
	return d, nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/lock"
	"redline/internal/show/document"
	"redline/internal/show/listing"
	"redline/internal/text"
	"redline/internal/twin"
)

const calibrateHelp = `Fit the simulated engine to measured runs, so that it can replace the server in
redline sim, redline run and redline capacity --simulate.

RUN is the directory of a run or, better, of a sweep; several are combined. The
engine's constants are fitted by simulation in virtual time, from the records
alone: model and accelerator need not be known. With three levels or more, every
other level is held out and predicted from the rest.

Exit code: 0 the twin is within the goals (median error over levels at most 10%
for tpot and e2e, 20% for ttft), 6 it is not, 1 nothing to fit.`

const calibrateExamples = `  redline sweep --url http://localhost:8000 --rates 1,2,4,8,16 --out runs/sweep
  redline calibrate runs/sweep -o engine.yaml
  redline sim --engine engine.yaml
  redline run --engine engine.yaml --rate 12 --slo 'ttft:p99<500ms'`

func (p *process) calibrateCommand() *cobra.Command {
	var out string
	var asJSON bool
	c := &cobra.Command{
		Use: "calibrate RUN...", Short: "fit the simulated engine to measured runs", Long: calibrateHelp, Example: calibrateExamples,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("calibrate needs the directory of a sweep or a run, such as: redline calibrate runs/sweep -o engine.yaml")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			release, err := p.reserve(out)
			if err != nil {
				return err
			}
			defer release()
			ev, err := twin.Observe(args...)
			if err != nil {
				return err
			}
			fitted, err := p.calibrate(c.Context(), ev)
			if err != nil {
				return err
			}
			if err := keepEngine(fitted, out); err != nil {
				return err
			}
			return p.showTwin(fitted, out, asJSON)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "file to write the engine to")
	c.Flags().BoolVar(&asJSON, "json", false, "print the calibration as JSON and nothing else")
	return c
}

// calibrate fits until it is done or interrupted.
func (p *process) calibrate(ctx context.Context, ev *twin.Evidence) (*twin.Calibration, error) {
	ctx, cancel := p.stoppable(ctx)
	defer cancel()
	fitted, err := twin.Calibrate(ctx, ev)
	if errors.Is(err, context.Canceled) {
		err = &exitCodeError{exitInterrupted, errors.New("interrupted before an engine was fitted")}
	}
	return fitted, err
}

// reserve makes sure that no other process fits an engine into the same file.
func (p *process) reserve(path string) (release func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	l, err := lock.Take(path+".lock", "redline calibrate")
	var held *lock.HeldError
	switch {
	case errors.As(err, &held):
		return nil, fmt.Errorf("%s is being written by %s: wait for it, stop it, or choose another file with -o", path, held.By)
	case errors.Is(err, errors.ErrUnsupported):
		fmt.Fprintf(p.stderr, "redline: %v; make sure that no other redline writes %s\n", err, path)
		return func() {}, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("-o %s: there is no directory %s: make it first", path, filepath.Dir(path))
	case err != nil:
		return nil, err
	}
	return func() { _ = l.Release() }, nil // what is left of it is an unlocked file
}

// keepEngine writes the engine's file, where one is asked for.
func keepEngine(c *twin.Calibration, path string) error {
	if path == "" {
		return nil
	}
	var table, file bytes.Buffer
	if err := document.Terminal(&table, listing.Calibration(c), document.TerminalOptions{}); err != nil {
		return err
	}
	if err := c.WriteEngine(&file, version, time.Now(), table.String()); err != nil {
		return err
	}
	return os.WriteFile(path, file.Bytes(), 0o644)
}

// showTwin prints what came of a calibration.
func (p *process) showTwin(c *twin.Calibration, path string, asJSON bool) error {
	if err := p.answer(asJSON, c, listing.Calibration(c)); err != nil {
		return err
	}
	if !asJSON {
		next := "\nKeep it: add -o engine.yaml\n"
		if path != "" {
			next = fmt.Sprintf("\nKept in %s\nServe it: redline sim --engine %s\n", p.line(path), text.Shell(path))
		}
		if _, err := fmt.Fprint(p.stdout, next); err != nil {
			return err
		}
	}
	if !c.Good {
		return &exitCodeError{code: exitUndecided}
	}
	return nil
}

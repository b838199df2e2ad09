package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"redline/internal/judge/result"
	"redline/internal/judge/slo"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// The exit codes, which are a contract.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitMissed      = 3
	exitRegression  = 4
	exitInvalid     = 5
	exitUndecided   = 6
	exitInterrupted = 130
)

// endings are what --fail-on calls them.
var endings = map[int]string{exitError: "error", exitUsage: "error", exitMissed: "missed", exitRegression: "worse", exitInvalid: "invalid", exitUndecided: "undecided"}

// precedence is which code stands for several, the first before all others.
var precedence = []int{exitInterrupted, exitError, exitUsage, exitInvalid, exitRegression, exitMissed, exitUndecided, exitOK}

func worse(a, b int) int {
	if slices.Index(precedence, a) < slices.Index(precedence, b) {
		return a
	}
	return b
}

// exitCodeError is an error that says how the process ends. A nil err ends it in
// silence: everything was said.
type exitCodeError struct {
	code int
	err  error
}

func (c *exitCodeError) Error() string {
	if c.err == nil {
		return fmt.Sprintf("exit %d", c.code)
	}
	return c.err.Error()
}

func (c *exitCodeError) Unwrap() error { return c.err }

func usage(format string, args ...any) error {
	return &exitCodeError{exitUsage, fmt.Errorf(format, args...)}
}

// exitCode is how the process ends with err, and the line to print before.
func exitCode(err error) (code int, line string) {
	var c *exitCodeError
	var plan *config.Error
	var unknown *workload.UnknownError
	switch {
	case err == nil:
		return exitOK, ""
	case errors.As(err, &c):
		if c.err == nil {
			return c.code, ""
		}
		return c.code, text.Reason(c.err)
	case errors.As(err, &plan), errors.As(err, &unknown):
		return exitUsage, text.Reason(err)
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "interrupted before anything was measured"
	}
	return exitError, text.Reason(err)
}

// resultCode is what a result means for the process: interrupted before
// failed, invalid before missed, missed before undecided.
func resultCode(r *result.Result) int {
	switch {
	case r.Interrupted == result.ByUser:
		return exitInterrupted
	case nothingOK(r):
		return exitError
	case r.Verdict.Valid == result.Invalid:
		return exitInvalid
	case r.Tuning == nil && hasRegressed(r.Comparison): // what a winner is worse in is its price
		return exitRegression
	}
	switch r.Outcome() {
	case slo.Missed:
		return exitMissed
	case slo.Undecided:
		return exitUndecided
	}
	return exitOK
}

// hasRegressed reports whether B is worse than A in any metric.
func hasRegressed(c *result.Comparison) bool {
	return c != nil && slices.ContainsFunc(c.Metrics, func(m result.Change) bool { return m.Standing == slo.Worse })
}

// nothingOK reports whether not one request succeeded, or nothing was measured:
// there is no finding then, only a failure, unless objectives were missed because
// the server rejected everything, or failed too often in the warm-up. A result
// without points of its own may still be one of variants that have them.
func nothingOK(r *result.Result) bool {
	if len(r.Points) == 0 {
		return r.Verdict.SLO != slo.Missed && (r.Protocol == nil || len(r.Protocol.Variants) == 0)
	}
	return !r.HasServed()
}

// exitErrorFor is how the process ends with a result, and with what went wrong while
// it was kept or shown.
func exitErrorFor(r *result.Result, err error) error {
	code := resultCode(r)
	switch {
	case err != nil && code != exitInterrupted:
		return &exitCodeError{exitError, err}
	case err == nil && code == exitOK:
		return nil
	case err == nil && code == exitError:
		err = errors.New("no request succeeded")
		if r.Tuning != nil && r.Tuning.Stopped != "" {
			err = errors.New(r.Tuning.Stopped)
		}
		if len(r.Points) == 0 && len(r.Verdict.Reasons) > 0 {
			err = errors.New(r.Verdict.Reasons[0])
		}
	}
	return &exitCodeError{code, err}
}

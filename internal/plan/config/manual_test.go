package config

import (
	"flag"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/twin/faults"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the manual")

const (
	manual    = "../../../docs/reference/PLAN.md"
	workloads = "../../../docs/guide/WORKLOADS.md"
	dialects  = "../../../docs/reference/DIALECTS.md"
	tunings   = "../../../docs/guide/EXPERIMENTS.md"
)

// generated are the parts of the manual that come from tables, by the name in
// the lines around them.
var generated = map[string]func() string{"options": optionTable, "faults": faultTable}

// faultTable is the manual's list of ways in which the engine can misbehave.
func faultTable() string {
	var b strings.Builder
	b.WriteString("\n| fault | what the engine does |\n|---|---|\n")
	for _, k := range faults.Kinds {
		name := k.Name
		if k.Usual != 0 {
			name += "(" + k.Usual.String() + ")"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", code(name), cell(k.Help))
	}
	return b.String() + "\n"
}

// optionTable is the manual's list of options, a table for each group.
func optionTable() string {
	var b strings.Builder
	for _, g := range Groups {
		fmt.Fprintf(&b, "\n### %s\n\n| flag | plan key | variable | default | |\n|---|---|---|---|---|\n", g)
		for i := range Options {
			if o := &Options[i]; o.Group == g {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", code(spell(o)), text.Join(", also ", code(o.Key), code(o.Also), code(o.Top())), code(o.Env()), cell(o.Default), cell(o.Help))
			}
		}
	}
	return b.String() + "\n"
}

func spell(o *Option) string {
	s := "--" + o.Flag
	if o.Short != "" {
		s = "-" + o.Short + ", " + s
	}
	if o.Value != "" {
		s += " " + o.Value
	}
	return s
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}

// cell is a text within a row: a bar ends a cell even between backticks.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func readManual(t *testing.T) string { return readPages(t, manual) }

func readPages(t *testing.T, paths ...string) string {
	t.Helper()
	var all []byte
	for _, path := range paths {
		data := must.Read(t, path)
		all = append(all, data...)
	}
	return string(all)
}

func TestManualHoldsTheTables(t *testing.T) {
	text := readManual(t)
	for name, table := range generated {
		begin := "<!-- " + name + ": begin (go test ./internal/plan/config -update) -->\n"
		end := "<!-- " + name + ": end -->\n"
		head, rest, begun := strings.Cut(text, begin)
		listed, tail, ended := strings.Cut(rest, end)
		if !begun || !ended {
			t.Fatalf("%s lacks the lines %q and %q", manual, begin, end)
		}
		if *update {
			text = head + begin + table() + end + tail
			continue
		}
		expect.NoDiff(t, cmp.Diff(table(), listed), "%s is not what the table of %s gives; run go test ./internal/plan/config -update", manual, name)
	}
	if *update {
		must.Write(t, manual, text)
	}
}

func TestManualNamesEveryKey(t *testing.T) {
	t.Parallel()
	text := readPages(t, manual, workloads, dialects, tunings)
	for _, key := range keysOf(reflect.TypeFor[Config](), "") {
		last := key[strings.LastIndexByte(key, '.')+1:]
		if !strings.Contains(text, last) {
			t.Errorf("%s says nothing of %s", manual, key)
		}
	}
}

// Every plan that the manual shows can be run.
func TestManualPlansLoad(t *testing.T) {
	t.Parallel()
	parts := strings.Split(readPages(t, manual, workloads, dialects, tunings), "```yaml\n")
	if len(parts) < 2 {
		t.Fatalf("%s shows no plan", manual)
	}
	for _, part := range parts[1:] {
		plan, _, _ := strings.Cut(part, "```")
		if _, err := Resolve(Input{PlanPath: writePlan(t, plan), LookupEnv: env(map[string]string{"MY_KEY": "k-123456", "TENANT": "t1"})}); err != nil {
			t.Errorf("%v in\n%s", err, plan)
		}
	}
}

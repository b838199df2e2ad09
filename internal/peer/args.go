package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"redline/internal/text"
)

// Values are what a command line says, and the defaults of what it does not.
type Values struct {
	peer  *Peer
	given map[string][]string
	read  map[string]bool // by the code that honors flags
	// Words are arguments that are no flags.
	Words []string
	// Env and Read are the environment and the files that the peer would look at.
	Env  func(string) (string, bool)
	Read func(string) ([]byte, error)
	// Files are what will be written, without its content, once the peer was asked.
	Files []File
	err   error
	// passed are arguments after --, which are for another program.
	passed []string
	part   string // which of several runs, as part of a path
}

// Parse reads the arguments of a peer as the peer itself does: --name value,
// --name=value, underscores for dashes. A flag that the peer does not have is an
// error, and so is one that redline cannot honor.
func (p *Peer) Parse(args []string) (*Values, error) {
	v := &Values{peer: p, given: map[string][]string{}, read: map[string]bool{}}
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if word == "--" && p.PassThrough != "" {
			v.passed = args
			break
		}
		if !isFlag(word) {
			v.Words = append(v.Words, word)
			continue
		}
		name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		f, below := p.under(name)
		if f == nil {
			return nil, p.unknown(name)
		}
		values, rest, err := f.take(name, value, hasValue, args)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.Commands[0], err)
		}
		if err := f.check(name, values); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Commands[0], err)
		}
		if f.Cannot != "" && !off(values) {
			return nil, fmt.Errorf("%s: --%s cannot be honored: %s", p.Commands[0], name, f.Cannot)
		}
		args = rest
		if below != "" {
			values = []string{withKey(v.text(f.Names[0]), below, values)}
		}
		if f.Takes == Each {
			values = append(v.given[f.Names[0]], values...)
		}
		v.given[f.Names[0]] = values
	}
	return v, nil
}

// under finds a flag, or the one whose block a dotted name is a key of.
func (p *Peer) under(name string) (f *Flag, below string) {
	for block := name; block != ""; {
		if f := p.find(block); f != nil {
			return f, strings.TrimPrefix(name[len(block):], ".")
		}
		block = block[:max(0, strings.LastIndexByte(block, '.'))]
	}
	return nil, ""
}

// withKey sets one key of a block that is written as JSON; a dotted one is that of
// a block within.
func withKey(block, key string, values []string) string {
	keys := map[string]any{}
	_ = json.Unmarshal([]byte(block), &keys) // a block that is none yet is empty
	within, path := keys, strings.Split(key, ".")
	for _, name := range path[:len(path)-1] {
		next, is := within[name].(map[string]any)
		if !is {
			next = map[string]any{}
			within[name] = next
		}
		within = next
	}
	within[path[len(path)-1]] = jsonOr(strings.Join(values, " "))
	said, _ := json.Marshal(keys) // numbers, words and what was JSON before
	return string(said)
}

// take collects the values of a flag.
func (f *Flag) take(name, value string, hasValue bool, args []string) (values, rest []string, err error) {
	switch {
	case hasValue:
		return []string{value}, args, nil
	case f.Takes == None:
		return []string{"true"}, args, nil
	case f.Takes == Many:
		n := slices.IndexFunc(args, isFlag)
		if n < 0 {
			n = len(args)
		}
		return args[:n], args[n:], nil
	case len(args) == 0 || isFlag(args[0]):
		return nil, nil, fmt.Errorf("--%s wants a value", name)
	}
	return args[:1], args[1:], nil
}

// check refuses what was given and says nothing, as a shell variable that is not
// set does: to take it for a flag that was left out would send another load. Keys
// of a block are the block's own.
func (f *Flag) check(name string, values []string) error {
	for _, value := range values {
		if strings.TrimSpace(value) == "" {
			return fmt.Errorf("--%s is given and empty: give it a value (is a variable of the shell not set?) or leave it out", name)
		}
		for part := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
			if n, err := strconv.ParseFloat(strings.TrimSpace(part), 64); f.Positive && (err != nil || !(n > 0)) {
				return fmt.Errorf("--%s: expected a number above 0, got %q", name, value)
			}
		}
	}
	return nil
}

// off reports whether a value asks for nothing, so that a flag that cannot be
// honored need not be.
func off(values []string) bool {
	return len(values) == 1 && one(strings.ToLower(values[0]), "0", "0.0", "false", "none", "null", "off", "[]", "{}")
}

// isFlag tells a flag from a value, which may be a negative number.
func isFlag(word string) bool {
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	_, err := strconv.ParseFloat(word, 64)
	return err != nil
}

// env gives a variable, "" where it is not set.
func (v *Values) env(name string) string {
	if v.Env == nil {
		return ""
	}
	value, _ := v.Env(name)
	return value
}

// Idle lists the flags that were given and change nothing, a line for each reason.
func (v *Values) Idle() []string {
	var reasons []string
	names := map[string][]string{}
	for _, f := range v.peer.Flags {
		name, why := f.Names[0], f.Idle
		switch {
		case v.given[name] == nil:
			continue
		case f.Cannot != "":
			why = "off"
		case why == "" && !v.read[name]:
			why = cmp.Or(f.Unused, "nothing else on this command line uses it")
		case why == "":
			continue
		}
		if names[why] == nil {
			reasons = append(reasons, why)
		}
		names[why] = append(names[why], "--"+name)
	}
	if len(v.passed) > 0 {
		names[v.peer.PassThrough] = []string{"-- " + strings.Join(v.passed, " ")}
		reasons = append(reasons, v.peer.PassThrough)
	}
	for i, why := range reasons {
		verb := "changes"
		if len(names[why]) > 1 {
			verb = "change"
		}
		reasons[i] = fmt.Sprintf("%s %s nothing: %s", text.List(names[why]), verb, why)
	}
	return reasons
}

// Given reports whether a flag stands on the command line.
func (v *Values) Given(name string) bool { return v.list(name) != nil }

// on reports whether a switch is on.
func (v *Values) on(name string) bool {
	last := v.text(name)
	return last != "" && !strings.EqualFold(last, "false") && last != "0"
}

// list gives all values of a flag.
func (v *Values) list(name string) []string {
	v.read[name] = true
	return v.given[name]
}

// text gives the value of a flag, or its default.
func (v *Values) text(name string) string {
	if given := v.list(name); len(given) > 0 {
		return given[len(given)-1]
	}
	if f := v.peer.find(name); f != nil {
		return f.Default
	}
	return ""
}

// number gives the value of a flag as a number; "inf" is one, and "" is 0.
func (v *Values) number(name string) float64 {
	said := v.text(name)
	if said == "" || said == "None" {
		return 0
	}
	n, err := strconv.ParseFloat(said, 64)
	if err != nil || math.IsNaN(n) || n < 0 && v.peer.find(name).Ours != "extra-body" {
		v.fail(name, "a number from 0")
		return 0
	}
	return n
}

// above reads a number above 0 that is part of a flag's value.
func (v *Values) above(name, said string) float64 {
	n, err := strconv.ParseFloat(strings.TrimSpace(said), 64)
	if err != nil || !(n > 0) || math.IsInf(n, 1) {
		v.fail(name, "numbers above 0")
		return 1
	}
	return n
}

// count gives the value of a flag as a whole number from 0.
func (v *Values) count(name string) int {
	n := v.number(name)
	if n != math.Trunc(n) || n < 0 || n > 1e9 {
		v.fail(name, "a whole number")
		return 0
	}
	return int(n)
}

// pairs gives values of the form KEY=VALUE, or KEY:VALUE.
func (v *Values) pairs(name, between string) (list [][2]string) {
	for _, item := range v.list(name) {
		key, value, ok := strings.Cut(item, between)
		if !ok {
			v.fail(name, "KEY"+between+"VALUE")
		}
		list = append(list, [2]string{strings.TrimSpace(key), strings.TrimSpace(value)})
	}
	return list
}

// object gives the value of a flag as a JSON object.
func (v *Values) object(name string) map[string]any {
	said := v.text(name)
	if said == "" {
		return nil
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(said), &object); err != nil {
		v.fail(name, "a JSON object")
	}
	return object
}

// strictly reads a flag's JSON into what it may hold, and reports whether it did.
func strictly(said string, into any) bool {
	decoder := json.NewDecoder(strings.NewReader(said))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into) == nil
}

// ratios gives a share for prompts and for replies: one for both, or an object.
func (v *Values) ratios(name string) [2]float64 {
	said := v.text(name)
	var by struct{ Input, Output float64 }
	if !strings.HasPrefix(said, "{") {
		by.Input = v.number(name)
		by.Output = by.Input
	} else if !strictly(said, &by) {
		v.fail(name, `a share, or {"input": 0.1, "output": 0.2}`)
	}
	if min(by.Input, by.Output) < 0 || max(by.Input, by.Output) > 1 {
		v.fail(name, "a share from 0 to 1")
	}
	return [2]float64{by.Input, by.Output}
}

// fail notes the first value that is none. What may hold a key is not shown.
func (v *Values) fail(name, want string) {
	if v.err != nil {
		return
	}
	v.err = fmt.Errorf("%s: --%s: expected %s, got %q", v.peer.Commands[0], name, want, v.text(name))
	if f := v.peer.find(name); f != nil && one(f.Ours, "header", "api-key-env", "extra-body") {
		v.err = fmt.Errorf("%s: --%s: expected %s", v.peer.Commands[0], name, want)
	}
}

// refuse notes a value that redline cannot honor, and the nearest thing.
func (v *Values) refuse(name, cure string) {
	if v.err == nil {
		v.err = fmt.Errorf("%s: --%s %s cannot be honored: %s", v.peer.Commands[0], name, v.text(name), cure)
	}
}

package arrival

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"redline/internal/text"
)

const (
	steady  = "steady"
	hotSpot = "hot-spot"
)

// The named profiles' own numbers.
const (
	burstTimes    = 3.0
	burstLength   = 10 * time.Second
	burstEvery    = time.Minute
	burstMost     = float64(burstEvery / burstLength) // beyond it nothing is left in between
	overloadTimes = 1.5
	overloadMost  = 100
	hotShare      = 0.8
)

// The lengths that a part of a profile may have.
const (
	minLength = time.Millisecond
	maxLength = 365 * 24 * time.Hour
)

// rates says where a profile has its rates from.
type rates uint8

const (
	givenRate  rates = iota // the Spec's Rate
	givenLimit              // the Spec's Limit
	ownRates                // the profile's text
)

// shape is one kind of profile.
type shape struct {
	name  string
	form  string // how it is written
	rates rates
	// bare says that it can do without arguments.
	bare bool
	// read takes the arguments and, where it has no rates of its own, the one
	// that it goes by. Its error says what is wrong with the arguments.
	read func(args []string, rate float64) (profile, error)
}

// shapes is every kind of profile there is. The first is the default.
var shapes = []shape{
	{name: steady, form: steady, bare: true, read: readSteady},
	{name: "burst", form: "burst", bare: true, read: readBurst},
	{name: "overload", form: "overload", bare: true, rates: givenLimit, read: readOverload},
	{name: hotSpot, form: hotSpot, bare: true, read: readHotSpot},
	{name: "steps", form: "steps(10:1m,20:1m)", rates: ownRates, read: readSteps},
	{name: "ramp", form: "ramp(1..50,5m)", rates: ownRates, read: readRamp},
	{name: "onoff", form: "onoff(50:10s,5:20s)", rates: ownRates, read: readOnOff},
	{name: "diurnal", form: "diurnal(5..20,24h)", rates: ownRates, read: readDiurnal},
}

// profile reads the Spec's profile with the rate that it goes by.
func (s Spec) profile() (profile, error) {
	shape, args, err := readShape(s.Profile)
	if err != nil {
		return profile{}, err
	}
	rate := s.Rate
	switch shape.rates {
	case givenRate:
		err = checkRate("rate", rate)
	case givenLimit:
		rate, err = s.Limit, checkRate("limit", s.Limit)
		if s.Limit == 0 {
			err = errors.New("limit: overload is a multiple of the rate that the server sustains: give that rate, or the directory of the run that found it (--limit)")
		}
	}
	if err == nil && shape.rates != givenRate && s.Rate != 0 {
		err = fmt.Errorf("rate: %s has its own rates; leave out rate %g", shape.name, s.Rate)
	}
	if err != nil {
		return profile{}, err
	}
	p, err := shape.read(args, rate)
	if err != nil {
		return profile{}, fmt.Errorf("profile: %q: %w; write it as in %s", s.Profile, err, shape.form)
	}
	return p, nil
}

// readShape reads "name" or "name(argument,…)".
func readShape(text string) (shape, []string, error) {
	name, inside, called, closed := call(text)
	if name == "" && !called {
		return shapes[0], nil, nil
	}
	if !closed {
		return shape{}, nil, fmt.Errorf("profile: %q lacks its closing parenthesis; write it as in %s", text, shapeForms())
	}
	i := slices.IndexFunc(shapes, func(s shape) bool { return s.name == name })
	if i < 0 {
		return shape{}, nil, fmt.Errorf("profile: unknown profile %q%s; expected %s", text, hint(name, shapes, func(s shape) string { return s.name }), shapeForms())
	}
	s := shapes[i]
	if inside == "" && (called || !s.bare) {
		return shape{}, nil, fmt.Errorf("profile: %q says too little; write it as in %s", text, s.form)
	}
	if !called {
		return s, nil, nil
	}
	args := strings.Split(inside, ",")
	for i := range args {
		args[i] = strings.Join(strings.Fields(args[i]), "")
	}
	return s, args, nil
}

func shapeForms() string {
	return strings.Join(text.Each(shapes, func(s shape) string { return s.form }), ", ")
}

func readSteady(args []string, rate float64) (profile, error) {
	if len(args) > 0 {
		return profile{}, errors.New("steady takes no numbers")
	}
	return constantProfile(rate), nil
}

// readBurst keeps the rate on average: what the burst has too many, the rest of
// its minute has too few.
func readBurst(args []string, rate float64) (profile, error) {
	times, err := readTimes(args, burstTimes, burstMost)
	if err != nil {
		return profile{}, err
	}
	rest := burstEvery - burstLength
	quiet := rate * (burstEvery.Seconds() - times*burstLength.Seconds()) / rest.Seconds()
	return profile{repeats: true, pieces: []piece{
		{length: burstLength, from: times * rate, to: times * rate},
		{length: rest, from: quiet, to: quiet},
	}}, nil
}

func readOverload(args []string, limit float64) (profile, error) {
	times, err := readTimes(args, overloadTimes, overloadMost)
	if err != nil {
		return profile{}, err
	}
	return constantProfile(times * limit), nil
}

// readHotSpot is steady: whose requests they are is not told by their times.
func readHotSpot(args []string, rate float64) (profile, error) {
	_, err := readShare(args)
	return constantProfile(rate), err
}

// readShare reads how much of the load one tenant has, if that is said.
func readShare(args []string) (float64, error) {
	if len(args) == 0 {
		return hotShare, nil
	}
	share, err := strconv.ParseFloat(args[0], 64)
	if err != nil || len(args) > 1 || !(share > 0 && share < 1) {
		return 0, errors.New("expected one share above 0 and below 1")
	}
	return share, nil
}

// readTimes reads how many times the rate is meant, if that is said.
func readTimes(args []string, standard, limit float64) (float64, error) {
	if len(args) == 0 {
		return standard, nil
	}
	times, err := strconv.ParseFloat(args[0], 64)
	if err != nil || len(args) > 1 || !(times > 1 && times <= limit) {
		return 0, fmt.Errorf("expected one multiple above 1 and at most %g", limit)
	}
	return times, nil
}

func readSteps(args []string, _ float64) (profile, error) {
	pieces, err := readPieces(args)
	if err != nil {
		return profile{}, err
	}
	if pieces[len(pieces)-1].to == 0 {
		return profile{}, errors.New("the last step goes on, so that its rate must be above 0")
	}
	return holdLast(pieces...), nil
}

func readOnOff(args []string, _ float64) (profile, error) {
	pieces, err := readPieces(args)
	if err != nil {
		return profile{}, err
	}
	p := profile{pieces: pieces, repeats: true}
	if p.peak() == 0 {
		return profile{}, errors.New("expected one rate above 0 at least")
	}
	return p, nil
}

func readPieces(args []string) ([]piece, error) {
	pieces, all := make([]piece, 0, len(args)+1), time.Duration(0)
	for _, arg := range args {
		rate, length, found := strings.Cut(arg, ":")
		if !found {
			return nil, fmt.Errorf("%q is not a rate and how long it lasts", arg)
		}
		r, err := readRate(rate)
		if err != nil {
			return nil, err
		}
		l, err := readLength(length)
		if err != nil {
			return nil, err
		}
		if all += l; all > maxLength {
			return nil, errors.New("must be at most a year in all")
		}
		pieces = append(pieces, piece{length: l, from: r, to: r})
	}
	return pieces, nil
}

func readRamp(args []string, _ float64) (profile, error) {
	kind := straight
	if len(args) == 3 && args[2] == "exp" {
		kind, args = exponential, args[:2]
	}
	p, err := readRange(args, kind)
	switch {
	case err != nil:
		return profile{}, err
	case p.to == 0:
		return profile{}, errors.New("the last rate goes on, so that it must be above 0")
	case kind == exponential && p.from == 0:
		return profile{}, errors.New("no factor leads up from 0: begin above it")
	}
	return holdLast(p), nil
}

func readDiurnal(args []string, _ float64) (profile, error) {
	p, err := readRange(args, wave)
	switch {
	case err != nil:
		return profile{}, err
	case p.to <= p.from:
		return profile{}, errors.New("expected the lowest rate and then the highest")
	}
	return profile{pieces: []piece{p}, repeats: true}, nil
}

// readRange reads "low..high" and a length.
func readRange(args []string, kind curve) (piece, error) {
	if len(args) != 2 {
		return piece{}, errors.New("expected two rates and a length")
	}
	from, to, found := strings.Cut(args[0], "..")
	if !found {
		return piece{}, fmt.Errorf("%q is not two rates with .. between them", args[0])
	}
	low, err := readRate(from)
	if err != nil {
		return piece{}, err
	}
	high, err := readRate(to)
	if err != nil {
		return piece{}, err
	}
	length, err := readLength(args[1])
	if err != nil {
		return piece{}, err
	}
	return piece{length: length, from: low, to: high, curve: kind}, nil
}

func readRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(rate) || rate != 0 && !(rate >= slowest && rate <= fastest) {
		return 0, fmt.Errorf("%q is no rate: expected 0, or %g to %.0f requests per second", text, slowest, fastest)
	}
	return rate, nil
}

func readLength(text string) (time.Duration, error) {
	length, err := time.ParseDuration(text)
	if err != nil || length < minLength || length > maxLength {
		return 0, fmt.Errorf("%q is no length: expected a time from %v to a year, such as 30s or 5m", text, minLength)
	}
	return length, nil
}

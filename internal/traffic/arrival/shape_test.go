package arrival

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestBadProfilesSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		part string
	}{
		{Spec{Rate: 1, Profile: "stepps(1:1m)"}, "did you mean steps?"},
		{Spec{Rate: 1, Profile: "sawtooth"}, "expected steady, burst, overload, hot-spot, steps(10:1m,20:1m), ramp(1..50,5m)"},
		{Spec{Rate: 1, Profile: "ramp(1..2"}, "closing parenthesis"},
		{Spec{Rate: 1, Profile: "steady(3)"}, "steady takes no numbers"},
		{Spec{Profile: "burst"}, "rate: expected a number of requests per second above 0, got 0"},
		{Spec{Rate: 1, Profile: "burst(7)"}, "expected one multiple above 1 and at most 6; write it as in burst"},
		{Spec{Rate: 1, Profile: "burst(1)"}, "above 1"},
		{Spec{Rate: 1, Profile: "burst(2,3)"}, "expected one multiple"},
		{Spec{Rate: 1, Profile: "burst()"}, "says too little"},
		{Spec{Profile: "overload"}, "limit: overload is a multiple of the rate that the server sustains: give that rate, or the directory of the run that found it (--limit)"},
		{Spec{Profile: "overload", Limit: -1}, "limit: expected a number of requests per second above 0, got -1"},
		{Spec{Profile: "overload(x)", Limit: 5}, "expected one multiple above 1 and at most 100"},
		{Spec{Profile: "overload", Limit: 5, Rate: 2}, "rate: overload has its own rates; leave out rate 2"},
		{Spec{Rate: 1, Profile: "hotspot"}, "did you mean hot-spot?"},
		{Spec{Rate: 1, Profile: "hot-spot(80)"}, "expected one share above 0 and below 1"},
		{Spec{Rate: 1, Profile: "hot-spot(0.5,0.2)"}, "expected one share"},
		{Spec{Profile: "hot-spot"}, "rate: expected a number of requests per second above 0, got 0"},
		{Spec{Profile: "steps"}, "says too little; write it as in steps(10:1m,20:1m)"},
		{Spec{Profile: "steps(10)"}, `"10" is not a rate and how long it lasts`},
		{Spec{Profile: "steps(10:1m,)"}, `"" is not a rate`},
		{Spec{Profile: "steps(x:1m)"}, `"x" is no rate: expected 0, or 1e-06 to 1000000 requests per second`},
		{Spec{Profile: "steps(-1:1m)"}, `"-1" is no rate`},
		{Spec{Profile: "steps(nan:1m)"}, `"nan" is no rate`},
		{Spec{Profile: "steps(10:60)"}, `"60" is no length: expected a time from 1ms to a year, such as 30s or 5m`},
		{Spec{Profile: "steps(10:-1m)"}, `"-1m" is no length`},
		{Spec{Profile: "steps(10:1m,0:1m)"}, "its rate must be above 0"},
		{Spec{Profile: "steps(10:5000h,20:5000h)"}, "at most a year in all"},
		{Spec{Profile: "steps(10:1m)", Rate: 5}, "rate: steps has its own rates; leave out rate 5"},
		{Spec{Profile: "ramp(1..50)"}, "expected two rates and a length; write it as in ramp(1..50,5m)"},
		{Spec{Profile: "ramp(1-50,5m)"}, `"1-50" is not two rates with .. between them`},
		{Spec{Profile: "ramp(1..50,5m,log)"}, "expected two rates and a length"},
		{Spec{Profile: "ramp(1..0,5m)"}, "must be above 0"},
		{Spec{Profile: "ramp(0..5,5m,exp)"}, "begin above it"},
		{Spec{Profile: "onoff(0:1s,0:2s)"}, "expected one rate above 0"},
		{Spec{Profile: "diurnal(20..5,24h)"}, "the lowest rate and then the highest"},
		{Spec{Profile: "diurnal(5..5,24h)"}, "the lowest rate and then the highest"},
	} {
		err := c.spec.Validate()
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%+v: %v, want %q", c.spec, err, c.part)
		}
		if got := take(c.spec.Times(1), 1); len(got) > 0 {
			t.Errorf("%+v gives times %v", c.spec, got)
		}
	}
}

func TestWhetherALoadIsOpen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{}, false},
		{Spec{Process: "constant"}, false},
		{Spec{Profile: "burst"}, false},
		{Spec{Rate: 1}, true},
		{Spec{Rate: 1, Profile: "burst"}, true},
		{Spec{Profile: "overload", Limit: 5}, true},
		{Spec{Profile: "ramp(1..2,1m)"}, true},
		{Spec{Profile: "rampp(1..2,1m)"}, true}, // so that its error is seen
	} {
		if got := c.spec.Open(); got != c.want {
			t.Errorf("%+v: open is %t", c.spec, got)
		}
	}
}

func TestStringNamesTheProfile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Rate: 1, Profile: "steady"}, "Poisson"},
		{Spec{Rate: 1, Profile: " Burst "}, "Poisson, burst"},
		{Spec{Rate: 1, Process: "gamma(0.5)", Profile: "burst( 4 )"}, "gamma(0.5), burst(4)"},
		{Spec{Profile: "Ramp(1 .. 50, 5m, EXP)", Process: "constant"}, "constant, ramp(1..50,5m,exp)"},
		{Spec{Profile: "what("}, "Poisson, what("},
	} {
		if got := c.spec.String(); got != c.want {
			t.Errorf("%+v is shown as %q, want %q", c.spec, got, c.want)
		}
	}
}

// FuzzProfile holds every profile that is accepted to a spelling that means
// the same, and to times that ascend.
func FuzzProfile(f *testing.F) {
	for _, spec := range profiled {
		f.Add(spec.Profile)
	}
	for _, text := range []string{"ramp(1..50,5m,exp", "steps(:)", "onoff(1e-6:1ms)", "diurnal(0..1e6,8760h)", "(", "burst(1e9)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, spec := range []Spec{{Rate: 2, Profile: text}, {Limit: 2, Profile: text}, {Profile: text}} {
			if spec.Validate() != nil {
				continue
			}
			again := spec
			again.Profile = spec.Shape()
			if err := again.Validate(); err != nil || again.Shape() != spec.Shape() {
				t.Fatalf("%q is shown as %q, and that as %q: %v", text, spec.Shape(), again.Shape(), err)
			}
			times := take(spec.Times(1), 20)
			if len(times) != 20 || !slices.IsSorted(times) || times[0] < 0 {
				t.Fatalf("%q gives %v", text, times)
			}
			if fmt.Sprint(times) != fmt.Sprint(take(again.Times(1), 20)) {
				t.Fatalf("%q and %q give other times", text, again.Profile)
			}
		}
	})
}

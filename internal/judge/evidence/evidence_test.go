package evidence_test

import (
	"math"
	"testing"

	"redline/internal/judge/evidence"
	"redline/internal/stats"
	"redline/internal/twin/process"
)

// evenly is a minute of n values that come at even distances.
func evenly(n int, value func(i int) (float64, int32)) *evidence.Sample {
	list := make([]evidence.Observation, n)
	for i := range list {
		v, group := value(i)
		list[i] = evidence.Observation{At: float32(60 * float64(i) / float64(n)), Value: float32(v), Weight: 1, Group: group}
	}
	return evidence.New(list, evidence.Window{Length: 60})
}

// failingSample is a minute of requests of which some fail.
func failingSample(n int, fails func(i int) bool) *evidence.Sample {
	return evenly(n, func(i int) (float64, int32) {
		if fails(i) {
			return 1, evidence.Alone
		}
		return 0, evidence.Alone
	})
}

func playProcess(t *testing.T, name string, seed uint64, length float64) *evidence.Sample {
	t.Helper()
	for _, p := range process.All() {
		if p.Name != name {
			continue
		}
		var list []evidence.Observation
		for _, q := range p.Play(seed, length) {
			list = append(list, evidence.Observation{At: float32(q.Due), Value: float32(q.Took), Weight: 1, Group: int32(q.Session)})
		}
		return evidence.New(list, evidence.Window{Length: length})
	}
	t.Fatalf("no process %q", name)
	return nil
}

var p99 = evidence.Question{P: 0.99, Limit: 0.5, Alpha: 0.05}

// Without a violation, 299 requests that come independently decide a p99: 0.99²⁹⁹ is
// below 5%, 0.99²⁹⁸ above.
func TestNoneBeyond(t *testing.T) {
	t.Parallel()
	none := func(int) bool { return false }
	if failingSample(298, none).Met(p99) || !failingSample(299, none).Met(p99) {
		t.Errorf("298 without a failure: met %v; 299: met %v; want 299 to be the fewest", failingSample(298, none).Met(p99), failingSample(299, none).Met(p99))
	}
	half := p99
	half.Spent = 0.5
	if failingSample(299, none).Met(half) {
		t.Error("299 decide at half the chance of error too")
	}
}

// Thirty failures of a thousand miss 1% where each comes by itself, and say little
// where they are one outage.
func TestFailuresTogetherCountLess(t *testing.T) {
	t.Parallel()
	apart := failingSample(1000, func(i int) bool { return i*7919%1000 < 30 })
	together := failingSample(1000, func(i int) bool { return i >= 300 && i < 330 })
	if !apart.Missed(p99) || together.Missed(p99) {
		t.Errorf("missed by failures apart: %v, together: %v; want the first alone", apart.Missed(p99), together.Missed(p99))
	}
	if a, b := apart.Worth(0.99), together.Worth(0.99); b > a/10 {
		t.Errorf("requests are worth %.2f where failures are apart and %.2f where they are one outage", a, b)
	}
}

// A server that fails 1% of its requests fails 20% of a window in one of twenty at
// most, however its failures come together.
func TestAnOutageMissesByItsSize(t *testing.T) {
	t.Parallel()
	for part, want := range map[int]bool{40: true, 10: false} {
		if got := failingSample(200, func(i int) bool { return i >= 100 && i < 100+part }).Missed(p99); got != want {
			t.Errorf("one outage over %d of 200 requests: missed %v, want %v", part, got, want)
		}
	}
}

// Turns of a conversation that share their fate are worth less than single requests
// at the same times with the same values.
func TestConversationsAreOneChance(t *testing.T) {
	t.Parallel()
	const turns = 10
	of := func(group func(talk int) int32) *evidence.Sample {
		return evenly(2000, func(i int) (float64, int32) {
			talk := i%200 + 200*(i/2000) // turns of 200 conversations in turn
			r := stats.Rand(uint64(talk), "talk", 0)
			return math.Exp(r.NormFloat64()), group(talk)
		})
	}
	single := of(func(int) int32 { return evidence.Alone })
	talks := of(func(talk int) int32 { return int32(talk) })
	if a, b := single.Worth(0.9), talks.Worth(0.9); b > a*2/turns {
		t.Errorf("requests are worth %.2f by themselves and %.2f as turns of %d", a, b, turns)
	}
}

// Two replicas that slow down in turn make slow requests evenly many at all times:
// each alone shows that they come together.
func TestKindsShowTheirOwnClusters(t *testing.T) {
	t.Parallel()
	of := func(known bool) *evidence.Sample {
		list := make([]evidence.Observation, 2000)
		for i := range list {
			replica, slow := i%2, i/200%2
			list[i] = evidence.Observation{At: float32(60 * float64(i) / 2000), Value: 1, Weight: 1, Group: evidence.Alone}
			if replica == slow && i*7919%1000 < 400 {
				list[i].Value = 10
			}
			if known {
				list[i].Kinds[evidence.ByReplica] = uint8(replica + 1)
			}
		}
		return evidence.New(list, evidence.Window{Length: 60})
	}
	if pooled, apart := of(false).Worth(0.8), of(true).Worth(0.8); apart > pooled/5 {
		t.Errorf("requests are worth %.2f together and %.2f by their replicas", pooled, apart)
	}
}

// The bounds are the limits at which verdicts turn.
func TestBoundsAreWhereVerdictsTurn(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"long prompts", "conversations", "M/M/1, 50%", "independent, lognormal"} {
		for seed := range uint64(5) {
			s, q := playProcess(t, name, 10+seed, 300), p99
			upper, lower := s.Upper(q), s.Lower(q)
			if q.Limit = upper; !math.IsInf(upper, 1) && !s.Met(q) {
				t.Errorf("%s, %d: not met at its bound %g", name, seed, upper)
			}
			if q.Limit = math.Nextafter(lower, 0) * (1 - 1e-6); lower > 0 && !s.Missed(q) {
				t.Errorf("%s, %d: not missed just below its bound %g", name, seed, lower)
			}
			if lower > upper {
				t.Errorf("%s, %d: above %g and below %g", name, seed, lower, upper)
			}
		}
	}
}

func TestSigns(t *testing.T) {
	t.Parallel()
	noise := func(i int) float64 { return math.Exp(0.3 * stats.Rand(uint64(i), "noise", 0).NormFloat64()) }
	for name, tt := range map[string]struct {
		value func(i int) (float64, int32)
		want  evidence.Sign
	}{
		"independent": {func(i int) (float64, int32) { return noise(i), evidence.Alone }, evidence.NoSign},
		"a slow wave": {func(i int) (float64, int32) {
			return noise(i) * math.Exp(math.Sin(2*math.Pi*float64(i)/1000)), evidence.Alone
		}, evidence.Wanders},
		"one stall": {func(i int) (float64, int32) {
			if i >= 500 && i < 505 {
				return 100, evidence.Alone
			}
			return noise(i), evidence.Alone
		}, evidence.Episode},
	} {
		if got := evenly(1000, tt.value).Sign(0.99); got != tt.want {
			t.Errorf("%s: sign %q, want %q", name, got, tt.want)
		}
	}
}

// A slow wave between 8 and 9 is a sign, and yet far from a limit of 50; from one of
// 10 it is not, nor is any rate of failures.
func TestFar(t *testing.T) {
	t.Parallel()
	wave := evenly(1000, func(i int) (float64, int32) {
		return 8.5 + 0.5*math.Sin(2*math.Pi*float64(i)/1000), evidence.Alone
	})
	if wave.Sign(0.95) != evidence.Wanders || !wave.Far(50) || wave.Far(10) || failingSample(100, func(int) bool { return false }).Far(0.5) {
		t.Errorf("sign %q, far from 50: %v, from 10: %v", wave.Sign(0.95), wave.Far(50), wave.Far(10))
	}
}

// Values that rise and fall with the minute are one chance, which decides no median;
// unless even the smallest is ten times its limit.
func TestAllFarOverTheLimit(t *testing.T) {
	t.Parallel()
	wave := func(n int) *evidence.Sample {
		return evenly(n, func(i int) (float64, int32) {
			return 1.5 - 0.5*math.Cos(2*math.Pi*float64(i)/float64(n)), evidence.Alone // from 1 to 2
		})
	}
	for limit, want := range map[float64]bool{0.09: true, 0.11: false, 0.9: false} {
		if got := wave(60).Missed(evidence.Question{P: 0.5, Limit: limit, Alpha: 0.05}); got != want {
			t.Errorf("60 values from 1 to 2 and back, median held to %v: missed %v, want %v", limit, got, want)
		}
	}
}

// One replica of three that takes twice as long is a sign; three alike are none.
func TestASlowReplicaIsASign(t *testing.T) {
	t.Parallel()
	for _, factor := range []float64{1, 2} {
		list := make([]evidence.Observation, 1500)
		for i := range list {
			value := math.Exp(0.3 * stats.Rand(uint64(i), "replica", 0).NormFloat64())
			if i%3 == 0 {
				value *= factor
			}
			list[i] = evidence.Observation{At: float32(i) / 25, Value: float32(value), Weight: 1, Group: evidence.Alone}
			list[i].Kinds[evidence.ByReplica] = uint8(i%3 + 1)
		}
		want := map[float64]evidence.Sign{1: evidence.NoSign, 2: evidence.Replica}[factor]
		if got := evidence.New(list, evidence.Window{Length: 60}).Sign(0.99); got != want {
			t.Errorf("a replica that takes %g times as long: sign %q, want %q", factor, got, want)
		}
	}
}

// What a window needs, it sees.
func TestSees(t *testing.T) {
	t.Parallel()
	if got := evidence.Sees(evidence.Needs(300)); got != 300 {
		t.Errorf("a window for what happens every 300 s sees what happens every %g s", got)
	}
	if chance := math.Exp(-evidence.Needs(1)); chance > 0.05 {
		t.Errorf("it holds no such event in %.1f%% of cases", 100*chance)
	}
}

func TestNothingObserved(t *testing.T) {
	t.Parallel()
	s := evidence.New(nil, evidence.Window{Length: 60})
	if s.Met(p99) || s.Missed(p99) || s.Lower(p99) != 0 || !math.IsInf(s.Upper(p99), 1) || s.Sign(0.99) != evidence.NoSign {
		t.Error("a window without requests says something")
	}
}

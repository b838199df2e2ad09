package process

import (
	"math"
	"math/rand/v2"

	"redline/internal/stats"
	"slices"
)

// All are the processes of docs/measured/RATES.md.
func All() []Process {
	list := slices.Concat(tuningProcesses, others)
	for i := range others {
		list[len(tuningProcesses)+i].HeldOut = true
	}
	return list
}

// poisson is the one source of requests that come at random.
func poisson(r *rand.Rand, rate float64) []func() float64 {
	return []func() float64{exponential(r, 1/rate)}
}

// single is a service of single requests that come at random.
func single(rate float64, serve func(r *rand.Rand) func(float64, *session) (float64, float64)) func(*rand.Rand) service {
	return func(r *rand.Rand) service { return service{sources: poisson(r, rate), serve: serve(r)} }
}

// talks is a service of conversations.
func talks(starts float64, turns int, pause float64, begin func(*rand.Rand, *session), serve func(*rand.Rand) func(float64, *session) (float64, float64)) func(*rand.Rand) service {
	return func(r *rand.Rand) service {
		return service{sources: poisson(r, starts), think: exponential(r, pause), serve: serve(r),
			begin: func(_ int, s *session) {
				s.turns = turns
				if begin != nil {
					begin(r, s)
				}
			}}
	}
}

type answer = func(float64, *session) (float64, float64)

// tuningProcesses are the processes that the constants of rules may be chosen on.
var tuningProcesses = []Process{
	{Name: "long prompts", Metric: "ttft", P: 0.99, Rate: 10, open: longPrompts(10, 1, 0.06, 1.2)},
	{Name: "RAG requests among chats", Metric: "ttft", P: 0.99, Rate: 8, open: rag(8, 1, 0.05, 0.9, 0.03)},
	{Name: "bursty arrivals", Metric: "ttft", P: 0.99, Rate: 10.4, open: bursty(10.4, 0.3, 4, 0.25)},
	{Name: "conversations", Metric: "ttft", P: 0.99, Rate: 6, warm: 180, open: conversations(0.5, 12, 5, 0.02, 0.008)},
	{Name: "sticky replicas, one slower", Metric: "ttft", P: 0.5, Rate: 6.4, warm: 120, open: sticky(0.8, 8, 3, 0.08, 2.5, 2)},
	{Name: "slow sessions", Metric: "ttft", P: 0.99, Rate: 9, warm: 120, open: slowSessions(1.5, 6, 4, 0.03, 6)},
	{Name: "noisy neighbor", Metric: "e2e", P: 0.9, Rate: 8, open: neighbor(8, 2, 0.125, 0.35, 60)},
	{Name: "slower when 20 wait", Metric: "ttft", P: 0.99, Rate: 15, open: hysteresis(15, 0.04, 20, 5, 1.6)},
	{Name: "stalls", Metric: "ttft", P: 0.99, Rate: 10, open: stalls(10, 25, 0.6)},
	{Name: "slow phases", Metric: "ttft", P: 0.95, Rate: 10, open: phases(10, 26, 4, 4)},
	{Name: "batch jobs", Metric: "ttft", P: 0.99, Rate: 6.25, open: batches(5, 20, 25, 0.04)},
	{Name: "outages", Metric: "error", Rate: 10, open: outages(10, 60, 1.5)},
	{Name: "bounded queue", Metric: "reject", Rate: 17, open: boundedQueue(17, 0.05, 10)},
	{Name: "M/M/1, 50%", Metric: "ttft", P: 0.99, Rate: 25, open: single(25, func(r *rand.Rand) answer { return queueInOrder(newLine(1), exponential(r, 0.02)) })},
	{Name: "M/D/1, 80%", Metric: "ttft", P: 0.99, Rate: 40, open: single(40, func(*rand.Rand) answer { return queueInOrder(newLine(1), constant(0.02)) })},
	{Name: "chats at 5/s", Metric: "ttft", P: 0.99, Rate: 5, open: chats(5, 0.8)},
	{Name: "independent, lognormal", Metric: "ttft", P: 0.99, Rate: 10, open: single(10, func(r *rand.Rand) answer { return serveAlone(lognormal(r, 0.1, 1)) })},
	{Name: "independent errors", Metric: "error", Rate: 10, open: failingService(10, 0.01)},
}

// others judge, and nothing was chosen on them.
var others = []Process{
	{Name: "longer prompts, 2 servers", Metric: "ttft", P: 0.99, Rate: 9, open: longPrompts(9, 2, 0.1, 1.5)},
	{Name: "rarer RAG requests, 2 servers", Metric: "ttft", P: 0.99, Rate: 12, open: rag(12, 2, 0.02, 2, 0.06)},
	{Name: "burstier arrivals, 16 servers", Metric: "ttft", P: 0.99, Rate: 20, open: bursty(20, 0.2, 16, 0.6)},
	{Name: "longer conversations", Metric: "ttft", P: 0.99, Rate: 6, warm: 240, open: conversations(0.2, 30, 3, 0.015, 0.004)},
	{Name: "three sticky replicas", Metric: "ttft", P: 0.5, Rate: 9, warm: 120, open: sticky(0.9, 10, 4, 0.05, 4, 3)},
	{Name: "slower sessions", Metric: "ttft", P: 0.99, Rate: 10, warm: 120, open: slowSessions(2, 5, 3, 0.02, 15)},
	{Name: "noisier neighbor", Metric: "e2e", P: 0.95, Rate: 12, open: neighbor(12, 1, 0.03, 0.5, 150)},
	{Name: "slower when 25 wait", Metric: "ttft", P: 0.99, Rate: 24, open: hysteresis(24, 0.0335, 25, 8, 1.12)},
	{Name: "longer stalls", Metric: "ttft", P: 0.99, Rate: 8, open: stalls(8, 40, 1.5)},
	{Name: "collector pauses", Metric: "ttft", P: 0.99, Rate: 12, open: stalls(12, 5, 0.15)},
	{Name: "longer slow phases", Metric: "ttft", P: 0.95, Rate: 10, open: phases(10, 72, 8, 3)},
	{Name: "larger batch jobs", Metric: "ttft", P: 0.99, Rate: 7.7, open: batches(6, 35, 60, 0.03)},
	{Name: "longer outages", Metric: "error", Rate: 8, open: outages(8, 150, 3)},
	{Name: "bounded queue at capacity", Metric: "reject", Rate: 20, open: boundedQueue(20, 0.05, 16)},
	{Name: "load that comes and goes", Metric: "ttft", P: 0.99, Rate: 10, open: onOff(16, 4, 10, 0.05)},
	{Name: "M/M/1, 80%", Metric: "ttft", P: 0.99, Rate: 40, open: single(40, func(r *rand.Rand) answer { return queueInOrder(newLine(1), exponential(r, 0.02)) })},
	{Name: "M/D/1, 50%", Metric: "ttft", P: 0.99, Rate: 25, open: single(25, func(*rand.Rand) answer { return queueInOrder(newLine(1), constant(0.02)) })},
	{Name: "chats at 12/s", Metric: "ttft", P: 0.95, Rate: 12, open: chats(12, 1)},
	{Name: "independent, Pareto(1.5)", Metric: "ttft", P: 0.99, Rate: 10, open: single(10, func(r *rand.Rand) answer {
		return serveAlone(func() float64 { return 0.05 * math.Pow(1-r.Float64(), -1/1.5) })
	})},
}

// longPrompts scatter widely, and the next one waits for them.
func longPrompts(rate float64, servers int, mean, sigma float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer { return queueInOrder(newLine(servers), lognormal(r, mean, sigma)) })
}

// rag has a share of requests with long prompts among short ones.
func rag(rate float64, servers int, share, long, short float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		return queueInOrder(newLine(servers), mixture(r, share, lognormal(r, long, 0.2), lognormal(r, short, 0.5)))
	})
}

func bursty(rate, shape float64, servers int, mean float64) func(*rand.Rand) service {
	return func(r *rand.Rand) service {
		gap := func() float64 { return 1 / rate / shape * stats.Gamma(r, shape) }
		return service{sources: []func() float64{gap}, serve: queueInOrder(newLine(servers), lognormal(r, mean, 0.5))}
	}
}

// conversations have prompts that grow from turn to turn.
func conversations(starts float64, turns int, pause, first, more float64) func(*rand.Rand) service {
	begin := func(r *rand.Rand, s *session) { s.factor = math.Exp(0.4*r.NormFloat64() - 0.08) }
	return talks(starts, turns, pause, begin, func(*rand.Rand) answer {
		l := newLine(1)
		return func(at float64, s *session) (float64, float64) {
			done := l.take(at, s.factor*(first+more*float64(s.turn)))
			return done, done - at
		}
	})
}

// sticky replicas keep a conversation; the first is slower.
func sticky(starts float64, turns int, pause, mean, slower float64, replicas int) func(*rand.Rand) service {
	begin := func(r *rand.Rand, s *session) {
		if s.replica = r.IntN(replicas); s.replica == 0 {
			s.factor = slower
		}
	}
	return talks(starts, turns, pause, begin, func(r *rand.Rand) answer {
		lines, work := make([]*line, replicas), exponential(r, mean)
		for i := range lines {
			lines[i] = newLine(1)
		}
		return func(at float64, s *session) (float64, float64) {
			done := lines[s.replica].take(at, s.factor*work())
			return done, done - at
		}
	})
}

// slowSessions are a share of conversations that take longer at every turn.
func slowSessions(starts float64, turns int, pause, share, slower float64) func(*rand.Rand) service {
	begin := func(r *rand.Rand, s *session) {
		if r.Float64() < share {
			s.factor = slower
		}
	}
	return talks(starts, turns, pause, begin, func(r *rand.Rand) answer { return serveAlone(lognormal(r, 0.1, 0.3)) })
}

// neighbor takes a share of the machine that wanders over minutes.
func neighbor(rate float64, servers int, mean, sigma, tau float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		l, work, load := newLine(servers), lognormal(r, mean, 0.4), &wander{r, sigma, tau, -1000, sigma * r.NormFloat64()}
		return func(at float64, _ *session) (float64, float64) {
			done := l.take(at, work()*math.Exp(load.level(at)))
			return done, done - at
		}
	})
}

// hysteresis: the server slows down when many wait, until few do.
func hysteresis(rate, mean float64, many, few int, slower float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		w, work, slow := newWaiting(), exponential(r, mean), false
		return func(at float64, _ *session) (float64, float64) {
			switch n := w.length(at); {
			case n >= many:
				slow = true
			case n <= few:
				slow = false
			}
			took := work()
			if slow {
				took *= slower
			}
			done := w.take(at, took)
			return done, done - at
		}
	})
}

// stalls hold all answers back for a while, at random moments.
func stalls(rate, every, length float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		stall, took := newEpisodes(-1000, exponential(r, every-length), constant(length)), lognormal(r, 0.05, 0.3)
		return func(at float64, _ *session) (float64, float64) {
			t := took()
			if in, until := stall.at(at); in {
				t += until - at
			}
			return at + t, t
		}
	})
}

// phases in which every answer takes longer.
func phases(rate, gap, length, slower float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		phase, took := newEpisodes(-1000, exponential(r, gap), exponential(r, length)), lognormal(r, 0.1, 0.3)
		return func(at float64, _ *session) (float64, float64) {
			t := took()
			if in, _ := phase.at(at); in {
				t *= slower
			}
			return at + t, t
		}
	})
}

// batches of requests come at once, at even distances, beside those of people.
func batches(rate, every float64, size int, mean float64) func(*rand.Rand) service {
	return func(r *rand.Rand) service {
		left, first := 0, true
		job := func() float64 {
			switch {
			case first:
				first, left = false, size-1
				return every * r.Float64()
			case left > 0:
				left--
				return 0
			}
			left = size - 1
			return every
		}
		return service{sources: []func() float64{exponential(r, 1/rate), job}, serve: queueInOrder(newLine(1), lognormal(r, mean, 0.4))}
	}
}

// outages fail whatever arrives in them.
func outages(rate, every, length float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		outage := newEpisodes(-1000, exponential(r, every-length), constant(length))
		return func(at float64, _ *session) (float64, float64) {
			if in, _ := outage.at(at); in {
				return at, math.Inf(1)
			}
			return at + 0.1, 0.1
		}
	})
}

// boundedQueue has room for so many and rejects the others.
func boundedQueue(rate, mean float64, room int) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		w, work := newWaiting(), exponential(r, mean)
		return func(at float64, _ *session) (float64, float64) {
			if w.length(at) >= room {
				return at, math.Inf(1)
			}
			done := w.take(at, work())
			return done, done - at
		}
	})
}

// onOff changes between two rates of arrivals.
func onOff(high, low, length, mean float64) func(*rand.Rand) service {
	return func(r *rand.Rand) service {
		crowd := newEpisodes(-1000, exponential(r, length), exponential(r, length))
		now := -60.0
		next := func() float64 {
			from := now
			for {
				now += exponential(r, 1/high)()
				if in, _ := crowd.at(now); in || r.Float64() < low/high {
					return now - from
				}
			}
		}
		return service{sources: []func() float64{next}, serve: queueInOrder(newLine(1), lognormal(r, mean, 0.5))}
	}
}

// chats reach an engine that works in steps: each waits for the step at hand and
// for the prompts before it.
func chats(rate, sigma float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		l, prompt := newLine(1), lognormal(r, 0.03, sigma)
		return func(at float64, _ *session) (float64, float64) {
			done := l.take(at, prompt()) + 0.02*r.Float64()
			return done, done - at
		}
	})
}

func failingService(rate, share float64) func(*rand.Rand) service {
	return single(rate, func(r *rand.Rand) answer {
		return func(at float64, _ *session) (float64, float64) {
			if r.Float64() < share {
				return at, math.Inf(1)
			}
			return at + 0.1, 0.1
		}
	})
}

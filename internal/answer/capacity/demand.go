package capacity

import (
	"fmt"
	"iter"
	"math"
	"time"

	"redline/internal/judge/price"
	"redline/internal/judge/result"
	"redline/internal/text"
)

// Demand is the load to be carried: a peak rate, users who read and think
// between their requests, or agents.
type Demand struct {
	// Rate is the peak in requests per second; Mean the average, 0 where it is
	// not known.
	Rate, Mean float64
	// Users each send a request, wait for its answer, think, and send the next.
	Users int
	Think time.Duration
	// Agents are live jobs at the peak: all loads of the plan are numbers of agents
	// then, the mean too.
	Agents int
	// Text says where the rate is from; empty for one given by hand.
	Text string
}

func (d Demand) validate() error {
	switch {
	case d.Agents < 0 || d.Agents > maxRate:
		return usageErrorf("agents: expected a number above 0 and at most %s, got %d", text.Exact(maxRate), d.Agents)
	case d.Users == 0 && d.Agents == 0 && !(d.Rate > 0 && d.Rate <= maxRate):
		return usageErrorf("rate: expected requests per second above 0 and at most %s, got %g", text.Exact(maxRate), d.Rate)
	case d.Users < 0 || d.Users > maxRate:
		return usageErrorf("users: expected a number above 0 and at most %s, got %d", text.Exact(maxRate), d.Users)
	case d.Users > 0 && (d.Think <= 0 || d.Think > 24*time.Hour):
		return usageErrorf("think: expected the time between an answer and the user's next request, such as 30s, got %s", d.Think)
	case !(d.Mean >= 0 && d.Mean <= maxRate):
		return usageErrorf("mean-rate: expected requests per second above 0, got %g", d.Mean)
	}
	return nil
}

// against makes the demand definite. Users wait for their answers, which take
// as long as measured at the rate that one instance is planned for.
func (d Demand) against(m curve, planned float64) result.Demand {
	out := result.Demand{Rate: d.Rate, Text: d.Text}
	if d.Mean > 0 {
		out.Mean = &d.Mean
	}
	if d.Agents > 0 {
		out.Rate, out.Unit = float64(d.Agents), result.Agents
	}
	if d.Users == 0 {
		return out
	}
	think := d.Think.Seconds()
	out.Users, out.ThinkS = d.Users, &think
	answer, known := m.meanAnswer(planned)
	out.Rate = float64(d.Users) / (think + answer)
	out.Text = fmt.Sprintf("%s, each a request every %s: %s of thought and %s for the answer, as measured", text.Plural(d.Users, "user"),
		text.Seconds(think+answer), text.Seconds(think), text.Seconds(answer))
	if !known {
		out.Text = fmt.Sprintf("%s, each a request every %s: how long answers take was not measured, so none is counted", text.Plural(d.Users, "user"), text.Seconds(think))
	}
	return out
}

// meanOf is the average load: as it is known, or the share of all instances
// that is planned for; nil for neither.
func meanOf(d *result.Demand, prices price.Prices, f fleet) *float64 {
	if d.Mean == nil && prices.Utilization > 0 {
		if mean := prices.Utilization * float64(f.toRun()) * f.limit; mean < d.Rate {
			d.Mean = &mean
		}
	}
	return d.Mean
}

// maxArrivals bounds how much of an endless schedule is looked at.
const maxArrivals = 5_000_000

// maxSpan is how much of an endless schedule is looked at: a day.
const maxSpan = 24 * time.Hour

// Busiest is the demand of a schedule of arrivals, in ascending nanoseconds: the
// highest rate in any minute, or that of all arrivals where they last no minute.
// Of an endless schedule the first day counts.
func Busiest(name string, times iter.Seq[int64]) (Demand, error) {
	if times == nil {
		return Demand{}, fmt.Errorf("%s does not say when its requests come; give a trace, a fitted workload or --rate", name)
	}
	all, most := inMinutes(times)
	if len(all) < 2 || all[len(all)-1] == all[0] {
		return Demand{}, fmt.Errorf("%s has too few arrivals for a rate", name)
	}
	span := time.Duration(all[len(all)-1] - all[0])
	mean := float64(len(all)-1) / span.Seconds()
	if span < time.Minute {
		return Demand{Rate: mean, Text: fmt.Sprintf("the mean rate of %s, which lasts no minute: %s", name, text.Rate(mean))}, nil
	}
	peak := float64(most) / time.Minute.Seconds()
	return Demand{Rate: peak, Mean: min(peak, mean),
		Text: fmt.Sprintf("the busiest minute of %s: %s, where its mean is %s", name, text.Rate(peak), text.Digits(mean, 4))}, nil
}

// inMinutes collects arrivals and counts the most in any minute.
func inMinutes(times iter.Seq[int64]) (all []int64, most int) {
	first := 0
	for at := range times {
		if len(all) == maxArrivals || len(all) > 0 && at-all[0] > int64(maxSpan) {
			break
		}
		all = append(all, at)
		for at-all[first] >= int64(time.Minute) {
			first++
		}
		most = max(most, len(all)-first)
	}
	return all, most
}

// tail99 is how many standard deviations a normal count's p99 is above its mean.
const tail99 = 2.326

// Little gives the requests in flight under a rate of requests that take so long
// on average. Their number around that mean is a Poisson count where arrivals are
// random and no request waits for another.
func Little(rate float64, latency time.Duration) (result.InFlight, error) {
	if err := (Demand{Rate: rate}).validate(); err != nil {
		return result.InFlight{}, err
	}
	if latency <= 0 || latency > 24*time.Hour {
		return result.InFlight{}, usageErrorf("latency: expected the mean time of a request from its sending to its end, such as 2.5s, got %s", latency)
	}
	mean := rate * latency.Seconds()
	return result.InFlight{Rate: rate, LatencyS: latency.Seconds(), Mean: mean, P99: int(math.Ceil(mean + tail99*math.Sqrt(mean)))}, nil
}

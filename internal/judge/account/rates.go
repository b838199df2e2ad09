package account

import (
	"iter"
	"math"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/text"
)

func (c *collector) seconds() float64 { return float64(c.o.End-c.o.Start) / second }

func (c *collector) perSecond(n float64) float64 { return round(n / c.seconds()) }

// rates counts what was due in the window and, of that, what was completed: the
// requests that goodput is a part of. What ended in the window, whenever it was
// due, is what the server got done meanwhile.
func (c *collector) rates(n metric.Requests) metric.Rates {
	r := metric.Rates{
		Offered:   c.perSecond(float64(n.Due)),
		Sent:      c.perSecond(float64(c.flow.sent)),
		Completed: c.perSecond(float64(n.OK)),
		Ended:     c.perSecond(float64(c.flow.completed)),
	}
	if c.o.AskedRate > 0 {
		r.Asked = new(c.o.AskedRate)
	}
	return r
}

func (c *collector) throughput(n metric.Requests) metric.Throughput {
	return metric.Throughput{
		Requests:     c.perSecond(float64(n.OK)),
		Output:       c.perSecond(float64(c.arrived.total)),
		Prompt:       c.perSecond(float64(c.prompts.fresh)),
		CachedPrompt: c.perSecond(float64(c.prompts.cached)),
		Total:        c.perSecond(float64(c.arrived.total + c.prompts.fresh)),
		Inputs:       c.perSecond(float64(c.inputs)),
		Images:       c.perSecond(float64(c.images.count)),
	}
}

// imageTotals adds up the images of ok requests.
type imageTotals struct{ count, bytes, pixels int64 }

func (t *imageTotals) add(r *record.Record) {
	t.count, t.bytes, t.pixels = t.count+int64(r.Images), t.bytes+int64(r.ImageBytes), t.pixels+int64(r.ImagePixels)
}

// summary is nil where there are none.
func (t imageTotals) summary() *metric.Images {
	if t.count == 0 {
		return nil
	}
	n := float64(t.count)
	return &metric.Images{Count: t.count, BytesMean: round(float64(t.bytes) / n), PixelsMean: round(float64(t.pixels) / n)}
}

func (c *collector) concurrency() metric.Concurrency {
	con := metric.Concurrency{Mean: round(c.inFlight.mean()), Max: c.inFlight.maxOverlap()}
	if c.flow.ended > 0 {
		took := c.flow.inFlightNS / float64(c.flow.ended) / second
		con.Little = round(float64(c.flow.sent) / c.seconds() * took)
	}
	return con
}

// sessions counts the requests that begin one, where others follow on them.
func (c *collector) sessions() int {
	first, some := c.naming.numbers[byTurn]["0"]
	if !some || len(c.naming.names[byTurn]) == 1 {
		return 0
	}
	n := 0
	for q := range c.requests.all {
		if q.keys[byTurn] == first {
			n++
		}
	}
	return n
}

func countAll(requests iter.Seq[*request]) metric.Requests {
	var n metric.Requests
	for q := range requests {
		count(&n, q)
	}
	return n
}

func count(n *metric.Requests, q *request) {
	n.Due++
	n.Reconnects += int(q.reconnects)
	if q.sent != 0 {
		n.Sent++
	}
	if q.retried {
		n.Retried++
	}
	if q.short {
		n.Short++
	}
	n.Add(q.outcome)
	if q.refusal != nil {
		n.Refusals = metric.AddRefusal(n.Refusals, *q.refusal)
	}
	for reason := range record.Reasons(q.mended) {
		n.Mended = metric.AddRefusal(n.Mended, metric.Refusal{Reason: reason, Count: 1})
	}
}

// fluidity is the mean over the requests for which it is defined.
func (c *collector) fluidity() *float64 {
	sum, n := 0.0, 0
	for q := range c.requests.all {
		if f := float64(q.fluidity); !math.IsNaN(f) {
			sum += f
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return new(round(sum / float64(n)))
}

// round keeps six significant digits: what a figure of any run can carry.
func round(v float64) float64 { return text.Round(v, 6) }

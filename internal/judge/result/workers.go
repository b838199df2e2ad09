package result

import "math"

// MergeClients is several workers as one client. OS and architecture are those of own,
// the conductor's.
func MergeClients(own Client, workers []Worker) Client {
	all, cores := Client{OS: own.OS, Arch: own.Arch}, map[string]int{}
	for i := range workers {
		w := &workers[i]
		all.Add(w.Client)
		cores[w.Host] = max(cores[w.Host], w.Client.CPUs)
	}
	all.CPUs = 0
	for _, n := range cores {
		all.CPUs += n
	}
	return all
}

// Add takes in another worker, or another stage: the worst of what makes figures
// doubtful, the sum of what was done.
func (c *Client) Add(o Client) {
	if c.OS == "" {
		c.OS, c.Arch = o.OS, o.Arch
	}
	if o.CPUShare >= c.CPUShare {
		c.CPUShare, c.Machine = o.CPUShare, o.Machine
	}
	c.CPUs = max(c.CPUs, o.CPUs)
	c.CPUSeconds += o.CPUSeconds
	c.GCPauseMS = max(c.GCPauseMS, o.GCPauseMS)
	if math.Abs(o.ClockStepMS) > math.Abs(c.ClockStepMS) {
		c.ClockStepMS = o.ClockStepMS
	}
	c.SchedDelayMS = max(c.SchedDelayMS, o.SchedDelayMS)
	if o.HeldUp != nil {
		if c.HeldUp == nil {
			c.HeldUp = &Holdups{}
		} else {
			c.HeldUp = new(*c.HeldUp) // it may be another's
		}
		c.HeldUp.Add(*o.HeldUp)
	}
	c.SharesHost = c.SharesHost || o.SharesHost
	c.Retransmits += o.Retransmits
	c.Unasked += o.Unasked
	c.Timestamps.Reads += o.Timestamps.Reads
	c.Timestamps.Missing += o.Timestamps.Missing
	if c.Timestamps.Source == "" || o.Timestamps.Source == "user" {
		c.Timestamps.Source = o.Timestamps.Source
	}
}

// Add takes in the worker's figures of another stage. The share is the caller's to
// weigh.
func (w *Worker) Add(o Worker) {
	if o.LagP99MS != nil && (w.LagP99MS == nil || *o.LagP99MS > *w.LagP99MS) {
		w.LagP99MS = o.LagP99MS
	}
	if o.Clock.UncertaintyMS >= w.Clock.UncertaintyMS {
		w.Clock = o.Clock
	}
	w.Shortage += o.Shortage
	w.Client.Add(o.Client)
}

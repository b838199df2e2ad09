package catalog

import "math"

// UsualMemoryShare is the share of the peak bandwidth that reading weights
// reaches.
const UsualMemoryShare = 0.80

// Shares of the peak that real kernels reach, and the fixed costs of a step.
const (
	usualComputeShare = 0.72  // large matrix products
	usualFP8Share     = 0.5   // the same of 8 bits: no kernel reaches twice the rate of 16
	perQuantizedLayer = 15e-6 // seconds more: activations are quantized on the fly, four times
	attendCompute     = 0.5
	attendMemory      = 0.6
	linkShare         = 0.75
	perLayer          = 25e-6 // seconds: launches and element-wise kernels
	perExpertLayer    = 35e-6 // more: routing, sorting and gathering
	perStep           = 150e-6
	perSequence       = 4e-6
	perAllReduce      = 12e-6
	allReduces        = 2 // per layer
	activationSize    = 2 // bytes
)

// StepModel predicts how long a step takes. Linear layers follow a roofline
// whose corner is rounded by a p-norm with p = 1.5, which is what measured
// matrix products do; attention, communication and launches add to it.
type StepModel struct {
	denseRead    float64 // seconds to read the weights that every step reads
	expertRead   float64 // seconds to read all routed experts
	experts      float64
	missOne      float64 // chance that one token leaves one expert alone
	spread       float64 // see Law.ExpertSpread
	tokenCompute float64 // seconds per scheduled token
	headCompute  float64 // seconds per sampled token
	pairGrowing  float64 // seconds per query-key pair, unlimited layers
	pairWindow   float64 // the same, windowed layers
	readGrowing  float64 // seconds per cached token of a decode
	readWindow   float64
	window       int     // tokens that the windowed layers look back
	allReduce    float64 // seconds per step
	tokenLink    float64 // seconds per scheduled token
	fixed        float64
	// ClockDrop is that of Law.
	ClockDrop float64
}

// StepLoad is what a step has to do.
type StepLoad struct {
	Tokens      int     // scheduled
	Sequences   int     // that have any of them
	Growing     int64   // tokens that decodes read back
	Pairs       float64 // query-key pairs of prefills
	sampled     int
	windowed    int64 // as Growing and Pairs, of windowed layers
	windowPairs float64
}

// NewStepModel gives the step times of a deployment whose matrix products and
// weight reads reach the given shares of the accelerator's peak rates.
func NewStepModel(d Deployment, compute, memory float64) StepModel {
	m, a, tp := d.Model, d.Accelerator, float64(d.TP)
	n := m.Params()
	dense, experts := m.stepBytes(d.Weights)
	read := tp * memory * a.Read
	peak, in := a.Rate(d.Weights)
	products := tp * compute * peak
	attend := tp * attendCompute * a.BF16
	kv := m.LayerKVBytes(d.KV, d.TP) / (attendMemory * a.Read)
	growing, windowed := float64(m.GrowingLayers()), float64(m.WindowLayers)
	s := StepModel{
		denseRead:    dense / read,
		expertRead:   experts / read,
		experts:      float64(m.Experts),
		tokenCompute: 2 * float64(m.MatmulParams()-n.Head) / products,
		headCompute:  2 * float64(n.Head) / (tp * compute * a.BF16),
		pairGrowing:  growing * m.attentionFLOPs() / attend,
		pairWindow:   windowed * m.attentionFLOPs() / attend,
		readGrowing:  growing * kv,
		readWindow:   windowed * kv,
		window:       m.Window,
		fixed:        float64(m.Layers)*perLayer + perStep,
		ClockDrop:    compute * a.ClockDrop,
	}
	if in == FP8 || in == FP4 {
		s.fixed += float64(m.Layers) * perQuantizedLayer
	}
	if m.Experts > 0 {
		s.missOne, s.spread = 1-float64(m.TopK)/float64(m.Experts), d.ExpertSpread
		s.fixed += float64(m.ExpertLayers()) * perExpertLayer
	}
	if d.TP > 1 {
		s.allReduce = allReduces * float64(m.Layers) * perAllReduce
		s.tokenLink = allReduces * float64(m.Layers) * 2 * (tp - 1) / tp *
			float64(m.Hidden) * activationSize / (linkShare * a.Link)
	}
	return s
}

// ComputeShare is the share of the peak that large products of weights of
// precision p reach: measured for the device where a figure is known.
func ComputeShare(a Accelerator, p Precision) float64 {
	_, in := a.Rate(p)
	if share, ok := a.Reached[in]; ok {
		return share
	}
	if in == FP8 {
		return usualFP8Share
	}
	return usualComputeShare
}

// Window is how far the windowed layers look back, in tokens; 0 where there
// are none.
func (s *StepModel) Window() int { return s.window }

// Seconds is the time of a step without noise, at full speed.
func (s *StepModel) Seconds(l StepLoad) float64 {
	seconds, _ := s.SecondsAt(l, 1)
	return seconds
}

// SecondsAt is as that of Law.
func (s *StepModel) SecondsAt(l StepLoad, slower float64) (seconds, computing float64) {
	tokens := float64(l.Tokens)
	read := s.denseRead + s.expertRead*s.expertShare(tokens)
	compute := slower * (s.tokenCompute*tokens + s.headCompute*float64(l.sampled))
	pairs := slower * (s.pairGrowing*l.Pairs + s.pairWindow*l.windowPairs)
	linear := math.Cbrt(read*math.Sqrt(read) + compute*math.Sqrt(compute))
	return linear*linear + pairs + s.readGrowing*float64(l.Growing) + s.readWindow*float64(l.windowed) + s.allReduce + s.tokenLink*tokens +
		s.fixed + perSequence*float64(l.Sequences), compute + pairs
}

// Decode adds one generated token of a sequence that then has ctx tokens.
func (l *StepLoad) Decode(ctx, window int) { l.Decodes(1, ctx, window) }

// Decodes adds one generated token for each of n sequences of ctx tokens.
func (l *StepLoad) Decodes(n, ctx, window int) {
	l.Tokens += n
	l.sampled += n
	l.Sequences += n
	l.Growing += int64(n) * int64(ctx)
	l.windowed += int64(n) * int64(min(ctx, window))
}

// Verify adds n tokens of a sequence that then has ctx tokens, of which all but
// one are guesses: they share one read of its cache.
func (l *StepLoad) Verify(n, ctx, window int) {
	l.Tokens += n
	l.sampled += n
	l.Sequences++
	l.Growing += int64(ctx)
	l.windowed += int64(min(ctx, window))
}

// Prefill adds n prompt tokens behind ctx earlier ones; ends says that they
// are the last, so that a token is sampled.
func (l *StepLoad) Prefill(n, ctx, window int, ends bool) {
	l.Tokens += n
	l.Sequences++
	if ends {
		l.sampled++
	}
	seen := float64(ctx) + float64(n)/2
	l.Pairs += float64(n) * seen
	l.windowPairs += float64(n) * min(seen, float64(window))
}

// Ridge is the number of tokens in a step at which reading the weights takes as
// long as multiplying with them: below it a step waits for memory, above it for
// arithmetic. So many tokens touch every expert.
func (s *StepModel) Ridge() float64 { return (s.denseRead + s.expertRead) / s.tokenCompute }

// expertShare is the share of the experts that a step of so many tokens reads.
func (s *StepModel) expertShare(tokens float64) float64 {
	if s.experts == 0 {
		return 0
	}
	return touchedShare(s.missOne, tokens, s.spread)
}

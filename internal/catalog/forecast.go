package catalog

import "math"

// Traffic is what a deployment is asked to do: requests of a mean length, so
// many of them at a time.
type Traffic struct {
	Prompt float64 // tokens, those found in a prefix cache included
	Cached float64 // tokens of the prompt that need not be computed again
	Output float64 // tokens
	// Concurrency is how many requests run beside each other, the one that is
	// looked at included.
	Concurrency float64
}

// resident is the tokens that a request holds in the cache, on average over its
// generation.
func (t Traffic) resident() float64 { return t.Prompt + t.Output/2 }

// Forecast is what arithmetic says of a deployment under traffic. Times are in
// seconds, sizes in bytes, of the whole deployment unless said otherwise.
type Forecast struct {
	Weights       int64   `json:"weights_bytes"`
	KVPerToken    int64   `json:"kv_bytes_per_token"`   // before any window is full
	KVPerRequest  int64   `json:"kv_bytes_per_request"` // of prompt and output together
	Room          float64 `json:"kv_room_bytes"`        // on each accelerator; negative where the weights do not fit
	RoomTokens    float64 `json:"kv_room_tokens"`
	FullAt        float64 `json:"kv_full_at_concurrency"`
	Batch         float64 `json:"batch"`         // requests that run at once: the concurrency, as far as there is room
	Step          float64 `json:"decode_step_s"` // of the batch alone
	TPOT          float64 `json:"tpot_s"`        // with the prompts of others in between
	Prefill       float64 `json:"prefill_s"`     // of the prompt alone on the engine
	TTFT          float64 `json:"ttft_s"`        // beside the batch, without a queue
	DecodeRate    float64 `json:"decode_tokens_per_s"`
	PrefillRate   float64 `json:"prefill_tokens_per_s"`
	Ridge         float64 `json:"ridge_tokens"`
	StepBytesRead float64 `json:"step_bytes_read"` // by each accelerator in a decode step
}

// Fits reports whether a request of the traffic finds room.
func (f Forecast) Fits() bool { return f.Room > 0 && f.FullAt >= 1 }

// Forecast predicts. What does not fit is predicted as if it did, one request
// at a time.
func (d Deployment) Forecast(t Traffic) Forecast {
	steps := d.Steps()
	longest, resident := tokenCount(t.Prompt+t.Output), tokenCount(t.resident())
	f := Forecast{Weights: d.Model.WeightBytes(d.Weights), KVPerToken: d.Model.KVBytesPerToken(d.KV),
		KVPerRequest: d.Model.KVBytes(longest, d.KV), Room: d.kvRoom(), Ridge: steps.Ridge()}
	perToken := float64(d.Model.GrowingLayers()) * d.Model.LayerKVBytes(d.KV, d.TP)
	if perToken > 0 {
		f.RoomTokens = max(0, f.Room) / perToken
	}
	f.FullAt = max(0, f.Room) / float64(max(1, d.Model.rankKVBytes(resident, d.KV, d.TP)))
	f.Batch = max(1, min(t.Concurrency, f.FullAt))
	return d.withTimes(f, t, &steps)
}

// withTimes fills in the times of a forecast, at the clocks that so busy a device has.
func (d Deployment) withTimes(f Forecast, t Traffic, steps *StepModel) Forecast {
	for slower, i := 1.0, 0; ; i++ {
		f = pace{d, t, steps, slower}.times(f)
		if steps.ClockDrop == 0 || i == 4 {
			break
		}
		request := slower * (steps.tokenCompute*(max(0, t.Prompt-t.Cached)+t.Output) + steps.headCompute*t.Output)
		busy := min(1, f.Batch*request/(f.TTFT+t.Output*f.TPOT))
		slower = 1 / (1 - steps.ClockDrop*busy)
	}
	f.StepBytesRead = d.readPerStep(f.Batch, t)
	return f
}

func (p pace) times(f Forecast) Forecast {
	t := p.t
	f.Step = p.step(f.Batch, 0, 0)
	others := f.Batch - 1
	// While a request generates its output, each of the others hands in one
	// prompt, which makes some steps longer.
	f.TPOT = f.Step
	if t.Output > 1 {
		steps := math.Ceil(max(1, t.Prompt-t.Cached) / float64(p.chunk()))
		f.TPOT += others / t.Output * (p.prompt(f.Batch) - steps*f.Step)
	}
	f.Prefill = p.prompt(0)
	// A prompt that arrives waits for the step that is under way: half of one,
	// where there is any.
	f.TTFT = min(1, others)*f.TPOT/2 + p.prompt(others)
	f.DecodeRate = f.Batch / f.TPOT
	f.PrefillRate = max(1, t.Prompt-t.Cached) / f.Prefill
	return f
}

// readPerStep is the bytes that each accelerator reads to generate one token
// for each request of a batch.
func (d Deployment) readPerStep(batch float64, t Traffic) float64 {
	steps := d.Steps()
	dense, experts := d.Model.stepBytes(d.Weights)
	cache := float64(d.Model.rankKVBytes(tokenCount(t.resident()), d.KV, d.TP))
	return (dense+experts*steps.expertShare(batch))/float64(max(1, d.TP)) + batch*cache
}

// Work is the arithmetic of all accelerators for so many prompt tokens that
// had to be computed and so many output tokens.
func (d Deployment) Work(promptTokens, outputTokens float64, t Traffic) float64 {
	m := d.Model
	products := 2 * (float64(m.MatmulParams()-m.Params().Head)*promptTokens + float64(m.MatmulParams())*outputTokens)
	back := func(tokens float64) float64 {
		return float64(m.GrowingLayers())*tokens + float64(m.WindowLayers)*min(tokens, float64(m.Window))
	}
	attention := m.attentionFLOPs() * (promptTokens*back(t.Cached+(t.Prompt-t.Cached)/2) + outputTokens*back(t.resident()))
	return products + attention
}

// Peak is the rate of arithmetic of all accelerators together.
func (d Deployment) Peak() float64 {
	rate, _ := d.Accelerator.Rate(d.Weights)
	return float64(max(1, d.TP)) * rate
}

// MinTP is the smallest number of accelerators, a power of two that divides
// the heads, on which a request of the traffic finds room; 0 where none does.
func (d Deployment) MinTP(t Traffic) int {
	for tp := 1; tp <= 64 && d.Model.Heads%tp == 0; tp *= 2 {
		if tp > 1 && d.Accelerator.Link == 0 {
			return 0
		}
		if d.TP = tp; d.Forecast(t).Fits() {
			return tp
		}
	}
	return 0
}

// pace is the times of one kind of request on one deployment.
type pace struct {
	d     Deployment
	t     Traffic
	model *StepModel
	// slower is how many times as long computing takes as at full speed.
	slower float64
}

// step is the time of a step of so many generating requests beside n prompt
// tokens behind done ones. A batch between two whole numbers takes a time in
// between.
func (p pace) step(batch float64, n, done int) float64 {
	at := func(batch int) float64 {
		var l StepLoad
		l.Decodes(batch, tokenCount(p.t.resident()), p.model.Window())
		if n > 0 {
			l.Prefill(n, done, p.model.Window(), true)
		}
		seconds, _ := p.model.SecondsAt(l, p.slower)
		return seconds
	}
	low := math.Floor(batch)
	return at(int(low)) + (batch-low)*(at(int(low)+1)-at(int(low)))
}

// chunk is the most prompt tokens in a step; engines take no fewer than a few
// blocks.
func (p pace) chunk() int { return max(64, p.d.BatchTokens) }

// prompt is the time from the first to the last of the steps that compute the
// prompt beside so many generating requests.
func (p pace) prompt(batch float64) float64 {
	left, done, seconds := max(1, tokenCount(p.t.Prompt-p.t.Cached)), tokenCount(p.t.Cached), 0.0
	for left > 0 {
		n := min(left, p.chunk())
		seconds += p.step(batch, n, done)
		left, done = left-n, done+n
	}
	return seconds
}

// tokenCount is a number of tokens as a whole one, within what arithmetic bears.
func tokenCount(tokens float64) int {
	return int(math.Round(min(max(0, tokens), maxTokens)))
}

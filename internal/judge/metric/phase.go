package metric

// Phases are the parts of the mean e2e from due, 1 together. They are those of
// requests whose replies were streamed, and absent where some were not.
type Phases struct {
	// Client is our own lateness and the wait for a slot below the cap.
	Client float64 `json:"client"`
	// FirstToken is from sending a request to its first token. Queue, Prefill and Transfer,
	// of the KV cache between pools, are parts of it by the server's own times, and Network
	// is the rest: network, front end, tokenizing. They are absent where the server does not state them.
	FirstToken float64  `json:"first_token"`
	Queue      *float64 `json:"queue,omitempty"`
	Prefill    *float64 `json:"prefill,omitempty"`
	Transfer   *float64 `json:"transfer,omitempty"`
	Network    *float64 `json:"network,omitempty"`
	Decode     float64  `json:"decode"`
	// Overhead is all but prefill and decode.
	Overhead *float64 `json:"overhead,omitempty"`
	// Dominant is the phase that takes more than half, absent where none does.
	Dominant Phase `json:"dominant,omitempty"`
}

// Phase is a part of a request's time.
type Phase string

// The phases that can dominate.
const (
	ClientPhase     Phase = "client"
	FirstTokenPhase Phase = "first_token" // of a server that does not state its parts
	QueuePhase      Phase = "queue"
	PrefillPhase    Phase = "prefill"
	TransferPhase   Phase = "transfer"
	NetworkPhase    Phase = "network"
	DecodePhase     Phase = "decode"
)

// Phases gives the parts of the mean e2e, nil where they are not of the same requests.
func (l *Latency) Phases() *Phases {
	whole, sent, first, streamed := l.E2EDue, l.TTFT, l.TTFTDue, l.Decode
	if whole == nil || sent == nil || first == nil || streamed == nil || streamed.N != whole.N || first.N != whole.N || sent.N != whole.N || whole.Mean <= 0 {
		return nil
	}
	p := &Phases{Client: max(0, first.Mean-sent.Mean) / whole.Mean, FirstToken: sent.Mean / whole.Mean, Decode: streamed.Mean / whole.Mean}
	p.Client, p.FirstToken, p.Decode = round(p.Client), round(p.FirstToken), round(p.Decode)
	p.Dominant = p.dominant()
	return p
}

// Split tells the parts of the first token from each other, where the ledger has
// both queue and prefill.
func (p *Phases) Split(whole *Dist, l *Ledger) {
	waited, computed := l.Part(ledgerNames[QueuePart]), l.Part(ledgerNames[PrefillPart])
	if waited == nil || computed == nil {
		return
	}
	prefill := min(computed.MeanMS/whole.Mean, p.FirstToken)
	queue := min(waited.MeanMS/whole.Mean, p.FirstToken-prefill)
	rest := p.FirstToken - prefill - queue
	if moved := l.Part(ledgerNames[TransferPart]); moved != nil && moved.MeanMS > 0 {
		transfer := min(moved.MeanMS/whole.Mean, rest)
		p.Transfer, rest = new(round(transfer)), rest-transfer
	}
	p.Queue, p.Prefill, p.Network = new(round(queue)), new(round(prefill)), new(round(rest))
	p.Overhead = new(round(p.Client + p.FirstToken - prefill))
	p.Dominant = p.dominant()
}

func (p *Phases) dominant() Phase {
	shares := map[Phase]*float64{DecodePhase: &p.Decode, ClientPhase: &p.Client, QueuePhase: p.Queue, PrefillPhase: p.Prefill, TransferPhase: p.Transfer, NetworkPhase: p.Network}
	if p.Queue == nil {
		shares[FirstTokenPhase] = &p.FirstToken
	}
	for phase, share := range shares {
		if share != nil && *share > 0.5 {
			return phase // no other can
		}
	}
	return ""
}

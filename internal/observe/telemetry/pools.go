package telemetry

import (
	"slices"
	"strings"
)

// The pools of a server that prefills and decodes apart.
const (
	PrefillPool = "prefill"
	DecodePool  = "decode"
)

// PoolUse is what the engines of a pool did over a stretch of time.
type PoolUse struct {
	Name    string `json:"name"`
	Engines int    `json:"engines"`
	// Running and Waiting are sums over the engines, KVUsage their mean.
	Running *Gauge `json:"running,omitempty"`
	Waiting *Gauge `json:"waiting,omitempty"`
	KVUsage *Gauge `json:"kv_usage,omitempty"`
	// QueueMS is the mean time from arrival at an engine until scheduled.
	QueueMS          *float64 `json:"queue_ms,omitempty"`
	PromptTokens     *float64 `json:"prompt_tokens,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
}

// poolByLabels is the pool that the labels of an engine name, as those of Kubernetes,
// SGLang and Dynamo do; "" where none does.
func poolByLabels(values []string) string {
	for _, v := range values {
		prefills, decodes := strings.Contains(v, PrefillPool), strings.Contains(v, DecodePool)
		if prefills != decodes {
			if prefills {
				return PrefillPool
			}
			return DecodePool
		}
	}
	return ""
}

// firstOnly is how many tokens a request has at most, on average, on an engine that only
// prefills, and fewEnded how many requests say so.
const (
	firstOnly = 1.5
	fewEnded  = 10
)

// poolByWork is the pool of an engine by what it did: one token for each prompt, or more.
func poolByWork(r *ReplicaUse) string {
	switch {
	case r.Requests == nil || r.GenerationTokens == nil || *r.Requests < fewEnded:
		return ""
	case *r.GenerationTokens <= firstOnly**r.Requests:
		return PrefillPool
	}
	return DecodePool
}

// pools are the two that the engines are of; nil where they are not of both.
func (w *window) pools(each []ReplicaUse) []PoolUse {
	of := map[string]string{}
	members := map[string]int{}
	for i := range each {
		pool := each[i].Pool
		if pool == "" {
			pool = poolByWork(&each[i])
		}
		of[each[i].Name] = pool
		members[pool]++
	}
	if members[PrefillPool] == 0 || members[DecodePool] == 0 || members[""] > 0 {
		return nil
	}
	var all []PoolUse
	for _, name := range []string{PrefillPool, DecodePool} {
		sum := func(figure func(*Replica) *float64) func(*Reading) *float64 {
			return func(r *Reading) *float64 {
				var total *float64
				for i := range r.Each {
					if v := figure(&r.Each[i]); v != nil && of[r.Each[i].Name] == name {
						if total == nil {
							total = new(0.0)
						}
						*total += *v
					}
				}
				return total
			}
		}
		p := PoolUse{Name: name, Engines: members[name],
			Running:          w.gauge(sum(func(r *Replica) *float64 { return r.Running })),
			Waiting:          w.gauge(sum(func(r *Replica) *float64 { return r.Waiting })),
			KVUsage:          w.gauge(sum(func(r *Replica) *float64 { return r.KVUsage })),
			PromptTokens:     w.rise(sum(func(r *Replica) *float64 { return r.PromptTokens })),
			GenerationTokens: w.rise(sum(func(r *Replica) *float64 { return r.GenerationTokens })),
			QueueMS: ratio(w.rise(sum(func(r *Replica) *float64 { return r.QueueS })),
				w.rise(sum(func(r *Replica) *float64 { return r.Queued })))}
		if p.KVUsage != nil {
			p.KVUsage.Mean /= float64(p.Engines)
			p.KVUsage.Max /= float64(p.Engines)
		}
		if p.QueueMS != nil {
			*p.QueueMS *= 1e3
		}
		all = append(all, p)
	}
	return all
}

// Pool is that of a name, nil where the server has none.
func (u *ServerUse) Pool(name string) *PoolUse {
	i := slices.IndexFunc(u.Pools, func(p PoolUse) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	return &u.Pools[i]
}

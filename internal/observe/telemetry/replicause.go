package telemetry

import "slices"

// ReplicaUse is what one of several replicas did over a stretch of time.
type ReplicaUse struct {
	Name string `json:"name"`
	// Pool is what it says that it does, prefill or decode.
	Pool             string   `json:"pool,omitempty"`
	Running          *Gauge   `json:"running,omitempty"`
	Waiting          *Gauge   `json:"waiting,omitempty"`
	KVUsage          *Gauge   `json:"kv_usage,omitempty"`
	GenerationTokens *float64 `json:"generation_tokens,omitempty"`
	Requests         *float64 `json:"requests,omitempty"`
}

// replicas gives those of the latest page, each over the whole window.
func (w *window) replicas() []ReplicaUse {
	var all []ReplicaUse
	for _, one := range w.pages[len(w.pages)-1].Reading.Each {
		of := func(figure func(*Replica) *float64) func(*Reading) *float64 {
			return func(r *Reading) *float64 {
				i := slices.IndexFunc(r.Each, func(other Replica) bool { return other.Name == one.Name })
				if i < 0 {
					return nil
				}
				return figure(&r.Each[i])
			}
		}
		all = append(all, ReplicaUse{Name: one.Name, Pool: one.Pool,
			Running:          w.gauge(of(func(r *Replica) *float64 { return r.Running })),
			Waiting:          w.gauge(of(func(r *Replica) *float64 { return r.Waiting })),
			KVUsage:          w.gauge(of(func(r *Replica) *float64 { return r.KVUsage })),
			GenerationTokens: w.rise(of(func(r *Replica) *float64 { return r.GenerationTokens })),
			Requests:         w.rise(of(func(r *Replica) *float64 { return r.Requests }))})
	}
	return all
}

// imbalance is by how much the busiest replica did more than the mean of all, of those of
// its pool: engines that prefill do not do what those that decode do.
func imbalance(all []ReplicaUse) (worst *float64) {
	pools := map[string][]ReplicaUse{}
	for _, r := range all {
		pools[r.Pool] = append(pools[r.Pool], r)
	}
	for _, each := range pools {
		if v := imbalanceOf(each); v != nil && (worst == nil || *v > *worst) {
			worst = v
		}
	}
	return worst
}

func imbalanceOf(each []ReplicaUse) *float64 {
	for _, work := range []func(*ReplicaUse) *float64{
		func(r *ReplicaUse) *float64 { return r.GenerationTokens },
		func(r *ReplicaUse) *float64 { return r.Requests },
		func(r *ReplicaUse) *float64 { return r.Running.mean() },
	} {
		var done []float64
		var sum float64
		for i := range each {
			if v := work(&each[i]); v != nil {
				done = append(done, *v)
				sum += *v
			}
		}
		if len(done) > 1 && len(done) == len(each) && sum > 0 {
			return new(slices.Max(done)*float64(len(done))/sum - 1)
		}
	}
	return nil
}

package telemetry

import "strconv"

// fragmentation is the share of the KV blocks in use that holds no token: by
// the engine's own count of tokens, else by what each running sequence leaves
// empty of its last block, half of it on average.
func (r *Reading) fragmentation() *float64 {
	block := r.setting("block_size")
	if r.KVUsage == nil || r.fragmentationBy() == "" {
		return nil
	}
	reserved := *r.KVUsage * r.setting("num_gpu_blocks") * block * float64(r.Replicas)
	if reserved < block {
		return nil // nothing is in use
	}
	empty := 0.0
	if r.KVTokens != nil {
		empty = reserved - *r.KVTokens
	} else {
		empty = *r.Running * (block - 1) / 2
	}
	return new(min(1, max(0, empty/reserved)))
}

// fragmentationBy says how the fragmentation is known, "" where it is not.
func (r *Reading) fragmentationBy() string {
	switch {
	case r.setting("block_size") == 0 || r.setting("num_gpu_blocks") == 0:
		return ""
	case r.KVTokens != nil:
		return "tokens"
	case r.Running != nil:
		return "blocks"
	}
	return ""
}

// setting is a number of the engine's configuration, 0 where it has none.
func (r *Reading) setting(name string) float64 {
	n, err := strconv.Atoi(r.Config[name])
	if err != nil {
		return 0
	}
	return float64(max(0, n))
}

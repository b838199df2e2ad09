package config

import (
	"fmt"
	"maps"
	"slices"

	"redline/internal/text"
)

// Metadata is what the user wants remembered of the set-up. Keys of the list
// below stand in the result where they belong; any other is kept as it is.
type Metadata map[string]string

// metadataKeys are the keys that a result has a place for; docs/reference/PLAN.md says
// what each is about.
var metadataKeys = []string{
	"label", "note",
	"engine", "engine_version", "parallelism", "flags",
	"model_revision", "model_size", "tokenizer", "precision", "kv_precision", "quantization", "expert_spread",
	"hardware", "gpus", "driver", "cuda", "interconnect", "notes",
	"rollback_risk",
}

// alias are other names that mean the same.
var alias = map[string]string{"model_revision": "revision", "flags": "server_flags", "notes": "hardware_notes"}

// Get gives what stands under a key or under its other name.
func (m Metadata) Get(key string) string {
	if text := m[key]; text != "" {
		return text
	}
	return m[alias[key]]
}

// Doubts are unknown keys that look like one that is known.
func (m Metadata) Doubts() []string {
	known := slices.AppendSeq(slices.Clone(metadataKeys), maps.Values(alias))
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(known, key) {
			continue
		}
		if name := text.Nearest(key, known); name != "" {
			all = append(all, fmt.Sprintf("metadata.%s is kept, but means nothing to the report: did you mean %s?", key, name))
		}
	}
	return all
}

package config

import (
	"fmt"
	"maps"
	"slices"

	"redline/internal/near"
)

// Metadata is what the user wants remembered of the set-up. Keys of the table
// below stand in the result where they belong; any other is kept as it is.
type Metadata map[string]string

// MetadataKeys are the keys that a report knows the meaning of, each with what
// it is about.
var MetadataKeys = []struct{ Key, About string }{
	{"label", "short name of the run, part of its directory's"},
	{"note", "anything worth remembering"},
	{"engine", "what serves the model, where the server does not tell"},
	{"engine_version", "its version"},
	{"model_revision", "which state of the model's files; also `revision`"},
	{"tokenizer", "the server's tokenizer"},
	{"precision", "in which the weights are computed with: bf16"},
	{"quantization", "how the weights are stored: awq, fp8, Q4_K_M"},
	{"parallelism", "how the model is laid over accelerators: tp 4, pp 2"},
	{"flags", "the settings that the server was started with; also `server_flags`"},
	{"hardware", "the accelerator: H100-SXM"},
	{"gpus", "how many of them serve the model"},
	{"driver", "version of its driver"},
	{"cuda", "version of CUDA or ROCm"},
	{"interconnect", "what joins accelerators and nodes: NVLink, 400G InfiniBand"},
	{"notes", "what else a reader should know of the machine: shared node; also `hardware_notes`"},
	{"rollback_risk", "what it takes to go back, for the protocol's report"},
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

// Doubts are keys that nobody knows and that look like one that is known.
func (m Metadata) Doubts() []string {
	known := slices.Collect(maps.Values(alias))
	for _, k := range MetadataKeys {
		known = append(known, k.Key)
	}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(known, key) {
			continue
		}
		if name := near.Name(key, known); name != "" {
			all = append(all, fmt.Sprintf("metadata.%s is kept, but means nothing to the report: did you mean %s?", key, name))
		}
	}
	return all
}

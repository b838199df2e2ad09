package sim

// EngineSchema names the format of a file that describes an engine.
const EngineSchema = "redline/engine/1"

// EngineFile is an engine written down: a Spec, where it came from, and how
// well it reproduces what it was fitted to.
type EngineFile struct {
	Schema string `yaml:"schema"`
	Spec   `yaml:",inline"`
	// Fitted says from what and how well; it decides nothing.
	Fitted map[string]any `yaml:"fitted,omitempty"`
}

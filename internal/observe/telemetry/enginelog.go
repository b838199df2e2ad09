package telemetry

// EngineLog is what an engine's log said while a run went on.
type EngineLog struct {
	// Source is the file or command that was followed.
	Source string `json:"source"`
	// Lines and Bytes are what came; Cut says that not all of it was kept.
	Lines int64 `json:"lines"`
	Bytes int64 `json:"bytes"`
	Cut   bool  `json:"cut,omitempty"`
	// Kinds counts lines that report errors: "preemption", "out of memory",
	// "error".
	Kinds map[string]int64 `json:"kinds,omitempty"`
	// Excerpt is the first line of each kind.
	Excerpt []string `json:"excerpt,omitempty"`
	// Failure is why the log could not be followed to the end.
	Failure string `json:"failure,omitempty"`
}

package result

import "redline/internal/judge/slo"

// Isolation is how those who share a server fare alone and all together.
type Isolation struct {
	Parties  []IsolatedParty `json:"parties"`
	Standing slo.Standing    `json:"outcome"`
	Verdict  string          `json:"verdict"`
	// Jain is his index of what each kept of what it gets alone: 1 is all alike.
	Jain *float64 `json:"jain,omitempty"`
}

// IsolatedParty is a class or a tenant.
type IsolatedParty struct {
	Name     string `json:"name"`
	Priority *int   `json:"priority,omitempty"`
	// Alone and Beside are how its objectives stand without the others and with them.
	Alone    slo.Standing `json:"alone"`
	Beside   slo.Standing `json:"beside"`
	Standing slo.Standing `json:"outcome"`
	Verdict  string       `json:"verdict"`
	// AskedPerS is its output in tokens/s alone, at its part of the load, and GotPerS beside
	// the others; the shares are of all parties.
	AskedPerS  float64 `json:"asked_tokens_per_s"`
	GotPerS    float64 `json:"got_tokens_per_s"`
	AskedShare float64 `json:"asked_share"`
	GotShare   float64 `json:"got_share"`
	// The p99 of its time to first token.
	TTFTAlone  *float64 `json:"ttft_alone_ms,omitempty"`
	TTFTBeside *float64 `json:"ttft_beside_ms,omitempty"`
	// LongestWaitMS is its longest time to first token beside the others, of those that
	// ended well; Unfinished counts the rest.
	LongestWaitMS float64 `json:"longest_wait_ms,omitempty"`
	Unfinished    int     `json:"unfinished,omitempty"`
}

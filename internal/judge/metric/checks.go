package metric

// Checks counts the ok replies that were compared with what was asked for.
type Checks struct {
	// Requests are those that asked for it and ended ok, Checked those whose reply
	// had something to compare.
	Requests int `json:"requests"`
	Checked  int `json:"checked"`
	OK       int `json:"ok"`
	// OKFraction is OK over Checked, absent where nothing was.
	OKFraction *float64 `json:"ok_fraction,omitempty"`
	// TTFT lays the requests that asked for it beside the others; absent where
	// there are too few of either.
	TTFT *Difference `json:"ttft_difference,omitempty"`
	// Faults counts the others by what was wrong with them.
	Faults map[string]int `json:"faults,omitempty"`
}

// Calls are the checks of tool calls, and Schemas those of texts.
type (
	Calls   struct{ Checks }
	Schemas struct{ Checks }
)

// Difference is that between two parts of the requests of one window, as a share
// of the second, between geometric means, with the bounds of its interval at 95%:
// of differences within stretches of the window, in which the load is the same.
type Difference struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	With  int     `json:"with"`
	// Without is how many requests are in the second part.
	Without int `json:"without"`
}

// Add counts a reply; check is "" where there was nothing to compare, and ok what
// it is where all is well.
func (c *Checks) Add(check, ok string) {
	switch c.Requests++; check {
	case "":
		return
	case ok:
		c.OK++
	default:
		add(&c.Faults, check)
	}
	c.Checked++
}

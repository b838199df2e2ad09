package result

// Repeats is how far runs of one plan lie apart.
type Repeats struct {
	Runs    int      `json:"runs"`
	Metrics []Spread `json:"metrics"`
	// Point is the index of the point with the figures of all runs together.
	Point *int `json:"point,omitempty"`
}

// Spread is one metric over several runs.
type Spread struct {
	Name string `json:"name"`
	Load string `json:"load,omitempty"`
	Unit string `json:"unit"`
	// N is how many runs have it.
	N    int     `json:"n"`
	Mean float64 `json:"mean"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	// CV is the standard deviation between runs over their mean.
	CV *float64 `json:"cv,omitempty"`
	// WithinCV is the same as the runs' own intervals predict it; a CV far
	// above it says that runs differ by more than a single one can show.
	WithinCV *float64 `json:"within_cv,omitempty"`
	// Interval bounds the mean at 95 % by Student's t over the runs, so it
	// includes what differs between them.
	Interval *[2]float64 `json:"interval,omitempty"`
}

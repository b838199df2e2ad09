package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"redline/internal/regular"
	"redline/internal/text"
	"redline/internal/traffic/workload"
)

// setLimit takes a rate, or the directory of a run that found one. The plan
// that is kept has the rate, so that it says the same wherever it is read.
func setLimit(c *Config, values []string) error {
	text := values[0]
	rate, err := strconv.ParseFloat(text, 64)
	if err == nil {
		c.Load.Limit = rate
		return nil
	}
	c.Load.Limit, err = foundLimit(text)
	return err
}

// foundLimit reads the limit that a run left behind.
func foundLimit(dir string) (float64, error) {
	content, err := regular.Read(filepath.Join(dir, "result.json"))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(dir); err != nil {
			return 0, fmt.Errorf("expected requests per second or the directory of a run, got %s, which is neither", quote(dir))
		}
		return 0, fmt.Errorf("%s holds no result.json: expected the directory of a run that found a limit", quote(dir))
	}
	if err != nil {
		return 0, err
	}
	var kept struct {
		Limit *struct {
			Rate float64 `json:"rate"`
		} `json:"limit"`
	}
	if err := json.Unmarshal(content, &kept); err != nil {
		return 0, fmt.Errorf("%s: is no result: %s", filepath.Join(dir, "result.json"), text.Reason(err))
	}
	switch {
	case kept.Limit == nil:
		return 0, fmt.Errorf("the run in %s did not search for a limit: give the rate itself, or a run that searched for it", quote(dir))
	case !(kept.Limit.Rate > 0):
		return 0, fmt.Errorf("the run in %s met its objectives at no rate, so there is no limit to exceed: give the rate itself", quote(dir))
	}
	return kept.Limit.Rate, nil
}

// madeTenants is how many there are where a hot spot is asked for and the
// workload has none.
const madeTenants = 10

// hotSpot gives one tenant the share that the profile says. A workload with a
// hot spot of its own keeps it.
func (c *Config) hotSpot() error {
	share := c.Load.HotSpot()
	w := &c.Workload
	if share == 0 || w.HotSpot != nil {
		return nil
	}
	if len(w.Tenants) == 0 {
		w.Tenants = []workload.Tenant{{Name: "tenant", Count: madeTenants}}
	}
	names, _ := w.TenantNames()
	if len(names) < 2 {
		return c.errorAt("load_profile.profile", "a hot spot is one tenant among others, but the workload has one alone")
	}
	w.HotSpot = &workload.HotSpot{Tenant: names[0], Share: share}
	return nil
}

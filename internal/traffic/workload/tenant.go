package workload

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"redline/internal/llm"
	"redline/internal/text"
	"redline/internal/traffic/cancel"
	"redline/internal/traffic/dist"
)

// Tenant is one of several customers who share a server.
type Tenant struct {
	Name string `yaml:"name"`
	// Share is in proportion to the other tenants'; 0 counts as 1.
	Share float64 `yaml:"share,omitempty"`
	// Count makes so many tenants of it, called name-1 to name-Count, who
	// divide the share among them by Popularity.
	Count      int             `yaml:"count,omitempty"`
	Popularity dist.Popularity `yaml:"popularity,omitempty"`
	// Additions are what its requests have of their own.
	llm.Additions `yaml:",inline"`
}

// HotSpot turns a share of the load to one tenant, or none where that one is
// Excluded; the others divide the rest as before.
type HotSpot struct {
	Tenant   string  `yaml:"tenant"`
	Share    float64 `yaml:"share,omitempty"`
	Excluded bool    `yaml:"excluded,omitempty"`
}

// String is how a workload's name shows it.
func (h HotSpot) String() string {
	if h.Excluded {
		return fmt.Sprintf("without(%s)", h.Tenant)
	}
	return fmt.Sprintf("hot_spot(%s:%v)", h.Tenant, h.Share)
}

// tenant is a Tenant as it stands in a request.
type tenant struct {
	name string
	adds llm.Additions
}

// ModelOf is the model or adapter that a tenant asks in place of its classes' and the
// provider's; empty where it has none of its own.
func (s Spec) ModelOf(tenant string) string {
	for _, t := range s.Tenants {
		number, one := strings.CutPrefix(tenant, t.Name+"-")
		if _, err := strconv.Atoi(number); tenant == t.Name && t.Count == 0 || t.Count > 0 && one && err == nil {
			return cmp.Or(t.Adapter, t.Model)
		}
	}
	return ""
}

// tenants assigns one to each session.
type tenants struct {
	list []tenant
	// entries are the first of each entry of the plan that has a share.
	entries []tenant
	byName  map[string]*tenant
	shares  dist.Urn
}

// maxTenants bounds their number.
const maxTenants = 1_000_000

// validateTenants says what is wrong with the list.
func (s Spec) validateTenants() error {
	seen := map[string]bool{}
	for i, t := range s.Tenants {
		if err := t.validate(); err != nil {
			return fmt.Errorf("tenants[%d]: %w", i, err)
		}
		if seen[t.Name] {
			return fmt.Errorf("tenants[%d]: the name %q is taken; choose another", i, text.Brief(t.Name))
		}
		seen[t.Name] = true
	}
	if s.HotSpot == nil {
		return nil
	}
	if err := s.HotSpot.validate(tenantNames(s.Tenants)); err != nil {
		return fmt.Errorf("hot_spot%w", err)
	}
	return nil
}

// validate says what is wrong with the hot spot of so many tenants, from the
// key on.
func (h HotSpot) validate(names []string) error {
	switch {
	case len(names) == 0:
		return errors.New(": there are no tenants, expected at least two of them")
	case h.Excluded && h.Share != 0:
		return fmt.Errorf(".share: one that is excluded has none, got %v", h.Share)
	case h.Excluded && len(names) < 2:
		return errors.New(".excluded: without its only tenant there is no load, expected at least two of them")
	case !h.Excluded && !(h.Share > 0 && h.Share <= 1):
		return fmt.Errorf(".share: must be above 0 and up to 1, got %v", h.Share)
	case !slices.Contains(names, h.Tenant):
		return fmt.Errorf(".tenant: %w", unknownName("tenant", h.Tenant, names[:min(len(names), 20)]))
	}
	return nil
}

func (t Tenant) validate() error {
	switch {
	case strings.TrimSpace(t.Name) == "":
		return errors.New("name: is missing, expected one such as acme")
	case !(t.Share >= 0 && t.Share <= 1e9):
		return fmt.Errorf("share: expected a number of at least 0, got %v", t.Share)
	case t.Count < 0 || t.Count > maxTenants:
		return fmt.Errorf("count: must be 0 to %d, got %d", maxTenants, t.Count)
	}
	if err := cancel.Validate(t.Additions); err != nil {
		return err
	}
	if err := t.Popularity.Validate(); err != nil {
		return fmt.Errorf("popularity: %w", err)
	}
	return nil
}

// expand gives the names that one entry stands for, and the weight of each.
func (t Tenant) expand() (names []string, weights []float64) {
	share := cmp.Or(t.Share, 1)
	if t.Count == 0 {
		return []string{t.Name}, []float64{share}
	}
	weights = t.Popularity.Shares(t.Count)
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	for i := range weights {
		names = append(names, fmt.Sprintf("%s-%d", t.Name, i+1))
		weights[i] *= share / sum
	}
	return names, weights
}

// TenantNames lists the workload's tenants, each of those that one entry stands
// for. They are all there are unless a file may name more.
func (s Spec) TenantNames() (names []string, all bool) {
	files := s.File != "" || slices.ContainsFunc(s.Classes, func(c Class) bool { return c.Workload.File != "" })
	return tenantNames(s.Tenants), !files
}

func tenantNames(list []Tenant) []string {
	var names []string
	for _, t := range list {
		expanded, _ := t.expand()
		names = append(names, expanded...)
	}
	return names
}

func newTenants(list []Tenant, hot *HotSpot) *tenants {
	if len(list) == 0 {
		return nil
	}
	out := &tenants{byName: map[string]*tenant{}}
	var weights []float64
	for _, t := range list {
		names, shares := t.expand()
		for _, name := range names {
			out.list = append(out.list, tenant{name, t.Additions})
		}
		weights = append(weights, shares...)
	}
	for i := range out.list {
		out.byName[out.list[i].name] = &out.list[i]
	}
	weights = out.addHotSpot(weights, hot)
	out.shares = dist.NewUrn(weights)
	for i, before := 0, 0; i < len(list); i++ {
		if weights[before] > 0 {
			out.entries = append(out.entries, out.list[before])
		}
		before += max(1, list[i].Count)
	}
	return out
}

// addHotSpot turns the hot spot's share to its tenant.
func (t *tenants) addHotSpot(weights []float64, hot *HotSpot) []float64 {
	if hot == nil {
		return weights
	}
	others := 0.0
	for i, w := range weights {
		if t.list[i].name != hot.Tenant {
			others += w
		}
	}
	for i := range weights {
		switch {
		case t.list[i].name == hot.Tenant:
			weights[i] = hot.Share
		case others > 0:
			weights[i] *= (1 - hot.Share) / others
		}
	}
	return weights
}

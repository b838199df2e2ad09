package workload

import "cmp"

// Parties are those who share a server: the classes or, where there are not two of
// them, the tenants that are named one by one.
func (s Spec) Parties() (names []string, tenants bool) {
	for _, c := range s.classes() {
		names = append(names, c.Name)
	}
	if len(names) > 1 {
		return names, false
	}
	names = nil
	for _, t := range s.Tenants {
		if t.Count == 0 {
			names = append(names, t.Name)
		}
	}
	return names, true
}

// Alone is the workload of one party, and the share of the load that it is.
func (s Spec) Alone(name string) (alone Spec, share float64) {
	alone = s
	total, own := 0.0, 0.0
	if _, tenants := s.Parties(); tenants {
		alone.Tenants, alone.HotSpot = nil, nil
		for _, t := range s.Tenants {
			if total += cmp.Or(t.Share, 1); t.Name == name {
				own, alone.Tenants = cmp.Or(t.Share, 1), []Tenant{t}
			}
		}
		return alone, own / total
	}
	alone.Classes = nil
	for _, c := range s.classes() {
		if total += c.weight(); c.Name == name {
			own, alone.Classes = c.weight(), []Class{c}
		}
	}
	if findMix(s.Preset) != nil {
		alone.Preset = ""
	}
	return alone, own / total
}

// PriorityOf is what the scheduler is told of a party, nil for nothing.
func (s Spec) PriorityOf(name string) *int {
	for _, c := range s.classes() {
		if c.Name == name && c.Priority != nil {
			return c.Priority
		}
	}
	for _, t := range s.Tenants {
		if t.Name == name {
			return t.Priority
		}
	}
	return nil
}

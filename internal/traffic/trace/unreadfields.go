package trace

import "redline/internal/text"

// unreadFields counts, by name, the rows with a field that has no role.
type unreadFields struct {
	rows  map[string]*int
	found []*int // in the row that is being read
}

// see notes a field of the row that is being read, unless it says nothing.
func (u *unreadFields) see(name, value []byte) {
	if text := string(value); text == "" || text == "null" || text == `""` {
		return
	}
	n := u.rows[string(name)]
	if n == nil {
		if len(u.rows) == 1000 { // a log whose keys are data must not fill the memory
			return
		}
		if u.rows == nil {
			u.rows = map[string]*int{}
		}
		n = new(int)
		u.rows[string(name)] = n
	}
	u.found = append(u.found, n)
}

// next ends a row; one that was left out does not count.
func (u *unreadFields) next(counts bool) {
	for _, n := range u.found {
		if counts {
			*n++
		}
	}
	u.found = u.found[:0]
}

// note names the fields, those of most rows first, "" for none.
func (u *unreadFields) note(what string) string {
	counts := map[string]int{}
	for name, n := range u.rows {
		if *n > 0 {
			counts[name] = *n
		}
	}
	if len(counts) == 0 {
		return ""
	}
	return what + " that are not used, and in how many rows: " + text.Tally(counts)
}

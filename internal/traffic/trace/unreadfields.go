package trace

import (
	"cmp"

	"redline/internal/text"
)

// unreadFields counts, by name, the rows with a field that has no role.
type unreadFields struct {
	rows  map[string]*int
	found []*int // in the row that is being read
	// spelled are the names as the log has them, where they are known by others.
	spelled map[string]string
}

// see notes a field of the row that is being read, unless it says nothing, and
// reports whether it is the first of that name.
func (u *unreadFields) see(name, value []byte) (first bool) {
	if text := string(value); text == "" || text == "null" || text == `""` {
		return false
	}
	n := u.rows[string(name)]
	if n == nil {
		if len(u.rows) == 1000 { // a log whose keys are data must not fill the memory
			return false
		}
		if u.rows == nil {
			u.rows = map[string]*int{}
		}
		n, first = new(int), true
		u.rows[string(name)] = n
	}
	u.found = append(u.found, n)
	return first
}

// spell says how the log writes a name.
func (u *unreadFields) spell(name, spelled string) {
	if u.spelled == nil {
		u.spelled = map[string]string{}
	}
	u.spelled[name] = spelled
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
			counts[cmp.Or(u.spelled[name], name)] = *n
		}
	}
	if len(counts) == 0 {
		return ""
	}
	return what + " that are not used, and in how many rows: " + text.Tally(counts)
}

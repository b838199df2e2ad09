package trace

import (
	"cmp"

	"redline/internal/text"
)

// unreadFields counts, by name, the rows with a field that has no role.
type unreadFields struct {
	rows  map[string]*unreadField
	found []*unreadField // in the row that is being read
}

type unreadField struct {
	title string
	rows  int
}

// see notes a field of the row that is being read, unless it says nothing. Where
// the row is an object, that has the name as people wrote it.
func (u *unreadFields) see(name, value, object []byte) {
	if text := string(value); text == "" || text == "null" || text == `""` {
		return
	}
	field := u.rows[string(name)]
	if field == nil {
		if len(u.rows) == 1000 { // a log whose keys are data must not fill the memory
			return
		}
		if u.rows == nil {
			u.rows = map[string]*unreadField{}
		}
		field = &unreadField{title: cmp.Or(spellPath(object, string(name)), string(name))}
		u.rows[string(name)] = field
	}
	u.found = append(u.found, field)
}

// next ends a row; one that was left out does not count.
func (u *unreadFields) next(counts bool) {
	for _, field := range u.found {
		if counts {
			field.rows++
		}
	}
	u.found = u.found[:0]
}

// note names the fields, those of most rows first, "" for none.
func (u *unreadFields) note(what string) string {
	counts := map[string]int{}
	for _, field := range u.rows {
		if field.rows > 0 {
			counts[field.title] = field.rows
		}
	}
	if len(counts) == 0 {
		return ""
	}
	return what + " that are not used, and in how many rows: " + text.Tally(counts)
}

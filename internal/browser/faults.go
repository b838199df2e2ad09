package browser

import _ "embed"

//go:embed faults.js
var faultsJS string

// Faults are what keeps people from reading a page: that it is wider than its
// window, text or lines of too little contrast (WCAG 2.2: 4.5 to 1, 3 to 1 for
// large text and for graphics), tables without headers, charts without words,
// fields without names, and what takes the focus without showing it.
func Faults(p *Page) []string {
	list, err := Ask[[]string](p, faultsJS)
	if err != nil {
		return []string{err.Error()}
	}
	return list
}

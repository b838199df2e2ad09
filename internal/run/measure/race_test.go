//go:build race

package measure

// raced says that the race detector watches, which takes ten times as long: it
// needs every way through the code once, not the length of a run.
const raced = true

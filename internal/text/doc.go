// Package text makes what people read: numbers with their units, percentages,
// times, sizes, money, plurals, lists and quotations, the name that a mistyped
// word was probably meant to be, and, of text from outside, what may be shown
// and kept (masked, then escaped, then cut). It takes values and gives text; it
// knows nothing of what the values measure.
package text

package text

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Plural counts things: "1 request", "2,000 requests". many is for what takes
// more than an s: "requests were", "series".
func Plural[N int | int64 | uint64](n N, one string, many ...string) string {
	return Units(Count(n), one, many...)
}

// Units is Plural for a number that is written already: "1 point", "1.5 points".
func Units(number, one string, many ...string) string {
	switch {
	case number == "1":
		return "1 " + one
	case len(many) > 0:
		return number + " " + many[0]
	}
	return number + " " + one + "s"
}

// List joins names as a sentence does: "a, b and c".
func List(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// Tally lists names with their counts, the most frequent first, as far as a line has
// room: "a 12, b 3 and 5 more".
func Tally(counts map[string]int) string {
	const limit = 12
	names, rest := MostFrequent(counts), ""
	if n := len(names) - limit; n > 0 {
		names, rest = names[:limit], " and "+Count(n)+" more"
	}
	return strings.Join(Each(names, func(name string) string { return name + " " + Count(counts[name]) }), ", ") + rest
}

// MostFrequent sorts names by their counts, and by themselves where these are equal.
func MostFrequent(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int { return cmp.Or(counts[b]-counts[a], strings.Compare(a, b)) })
}

// Join puts a separator between the parts that are there.
func Join(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(parts), func(part string) bool { return part == "" }), separator)
}

// Quote is a value in an error: on one line, and cut where it is long.
func Quote(s string) string { return strconv.Quote(Brief(s)) }

// Brief keeps a word from filling the screen.
func Brief(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// Shell is a word as a shell reads it back.
func Shell(word string) string {
	special := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_=+,./:@%^", r)
	}
	if word == "" || strings.ContainsFunc(word, special) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Each gives a word for every item of a list.
func Each[T, W any](list []T, word func(T) W) []W {
	var words []W
	for _, item := range list {
		words = append(words, word(item))
	}
	return words
}

// Moment is a time as every page shows it, whatever the zone of its reader.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

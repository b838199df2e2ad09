package text

import "strings"

// maxWord bounds the work on words that nobody typed by hand.
const maxWord = 64

// Nearest gives the known name that is nearest to word, or "" where none is near:
// up to a third of the letters may be wrong, and a beginning of at least three
// letters counts as one mistake. Case does not count.
func Nearest(word string, known []string) string {
	best, least := "", (len(word)+2)/3+1
	for _, k := range known {
		d := edits(strings.ToLower(word), strings.ToLower(k))
		if len(word) > 2 && strings.HasPrefix(strings.ToLower(k), strings.ToLower(word)) {
			d = min(d, 1)
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// Hint is Nearest as a question to put behind an error, or "".
func Hint(word string, known []string) string {
	if name := Nearest(word, known); name != "" {
		return "did you mean " + name + "?"
	}
	return ""
}

// Cure is what to write in place of an unknown word: the nearest that is known,
// or all of them.
func Cure(word string, known []string) string {
	if hint := Hint(word, known); hint != "" {
		return hint
	}
	return "expected one of " + strings.Join(known, ", ")
}

// HintWithKnown is Hint, and all that are known.
func HintWithKnown(word string, known []string) string {
	return Join(" ", Hint(word, known), "known: "+strings.Join(known, ", "))
}

// edits counts the insertions, deletions, replacements and swaps of neighbours
// that turn a into b.
func edits(a, b string) int {
	if len(a) > maxWord || len(b) > maxWord {
		return max(len(a), len(b))
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			next[j] = min(row[j]+1, next[j-1]+1, row[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], before[j-2]+1)
			}
		}
		before, row, next = row, next, before
	}
	return row[len(b)]
}

package document

import (
	"regexp"
	"slices"
	"strings"
)

// A command of this program stands in many texts, with prose before and after it.
// Whoever pastes it gets what was meant: no line breaks within it but behind a
// backslash, and never within a quoted word.

var (
	assignment = regexp.MustCompile(`^\(?[A-Z_]+=\S+$`)
	separator  = regexp.MustCompile(`^[^\w'"|<>&-]*$`)
	plainWord  = regexp.MustCompile(`^[a-z][a-z-]*$`)
)

// punctuation is what may end a command in prose.
const punctuation = ",;:.)"

// split takes a text apart into words and commands; a command has several words.
func split(text string) (units [][]string) {
	words := fields(text)
	for len(words) > 0 {
		command := shellWords(words)
		unit := command[:max(1, commandLength(command))]
		units = append(units, unit)
		words = words[len(fields(strings.Join(unit, " "))):]
	}
	return units
}

// fields are the words of a text; a hard space joins two.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' })
}

// shellWords joins the words between quotes where a command begins.
func shellWords(words []string) []string {
	if len(words) < 2 || !slices.ContainsFunc(words[:2], func(w string) bool { return strings.TrimLeft(w, "(`") == "redline" }) {
		return words[:1]
	}
	var joined []string
	for i := 0; i < len(words); i++ {
		end := i
		for end < len(words) && strings.Count(strings.Join(words[i:end+1], " "), "'")%2 == 1 {
			end++
		}
		if end == len(words) { // an apostrophe
			end = i
		}
		joined = append(joined, strings.Join(words[i:end+1], " "))
		i = end
	}
	return joined
}

// commandLength is how many of the words are the command that they begin with:
// the program, up to three plain words, and then flags with their values and what
// no prose has, such as paths and numbers. Prose that follows may be taken for a
// part of it; that only keeps a few words on one line.
func commandLength(words []string) int {
	n := 0
	if assignment.MatchString(words[0]) {
		n = 1
	}
	if n >= len(words) || strings.TrimLeft(words[n], "(`") != "redline" {
		return 0
	}
	plain, flag := 3, false
	for n++; n < len(words); n++ {
		word := strings.TrimRight(words[n], punctuation)
		switch {
		case separator.MatchString(word):
			return n
		case flag || !plainWord.MatchString(word):
			plain = 0
		case plain > 0:
			plain--
		default:
			return n
		}
		flag = strings.HasPrefix(word, "-") && !strings.Contains(word, "=")
		if word != words[n] {
			return n + 1
		}
	}
	return n
}

// breakCommand lays out a command that is longer than a line, each flag with its
// value where a line holds both.
func breakCommand(words []string, width int) []string {
	lines := []string{words[0]}
	for i := 1; i < len(words); i++ {
		part := words[i]
		if i+1 < len(words) && strings.HasPrefix(part, "-") && !strings.HasPrefix(words[i+1], "-") && Visible(part+" "+words[i+1]+` \`) <= width {
			i++
			part += " " + words[i]
		}
		last := &lines[len(lines)-1]
		if Visible(*last+" "+part+` \`) > width {
			*last += ` \`
			lines = append(lines, part)
			continue
		}
		*last += " " + part
	}
	return lines
}

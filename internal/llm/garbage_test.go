package llm

import (
	"fmt"
	"testing"
)

func TestFindGarbage(t *testing.T) {
	t.Parallel()
	for reply, want := range map[string][]Garbage{
		"": {EmptyText}, " \n": {EmptyText},
		"a\xff b":                                  {CutCharacter},
		"a \uFFFD b":                               {CutCharacter},
		"at the end \xe2\x82":                      nil, // by the limit on its length
		"It was so. no no no no no no no":          {RepeatsText},
		"\uFFFD no no no no no no no":              {CutCharacter, RepeatsText},
		"The day is long, and the night is short.": nil,
	} {
		if got := FindGarbage(reply); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %q, want %q", reply, got, want)
		}
	}
}

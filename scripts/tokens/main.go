// Command tokens encodes texts, so that compare.py can hold them against
// another tokenizer: it reads one JSON string per line and writes one JSON
// list of token ids per line.
//
//	tokens TOKENIZER.JSON|EMBEDDED <texts.jsonl >ids.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"redline/internal/traffic/token"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tokens TOKENIZER.JSON|EMBEDDED <texts.jsonl >ids.jsonl")
		os.Exit(2)
	}
	if err := encode(os.Args[1], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tokens:", err)
		os.Exit(1)
	}
}

// encode writes the ids of every text that r holds, by an embedded vocabulary
// or by that in a file.
func encode(name string, r io.Reader, w io.Writer) error {
	vocabulary, ok := token.Embedded(name)
	if !ok {
		var err error
		if vocabulary, err = token.Load(name); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(w)
	texts, ids := json.NewDecoder(r), json.NewEncoder(out)
	for {
		var text string
		if err := texts.Decode(&text); errors.Is(err, io.EOF) {
			return out.Flush()
		} else if err != nil {
			return err
		}
		encoded := vocabulary.Encode([]int32{}, text)
		if n := vocabulary.Count(text); n != len(encoded) {
			return fmt.Errorf("%q: counted %d, encoded %d", text, n, len(encoded))
		}
		if err := ids.Encode(encoded); err != nil {
			return err
		}
	}
}

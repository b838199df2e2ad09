// Command gen writes the JSON Schemas beside package schema from the Go types
// that the documents are made of. It is run by go generate and is no part of
// redline itself, so that the reflection library is not either.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := write(filepath.Join("..", "..", "..")); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// write makes every schema of the module that root is the directory of.
func write(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	all, err := generate()
	if err != nil {
		return err
	}
	for name, data := range all {
		path := filepath.Join("internal", "plan", "schema", name+".schema.json")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Package schema holds the closed JSON Schemas of what redline reads and
// writes, as embedded files. It takes a name and gives a schema; how the
// documents come about is not its concern.
package schema

import (
	"embed"
	"fmt"
	"strings"
)

//go:generate go run ./gen

//go:embed *.schema.json
var files embed.FS

// Names lists the schemas there are.
var Names = []string{"plan", "result", "record", "telemetry", "truth"}

// Get gives the schema of that name, as JSON of draft 2020-12.
func Get(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("schema: expected one of %s, got %q", strings.Join(Names, ", "), name)
	}
	return data, nil
}

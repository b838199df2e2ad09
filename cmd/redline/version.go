package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"redline/internal/drive/record"
	"redline/internal/judge/result"
	"redline/internal/observe/telemetry"
	"redline/internal/twin"
	"redline/internal/twin/sim"
)

// revision and date are set at build time where Go does not find them.
var revision, date string

// build is what this program is and what it was made of.
type build struct {
	Version string `json:"version"`
	// Revision and Date are those of the commit; Modified says that files differed
	// from it. They are empty where it was built outside of a repository.
	Revision string `json:"revision,omitempty"`
	Date     string `json:"date,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Module   string `json:"module"`
	// Schemas are the forms of the files that it writes.
	Schemas map[string]string `json:"schemas"`
}

func thisBuild() build {
	b := build{Version: version, Revision: revision, Date: date, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Schemas: map[string]string{"result": result.Schema, "records": record.Schema, "telemetry": telemetry.Schema, "calibration": twin.Schema, "engine": sim.EngineSchema}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Module = info.Main.Path
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (p *process) versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			if !asJSON {
				_, err := fmt.Fprintln(p.stdout, "redline", version)
				return err
			}
			said, err := json.MarshalIndent(thisBuild(), "", "  ")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(p.stdout, "%s\n", said)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print version, revision, date, Go, system, module path and the forms of the files as JSON")
	return c
}

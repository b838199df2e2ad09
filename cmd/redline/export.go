package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"redline/internal/judge/result"
	"redline/internal/run/measure"
	"redline/internal/show/export"
	"redline/internal/text"
)

const exportHelp = `Write the result of a run directory in another layout.

Layouts: notes, a lab notebook: hardware.md, server-flags.md, row-….json (one
per measured row, with its command, workload and hypothesis) and
interpretation.md.

Exit code: 0 written, 1 not written, 2 usage.`

// layouts are the directories that a result can be written as. A new one is a
// line here.
var layouts = map[string]func(*result.Result) ([]export.File, error){
	"notes": export.Notes,
}

func (p *process) exportCommand() *cobra.Command {
	var layout, out string
	var force bool
	c := &cobra.Command{
		Use:     "export DIR",
		Short:   "write a result in the layout of another tool",
		Long:    exportHelp,
		Example: `  redline export --layout notes runs/20261115-091500 -o results/llama31-8b`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("export wants one run directory, such as: redline export --layout notes runs/20261115-091500 -o results/llama31-8b")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			files, known := layouts[layout]
			if !known {
				return usage("--layout %q is not known; %s", layout, text.Cure(layout, slices.Sorted(maps.Keys(layouts))))
			}
			if out == "" {
				return usage("export wants a directory to write: -o OUT")
			}
			res, err := measure.Rebuild(args[0])
			if err != nil {
				return err
			}
			list, err := files(res)
			if err != nil {
				return err
			}
			return p.writeFiles(out, list, force)
		},
	}
	c.Flags().StringVar(&layout, "layout", "notes", "layout of the directory: notes")
	c.Flags().StringVarP(&out, "output", "o", "", "directory to write")
	c.Flags().BoolVar(&force, "force", false, "replace existing files")
	return c
}

// writeFiles writes all files into a directory, none of them where one is
// there already.
func (p *process) writeFiles(dir string, files []export.File, force bool) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if _, err := os.Lstat(path); err == nil && !force {
			return fmt.Errorf("%s is there already; choose another -o, or replace it with --force", path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Content, 0o644); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.stdout, "%s in %s\n", text.Plural(len(files), "file"), filepath.ToSlash(dir))
	return err
}

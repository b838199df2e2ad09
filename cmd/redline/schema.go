package main

import (
	"strings"

	"github.com/spf13/cobra"

	"redline/internal/plan/schema"
)

func (p *process) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema " + strings.Join(schema.Names, "|"),
		Short:     "print the JSON Schema of a file that redline reads or writes",
		ValidArgs: schema.Names,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("schema needs one of: %s", strings.Join(schema.Names, ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			document, err := schema.Get(args[0])
			if err != nil {
				return &exitCodeError{exitUsage, err}
			}
			_, err = p.stdout.Write(document)
			return err
		},
	}
}

package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"redline/internal/regular"
)

// experimentSchema names the format of the file that makes a directory that of
// an experiment.
const experimentSchema = "redline/experiment/1"

// experiment is the file that marks an experiment's directory.
type experiment struct {
	Schema string `json:"schema"`
	Kind   string `json:"kind"`
}

// IsExperiment reports whether the directory is that of several runs.
func (d *Dir) IsExperiment() bool {
	if _, err := os.Stat(filepath.Join(d.Path, experimentFile)); err == nil {
		return true
	}
	info, err := os.Stat(filepath.Join(d.Path, StagesDir))
	return err == nil && info.IsDir()
}

// WriteKind marks the directory as that of an experiment of a kind, so that only
// the same kind resumes it.
func (d *Dir) WriteKind(kind string) error {
	document, err := json.Marshal(experiment{experimentSchema, kind})
	if err != nil {
		return fmt.Errorf("%s: %w", experimentFile, err)
	}
	return d.write(experimentFile, append(document, '\n'))
}

// Kind is the kind of experiment that the directory is of, "" for a single run.
func (d *Dir) Kind() (string, error) {
	path := filepath.Join(d.Path, experimentFile)
	content, err := regular.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", cause(path, err)
	}
	var e experiment
	if err := json.Unmarshal(content, &e); err != nil {
		return "", fmt.Errorf("%s: not an experiment: %w", path, err)
	}
	if e.Schema != experimentSchema {
		return "", fmt.Errorf("%s: schema is %q, expected %q", path, e.Schema, experimentSchema)
	}
	return e.Kind, nil
}

// Plan reads the resolved plan as it was written.
func (d *Dir) Plan() ([]byte, error) {
	content, err := regular.Read(d.PlanPath())
	if err != nil {
		return nil, cause(d.PlanPath(), err)
	}
	return content, nil
}

// WriteSecondPlan keeps the plan of the other server of a comparison.
func (d *Dir) WriteSecondPlan(yaml []byte) error { return d.write(secondPlanFile, yaml) }

// SecondPlanPath is where the other server's plan lies.
func (d *Dir) SecondPlanPath() string { return filepath.Join(d.Path, secondPlanFile) }

// RemoveStages takes away the runs of an experiment that a new one replaces.
func (d *Dir) RemoveStages() error {
	if err := os.RemoveAll(filepath.Join(d.Path, StagesDir)); err != nil {
		return cause(d.Path, err)
	}
	return nil
}

// Stages lists the directories of an experiment's runs in their order.
func (d *Dir) Stages() []string {
	entries, err := os.ReadDir(filepath.Join(d.Path, StagesDir))
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if e.IsDir() {
			paths = append(paths, filepath.Join(d.Path, StagesDir, e.Name()))
		}
	}
	return paths
}

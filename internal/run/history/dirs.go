package history

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"redline/internal/store"
)

// deepest is how far below the root a run may lie.
const deepest = 3

// runDirs lists the directories below root that hold a result. Stages belong to
// their experiment, and what cannot be read holds no run of ours.
func runDirs(root string) ([]string, error) {
	return walk(root, func(path, _ string) (bool, bool) {
		_, err := os.Stat(filepath.Join(path, store.ResultFile))
		return err == nil, false
	})
}

// UnlistedDirs gives the directories below root that hold something of a run and
// are none of those listed: runs under way, killed or broken ones, and those that
// were put there later.
func UnlistedDirs(root string, listed []*Entry) ([]string, error) {
	known := map[string]bool{}
	for _, e := range listed {
		known[e.Path] = true
	}
	return walk(root, func(path, rel string) (wanted, skip bool) {
		return !known[rel] && store.Holds(path), known[rel]
	})
}

// walk lists the directories below root that are wanted, and looks into those
// that are neither wanted nor skipped.
func walk(root string, choose func(path, rel string) (wanted, skip bool)) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == root:
			return err
		case err != nil:
			return fs.SkipDir
		case !d.IsDir() || path == root:
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return fs.SkipDir
		}
		rel = filepath.ToSlash(rel)
		wanted, skip := choose(path, rel)
		if wanted {
			dirs = append(dirs, path)
		}
		if wanted || skip || strings.Count(rel, "/")+1 >= deepest {
			return fs.SkipDir
		}
		return nil
	})
	return dirs, err
}

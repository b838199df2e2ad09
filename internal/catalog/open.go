package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxFileBytes bounds a file, so that one given by mistake is refused at once.
const maxFileBytes = 1 << 20

// Open gives the built-in catalog with what files add to it, later ones before
// earlier ones. A file is a catalog in YAML or JSON, or the config.json that a
// model was published with, or the directory that holds it.
func Open(paths ...string) (*Catalog, error) {
	c := (*Catalog)(nil).clone()
	for _, path := range paths {
		if err := c.addPath(path); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Catalog) addPath(path string) error {
	path, data, err := readFile(path)
	if err != nil {
		return err
	}
	if filepath.Base(path) != configName && !isPublished(data) {
		return c.add(path, data)
	}
	m, err := readConfig(path, data)
	if err != nil {
		return err
	}
	c.models.put(m, m.names())
	c.given = &m
	return nil
}

// readFile gives the content of a file, or of a directory's config.json.
func readFile(path string) (string, []byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, configName)
		info, err = os.Stat(path)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("%s: no such file: expected a catalog, or the %s of a model", path, configName)
	case err != nil:
		return "", nil, fmt.Errorf("%s: cannot be read: %w", path, errors.Unwrap(err))
	case !info.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s: is no file", path)
	case info.Size() > maxFileBytes:
		return "", nil, fmt.Errorf("%s: has %d bytes, a catalog or %s has at most %d", path, info.Size(), configName, maxFileBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", nil, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	return path, data, nil
}

// isPublished reports whether a file is a model's own configuration.
func isPublished(data []byte) bool {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return false
	}
	var keys map[string]json.RawMessage
	if json.Unmarshal(data, &keys) != nil {
		return false
	}
	for _, k := range []string{"model_type", "architectures", "hidden_size", "text_config"} {
		if _, ok := keys[k]; ok {
			return true
		}
	}
	return false
}

// Add is a catalog with the entries of one more file, whose name stands in
// errors.
func (c *Catalog) Add(name string, data []byte) (*Catalog, error) {
	more := c.clone()
	if err := more.add(name, data); err != nil {
		return nil, err
	}
	return more, nil
}

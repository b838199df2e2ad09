package config

import "redline/internal/plan/yaml"

// Read fills a struct with yaml tags from a file, as strictly as a plan is
// read: variables are expanded, an unknown key is an error with its line and
// the nearest known one. It gives the lines of all keys that were set. Its
// errors are of type *Error.
func Read(path string, into any, lookup func(string) (string, bool)) (lines map[string]int, err error) {
	data, err := readPlan(path)
	if err != nil {
		return nil, err
	}
	root, err := parsePlan(path, data, lookup)
	if err != nil {
		return nil, err
	}
	d := yaml.Decoder{File: path, Homes: homes}
	return d.Lines, d.Decode(root, into, "")
}

// Wrong is an error at a line of a file.
func Wrong(path string, line int, format string, args ...any) error {
	return fault(yaml.At(path, line), format, args...)
}

package config

import (
	"strings"

	"redline/internal/plan/yaml"
)

// rename gives keys that a plan spells as their flags the names that the plan
// keeps. A plan with both spellings of a setting is refused.
func rename(file string, root *yaml.Node) error {
	for i := range Options {
		o := &Options[i]
		if o.Also == "" {
			continue
		}
		block := root
		path := strings.Split(o.Also, ".")
		for _, key := range path[:len(path)-1] {
			if e := entry(block, key); e != nil {
				block = e.Value
			} else {
				block = &yaml.Node{}
			}
		}
		key := o.Key[strings.LastIndexByte(o.Key, '.')+1:]
		e := entry(block, path[len(path)-1])
		if e == nil {
			continue
		}
		if other := entry(block, key); other != nil {
			return fault(yaml.At(file, e.Line), "%s: line %d has the same setting as %s; keep one of the two", o.Also, other.Line, o.Key)
		}
		e.Key = key
	}
	return nil
}

func entry(n *yaml.Node, key string) *yaml.Entry {
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

package config

import (
	"reflect"
	"slices"
	"strings"

	"redline/internal/yaml"
)

// Top is the key at the top of a plan under the flag's own name, "" where there
// is none: the plan has that key itself, its value is written in another way than
// the flag's, or it is a part of the workload, which may be one text.
func (o *Option) Top() string {
	name := strings.ReplaceAll(o.Flag, "-", "_")
	path := strings.Split(o.Key, ".")
	if len(path) == 1 || path[0] == "workload" || o.set != nil && path[len(path)-1] != name {
		return ""
	}
	if slices.ContainsFunc(yaml.FieldsOf(reflect.TypeFor[Config]()), func(f yaml.Field) bool { return f.Key == name }) {
		return ""
	}
	return name
}

// rename gives keys that a plan spells as their flags the names and blocks that
// the plan keeps, and says how the plan spells them. A plan with two spellings of a
// setting is refused.
func rename(file string, root *yaml.Node) (spelled map[string]string, err error) {
	spelled = map[string]string{}
	for i := range Options {
		o := &Options[i]
		for _, also := range []string{o.Also, o.Top()} {
			if also == "" {
				continue
			}
			block, key := blockOf(root, also, 0)
			e := entry(block, key)
			if e == nil {
				continue
			}
			moved := *e
			home, name := blockOf(root, o.Key, moved.Line)
			if other := entry(home, name); other != nil {
				return nil, fault(yaml.At(file, moved.Line), "%s: line %d has the same setting as %s; keep one of the two", also, other.Line, o.Key)
			}
			block.Entries = slices.DeleteFunc(block.Entries, func(e yaml.Entry) bool { return e.Key == key })
			moved.Key, spelled[o.Key] = name, also
			home.Entries = append(home.Entries, moved)
		}
		if o.Value == "SHARE" {
			if e := entry(blockOf(root, o.Key, 0)); e != nil && e.Value != nil {
				e.Value.Text = fromPercent(e.Value.Text)
			}
		}
	}
	return spelled, nil
}

// topKeys are the flags' names that a plan may have at its top.
func topKeys() (keys []string) {
	for i := range Options {
		if top := Options[i].Top(); top != "" {
			keys = append(keys, top)
		}
	}
	return keys
}

// blockOf gives the block that a dotted key stands in, and the key's last part. A
// block that is not there is an empty one; with a line, it becomes part of the plan
// there.
func blockOf(root *yaml.Node, path string, line int) (*yaml.Node, string) {
	block := root
	for {
		key, rest, more := strings.Cut(path, ".")
		if !more {
			return block, key
		}
		path = rest
		e := entry(block, key)
		if e == nil {
			e = &yaml.Entry{Key: key, Line: line, Value: &yaml.Node{Kind: yaml.Mapping, Line: line}}
			if line > 0 {
				block.Entries = append(block.Entries, *e)
			}
		}
		block = e.Value
	}
}

func entry(n *yaml.Node, key string) *yaml.Entry {
	for i := range n.Entries {
		if n.Entries[i].Key == key {
			return &n.Entries[i]
		}
	}
	return nil
}

package config

import (
	"fmt"
	"strings"

	"redline/internal/yaml"
)

// maxPlanBytes bounds a plan, so that a file given by mistake is refused at once.
const maxPlanBytes = 64 << 10

var planForm = yaml.Form{Name: "a plan", Want: "a plan (redline schema plan lists its keys)", MaxBytes: maxPlanBytes}

// parse gives the tree of a file, its variables expanded. file names it in
// errors.
func parse(form yaml.Form, file string, data []byte, lookup func(string) (string, bool)) (*yaml.Node, error) {
	root, err := form.Parse(file, data)
	if err != nil {
		return nil, err
	}
	return root, expandAll(form, file, root, lookup)
}

func expandAll(form yaml.Form, file string, n *yaml.Node, lookup func(string) (string, bool)) error {
	for _, e := range n.Entries {
		if err := expandAll(form, file, e.Value, lookup); err != nil {
			return err
		}
	}
	for _, item := range n.Items {
		if err := expandAll(form, file, item, lookup); err != nil {
			return err
		}
	}
	expanded, used, err := expand(n.Text, lookup)
	if err != nil {
		return fault(yaml.At(file, n.Line), "%v", err)
	}
	if yaml.HasControl(expanded) {
		return fault(yaml.At(file, n.Line), "a control character has no place in %s", form.Name)
	}
	if used {
		// A variable carries no quotes of its own: "${RATE}" is the number
		// where a number is wanted.
		n.Template, n.Plain = n.Text, true
	}
	n.Text = expanded
	return nil
}

// expand puts the values of variables in place of ${NAME}; $${ stands for a
// literal ${. It reports whether any variable was used.
func expand(text string, lookup func(string) (string, bool)) (string, bool, error) {
	if !strings.Contains(text, "${") {
		return text, false, nil // aliases of it share its bytes
	}
	var out strings.Builder
	used := false
	for {
		before, rest, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), used, nil
		}
		if strings.HasSuffix(before, "$") {
			out.WriteString(before + "{")
			text = rest
			continue
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !variableName(name) {
			return "", false, fmt.Errorf("expected ${NAME} with letters, digits and _, got %s (write $${ for a literal ${)", quote("${"+rest))
		}
		value, ok := lookup(name)
		if !ok {
			return "", false, fmt.Errorf("environment variable %s is not set (export %s=…)", name, name)
		}
		out.WriteString(before + value)
		text, used = after, true
	}
}

// escape is what expand gives back unchanged.
func escape(text string) string { return strings.ReplaceAll(text, "${", "$${") }

func variableName(s string) bool {
	for i, r := range s {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

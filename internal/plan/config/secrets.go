package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"redline/internal/yaml"
)

// Hide adds values that must not be shown anywhere: another plan's, where the
// two stand in one document.
func (c *Config) Hide(secrets []string) { c.variables = slices.Concat(c.variables, secrets) }

// member is one string member of a JSON object, found by its form: a template
// is no JSON yet.
var member = regexp.MustCompile(`"([^"\\]+)"(\s*:\s*)"((?:[^"\\]|\\.)*)"`)

// maskedBody hides the secret members of a request template. What is only
// named, as ${NAME} or {{placeholder}}, stays.
func maskedBody(body string) string {
	return member.ReplaceAllStringFunc(body, func(found string) string {
		part := member.FindStringSubmatch(found)
		if !secretField(part[1]) || strings.Contains(part[3], "{{") || variable.MatchString(part[3]) {
			return found
		}
		return fmt.Sprintf(`"%s"%s"%s"`, part[1], part[2], masked)
	})
}

// checkMasks refuses a plan that a run left behind without its secrets: the mask
// would be sent in their place.
func (c *Config) checkMasks() error {
	for _, t := range yaml.TextsByTag(*c, secretTag) {
		hidden := strings.Contains(t.Text, masked)
		switch t.Tag {
		case secretURL:
			hidden = strings.Contains(t.Text, "="+masked) || strings.Contains(t.Text, "=%2A%2A%2A")
		case secretFields:
			hidden = t.Text == masked
		case secretText:
			if hidden && t.Path == "provider.model" {
				return c.errorAt(t.Path, "the plan of a run keeps no secrets, and this name holds one: give it with --model")
			}
			hidden = false
		case secretTemplate, secretAccelerator:
			hidden = false
		}
		if hidden {
			return c.errorAt(t.Path, "the plan of a run keeps no secrets: write ${NAME} there, and export NAME")
		}
	}
	return nil
}

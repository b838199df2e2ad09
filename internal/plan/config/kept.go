package config

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"redline/internal/drive/client"
)

// Hide adds values that must not be shown anywhere: another plan's, where the
// two stand in one document.
func (c *Config) Hide(secrets []string) { c.variables = slices.Concat(c.variables, secrets) }

// bodySecrets are the texts of extra_body, at any depth, and of a request
// template that their keys call secret.
func (c *Config) bodySecrets() []string {
	out := client.SecretTexts(c.Provider.ExtraBody)
	if c.Provider.Template == nil {
		return out
	}
	for _, part := range member.FindAllStringSubmatch(c.Provider.Template.Body, -1) {
		if secretField(part[1]) && !strings.Contains(part[3], "{{") {
			out = append(out, part[3])
		}
	}
	return out
}

// eachText visits the strings of plain data with the key that each stands
// under.
func eachText(v any, key string, visit func(key, text string)) {
	switch v := v.(type) {
	case string:
		visit(key, v)
	case []any:
		for _, item := range v {
			eachText(item, key, visit)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			eachText(v[name], name, visit)
		}
	}
}

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
	const cure = "the plan of a run keeps no secrets: write ${NAME} there, and export NAME"
	if strings.Contains(c.Provider.APIKey, masked) {
		return c.wrong("provider.api_key", cure)
	}
	if strings.Contains(c.Provider.Model, masked) {
		return c.wrong("provider.model", "the plan of a run keeps no secrets, and this name holds one: give it with --model")
	}
	entries := func(key string, values map[string]string) error {
		for _, name := range sortedKeys(values) {
			if strings.Contains(values[name], masked) {
				return c.wrong(key, "%s: %s", name, cure)
			}
		}
		return nil
	}
	if err := cmp.Or(entries("provider.headers", c.Provider.Headers), entries("server.env", c.Server.Env)); err != nil {
		return err
	}
	if strings.Contains(c.Server.Command, masked) {
		return c.wrong("server.command", cure)
	}
	for i, t := range c.Workload.Tenants {
		if string(t.Key) == masked {
			return c.wrong(fmt.Sprintf("workload.tenants[%d].api_key", i), cure)
		}
		if err := entries(fmt.Sprintf("workload.tenants[%d].headers", i), t.Headers); err != nil {
			return err
		}
	}
	var hidden string
	eachText(c.Provider.ExtraBody, "", func(key, text string) {
		if text == masked {
			hidden = key
		}
	})
	if hidden != "" {
		return c.wrong("provider.extra_body", "%s: %s", hidden, cure)
	}
	for _, url := range c.Provider.URLs {
		if strings.Contains(url, "="+masked) || strings.Contains(url, "=%2A%2A%2A") {
			return c.wrong("provider.api_endpoint", cure)
		}
	}
	return nil
}

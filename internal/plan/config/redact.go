package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"redline/internal/yaml"

	"redline/internal/drive/client"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// The keys of addresses that are checked by name.
const (
	metricsURL     = "telemetry.metrics_url"
	acceleratorKey = "telemetry.accelerator"
	judgeURL       = "quality.judge.url"
)

// secretTag is the tag of a field of a plan that can hold secrets. Its words say
// how they stand in it; of a field without the tag nothing is hidden.
const (
	secretTag         = "secret"
	secretKey         = "key"         // all of it
	secretHeaders     = "headers"     // by the name of the header, and what came from a variable
	secretNames       = "names"       // by the name of the variable
	secretFields      = "fields"      // by the names of the members of a body
	secretURL         = "url"         // in its query
	secretAccelerator = "accelerator" // in the query, where it is an address
	secretTemplate    = "template"    // by the names of the members of a request template
	secretCommand     = "command"     // by the names of flags
	secretText        = "text"        // secrets of other fields
)

// masked stands where a secret stood.
const masked = text.Masked

// RedactedMap gives the whole configuration as plain data under the plan's keys,
// without secrets.
func (c *Config) RedactedMap() map[string]any {
	m, _ := toPlainMaps(c.redact()).(map[string]any)
	return m
}

// YAML gives the resolved configuration as a plan, without secrets, which
// loads again: a key that came from a variable is written as that variable.
func (c *Config) YAML() ([]byte, error) {
	return yaml.Marshal(c.redact())
}

// Secrets lists the values that must not be shown anywhere. What is very short is
// left out, and a key that is only the name of an API or an engine: some servers
// want any key at all.
func (c *Config) Secrets() []string {
	found := slices.DeleteFunc(c.secrets(), func(s string) bool { return len(s) < text.MinSecret || placeholder(s) })
	slices.Sort(found)
	return slices.Compact(found)
}

// HasSecret reports whether anything is secret by its name, however short it is.
func (c *Config) HasSecret() bool {
	return slices.ContainsFunc(c.secrets(), func(s string) bool { return s != "" })
}

func (c *Config) secrets() []string {
	found := slices.Concat(c.flagSecrets(), c.Provider.Proxies.Secrets(), c.variables)
	for _, t := range yaml.TextsByTag(*c, secretTag) {
		switch t.Tag {
		case secretKey:
			found = append(found, t.Text)
		case secretHeaders, secretNames:
			if _, ok := c.template(t.Path, t.Text); ok && t.Tag == secretHeaders || secretName(lastOf(t.Keys)) {
				found = append(found, credentials(t.Text)...)
			}
		case secretFields:
			if slices.ContainsFunc(t.Keys, secretField) {
				found = append(found, t.Text)
			}
		case secretURL:
			found = append(found, querySecrets(t.Text)...)
		case secretAccelerator:
			found = append(found, querySecrets(acceleratorURL(t.Text))...)
		case secretTemplate:
			for _, part := range member.FindAllStringSubmatch(t.Text, -1) {
				if secretField(part[1]) && !strings.Contains(part[3], "{{") {
					found = append(found, part[3])
				}
			}
		}
	}
	return found
}

func lastOf(keys []string) string { return keys[len(keys)-1] }

// acceleratorURL is the address that the figures of accelerators come from, ""
// where a command gives them.
func acceleratorURL(text string) string {
	source, err := telemetry.ParseAccelerator(text)
	if err != nil {
		return ""
	}
	return source.URL
}

// placeholder reports whether a key is one that everybody has.
func placeholder(key string) bool {
	return slices.Contains([]string{"ollama", "sglang", "openai", "lmstudio", "lm-studio", "llamacpp", "llama.cpp", "localhost", "redline"}, strings.ToLower(key))
}

// MaskText is a text of the plan's without the secrets that stand in it.
func (c *Config) MaskText(text string) string { return c.Mask().Hide(text) }

// Mask hides every secret.
func (c *Config) Mask() *text.Mask { return text.NewMask(c.Secrets()...) }

// flagSecrets are the keys among the settings that a server was started with,
// or is to be: a whole command line is soon copied. What only names a key, as
// $NAME or {knob}, is none.
func (c *Config) flagSecrets() []string {
	var out []string
	words := strings.Fields(c.Metadata.Get("flags") + " " + c.Server.Command)
	for i, word := range words {
		name, value, joined := strings.Cut(word, "=")
		if !secretField(strings.ReplaceAll(name, "-", "_")) {
			continue
		}
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		if value = strings.Trim(value, `'";&|()`); !strings.HasPrefix(value, "$") && !strings.HasPrefix(value, "{") {
			out = append(out, value)
		}
	}
	return out
}

// credentials are a header's value, and what follows "Bearer" in it.
func credentials(value string) []string {
	if scheme, rest, ok := strings.Cut(value, " "); ok && authScheme(scheme) {
		return []string{value, rest}
	}
	return []string{value}
}

// querySecrets are the values in a URL's query that their names call secret.
func querySecrets(url string) (found []string) {
	_, query, _ := strings.Cut(url, "?")
	query, _, _ = strings.Cut(query, "#")
	for pair := range strings.FieldsFuncSeq(query, pairEnds) {
		if name, value, _ := strings.Cut(pair, "="); secretQuery(name) {
			found = append(found, value)
		}
	}
	return found
}

// pairEnds are the signs between the pairs of a query.
func pairEnds(r rune) bool { return r == '&' || r == ';' }

// redact gives the plan as ordered keys with everything secret rewritten.
func (c *Config) redact() any {
	r := redactor{c, c.Mask(), map[string]yaml.Text{}}
	for _, t := range yaml.TextsByTag(*c, secretTag) {
		r.tagged[t.Path] = t
	}
	return r.walk(yaml.Encode(*c), "")
}

type redactor struct {
	c      *Config
	hide   *text.Mask
	tagged map[string]yaml.Text // by their paths
}

func (r redactor) walk(v any, path string) any {
	switch v := v.(type) {
	case yaml.Map:
		out := make(yaml.Map, len(v))
		for i, item := range v {
			key := item.Key
			out[i] = yaml.Item{Key: key, Value: r.walk(item.Value, join(path, key))}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = r.walk(item, fmt.Sprintf("%s[%d]", path, i))
		}
		return out
	case string:
		return r.text(v, path)
	}
	return v
}

// text rewrites one scalar by what the tag of its field says about it.
func (r redactor) text(s, path string) string {
	field := r.tagged[path]
	raw, templated := r.c.template(path, s)
	switch field.Tag {
	case "":
		return escape(s)
	case secretKey:
		switch {
		case path == "provider.api_key" && r.c.keyEnv != "":
			return "${" + r.c.keyEnv + "}"
		case templated && onlyVariables(raw):
			return raw
		}
		return masked
	case secretHeaders, secretNames:
		secret := secretName(lastOf(field.Keys))
		switch {
		case templated && (onlyVariables(raw) || !secret):
			return raw
		case templated || secret:
			return masked
		}
	case secretFields:
		if templated {
			return raw
		}
		if slices.ContainsFunc(field.Keys, secretField) {
			return masked
		}
	case secretTemplate:
		if templated {
			s = raw
		}
		return maskedBody(s)
	case secretCommand:
		if templated {
			return r.hide.Hide(raw)
		}
	case secretURL:
		s = cleanURL(s)
	case secretAccelerator:
		if url := acceleratorURL(s); url != "" {
			s = cleanURL(url)
		}
	}
	return escape(r.hide.Hide(s))
}

// template gives what the plan says for a value that still is what its
// variables made of it.
func (c *Config) template(path, value string) (string, bool) {
	t, ok := c.templates[path]
	return t.Raw, ok && t.Text == value
}

var variable = regexp.MustCompile(`\$\{[A-Za-z0-9_]+\}`)

// onlyVariables reports whether nothing of a template but an authentication
// scheme is written out, so that the template itself is no secret.
func onlyVariables(raw string) bool {
	rest := strings.TrimSpace(variable.ReplaceAllString(raw, ""))
	return rest == "" || authScheme(rest)
}

func authScheme(word string) bool {
	return slices.Contains([]string{"bearer", "basic", "token", "apikey", "digest"}, strings.ToLower(word))
}

// secretName reports whether the name of a header or variable says that its
// value is for the server's eyes only.
func secretName(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "tokenizer", "")
	return slices.ContainsFunc([]string{"auth", "key", "token", "secret", "passw", "cookie", "credential", "signature", "session", "pwd"},
		func(part string) bool { return strings.Contains(name, part) })
}

// secretField is the same for a key in a request's body.
func secretField(name string) bool { return client.SecretKey(name) }

func secretQuery(name string) bool {
	if plain, err := url.QueryUnescape(name); err == nil {
		name = plain
	}
	return secretName(name) || strings.EqualFold(name, "sig") || strings.EqualFold(name, "code")
}

// cleanURL takes user, password and the secrets of the query out of a URL.
func cleanURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		if i := strings.LastIndexByte(text, '@'); i >= 0 {
			return masked + text[i:]
		}
		return text
	}
	u.User = nil
	for pair := range strings.FieldsFuncSeq(u.RawQuery, pairEnds) {
		if name, _, ok := strings.Cut(pair, "="); ok && secretQuery(name) {
			u.RawQuery = strings.Replace(u.RawQuery, pair, name+"="+masked, 1)
		}
	}
	return u.String()
}

// toPlainMaps gives the same data with plain maps.
func toPlainMaps(v any) any {
	switch v := v.(type) {
	case yaml.Map:
		out := make(map[string]any, len(v))
		for _, item := range v {
			out[item.Key] = toPlainMaps(item.Value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = toPlainMaps(item)
		}
		return out
	}
	return v
}

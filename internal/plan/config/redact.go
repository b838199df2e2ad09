package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"redline/internal/plan/yaml"

	"redline/internal/drive/client"
	"redline/internal/observe/telemetry"
	"redline/internal/text"
)

// metricsURL is the key of addresses beside those of the provider.
const metricsURL = "telemetry.metrics_url"

// acceleratorKey is the key of an address or a command, either of which can
// hold a secret.
const acceleratorKey = "telemetry.accelerator"

// The keys of the judge model's address and of what it is paid by.
const (
	judgeURL = "quality.judge.url"
	judgeKey = "quality.judge.api_key"
)

// masked stands where a secret stood.
const masked = text.Masked

// Resolved gives the whole configuration as plain data under the plan's keys,
// without secrets.
func (c *Config) Resolved() map[string]any {
	m, _ := unordered(c.redacted()).(map[string]any)
	return m
}

// YAML gives the resolved configuration as a plan, without secrets, which
// loads again: a key that came from a variable is written as that variable.
func (c *Config) YAML() ([]byte, error) {
	return yaml.Marshal(c.redacted())
}

// Secrets lists the values that must not be shown anywhere. What is very short is
// left out, and a key that is only the name of an API or an engine: some servers
// want any key at all.
func (c *Config) Secrets() []string {
	found := slices.DeleteFunc(c.secrets(), func(s string) bool { return len(s) < text.Shortest || placeholder(s) })
	slices.Sort(found)
	return slices.Compact(found)
}

// HasSecret reports whether anything is secret by its name, however short it is.
func (c *Config) HasSecret() bool {
	return slices.ContainsFunc(c.secrets(), func(s string) bool { return s != "" })
}

func (c *Config) secrets() []string {
	return slices.Concat([]string{c.Provider.APIKey}, c.headerSecrets(), c.urlSecrets(), c.Workload.Secrets(), c.bodySecrets(), c.judgeSecrets(), c.envSecrets(), c.flagSecrets(), c.Provider.Proxies.Secrets(), c.variables)
}

// placeholder reports whether a key is one that everybody has.
func placeholder(key string) bool {
	return slices.Contains([]string{"ollama", "sglang", "openai", "lmstudio", "lm-studio", "llamacpp", "llama.cpp", "localhost", "redline"}, strings.ToLower(key))
}

// Masked is a text of the plan's without the secrets that stand in it.
func (c *Config) Masked(text string) string { return c.Mask().Hide(text) }

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

func (c *Config) headerSecrets() []string {
	var out []string
	for name, value := range c.Provider.Headers {
		if _, ok := c.template("provider.headers."+name, value); !ok && !secretName(name) {
			continue
		}
		out = append(out, credentials(value)...)
	}
	for _, t := range c.Workload.Tenants {
		for name, value := range t.Headers {
			if secretName(name) {
				out = append(out, credentials(value)...)
			}
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

// envSecrets are the values of a launched server's variables that their names
// call secret.
func (c *Config) envSecrets() []string {
	var out []string
	for name, value := range c.Server.Env {
		if secretName(name) {
			out = append(out, value)
		}
	}
	return out
}

func (c *Config) urlSecrets() []string {
	var out []string
	urls := slices.Concat(c.Provider.URLs, c.Telemetry.MetricsURLs)
	for _, v := range c.Experiment.Variants {
		urls = append(urls, v.URLs...)
	}
	if source, err := telemetry.ParseAccelerator(c.Telemetry.Accelerator); err == nil && source.URL != "" {
		urls = append(urls, source.URL)
	}
	if j := c.Quality.Judge; j != nil {
		urls = append(urls, j.URL)
	}
	for _, text := range urls {
		_, query, _ := strings.Cut(text, "?")
		query, _, _ = strings.Cut(query, "#")
		for pair := range strings.FieldsFuncSeq(query, pairEnds) {
			if name, value, _ := strings.Cut(pair, "="); secretQuery(name) {
				out = append(out, value)
			}
		}
	}
	return out
}

// pairEnds are the signs between the pairs of a query.
func pairEnds(r rune) bool { return r == '&' || r == ';' }

// redacted gives the plan as ordered keys with everything secret rewritten.
func (c *Config) redacted() any {
	r := redactor{c, c.Mask()}
	return r.walk(yaml.Encode(*c), "")
}

type redactor struct {
	c    *Config
	hide *text.Mask
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

// text rewrites one scalar by what its path says about it.
func (r redactor) text(s, path string) string {
	switch path {
	case "provider.api_key":
		return r.apiKey(s)
	case judgeKey:
		return r.variablesOf(s, path)
	}
	if name, ok := strings.CutPrefix(path, "provider.headers."); ok {
		return r.header(s, path, name)
	}
	if name, ok := strings.CutPrefix(path, "server.env."); ok {
		return r.header(s, path, name)
	}
	if raw, ok := r.c.template(path, s); ok && path == "server.command" {
		return r.hide.Hide(raw)
	}
	if path == "provider.template.body" {
		if raw, ok := r.c.template(path, s); ok {
			s = raw
		}
		return maskedBody(s)
	}
	if strings.HasPrefix(path, "workload.tenants[") {
		return r.tenant(s, path)
	}
	if strings.HasPrefix(path, "provider.extra_body.") {
		if raw, ok := r.c.template(path, s); ok {
			return raw
		}
		if slices.ContainsFunc(strings.Split(strings.TrimPrefix(path, "provider.extra_body."), "."), secretField) {
			return masked
		}
	}
	if strings.HasPrefix(path, "provider.api_endpoint") || strings.HasPrefix(path, metricsURL) || path == judgeURL ||
		strings.HasPrefix(path, "experiment.variants[") && strings.Contains(path, ".api_endpoint") {
		s = cleanURL(s)
	}
	if source, err := telemetry.ParseAccelerator(s); path == acceleratorKey && err == nil && source.URL != "" {
		s = cleanURL(source.URL)
	}
	if freeText(path) {
		s = r.hide.Hide(s)
	}
	return escape(s)
}

// freeText reports whether anything at all can stand at a path. Elsewhere only
// known words can, and replacing one of those would spoil the plan.
func freeText(path string) bool {
	return strings.HasPrefix(path, "provider.") && path != "provider.api" || strings.HasPrefix(path, metricsURL) ||
		strings.HasPrefix(path, "quality.judge.") || path == acceleratorKey || path == "telemetry.engine_log" || path == "server.command" || strings.HasPrefix(path, "metadata.") || strings.HasPrefix(path, "generation.stop")
}

func (r redactor) apiKey(s string) string {
	if r.c.keyEnv != "" {
		return "${" + r.c.keyEnv + "}"
	}
	return r.variablesOf(s, "provider.api_key")
}

// variablesOf is a key as the variables that it came from, else masked.
func (r redactor) variablesOf(s, path string) string {
	if raw, ok := r.c.template(path, s); ok && onlyVariables(raw) {
		return raw
	}
	return masked
}

// tenant rewrites a tenant's key, which encodes as a mask, and its headers.
func (r redactor) tenant(s, path string) string {
	if strings.HasSuffix(path, ".api_key") {
		if raw := r.c.templates[path].Raw; raw != "" && onlyVariables(raw) {
			return raw
		}
		return masked
	}
	if _, after, ok := strings.Cut(path, ".headers."); ok {
		return r.header(s, path, after)
	}
	return escape(r.hide.Hide(s))
}

func (r redactor) header(s, path, name string) string {
	raw, ok := r.c.template(path, s)
	if ok && (onlyVariables(raw) || !secretName(name)) {
		return raw
	}
	if ok || secretName(name) {
		return masked
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

// unordered gives the same data with plain maps.
func unordered(v any) any {
	switch v := v.(type) {
	case yaml.Map:
		out := make(map[string]any, len(v))
		for _, item := range v {
			out[item.Key] = unordered(item.Value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = unordered(item)
		}
		return out
	}
	return v
}

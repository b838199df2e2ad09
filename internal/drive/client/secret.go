package client

import (
	"maps"
	"slices"
	"strings"

	"redline/internal/text"
)

// maskOf hides what the spec holds of secrets, wherever a server or a trace
// would repeat it. Headers and queries are taken for secret as a whole, for
// their names do not tell.
func maskOf(s Spec) *text.Mask {
	found := append([]string{s.APIKey}, s.Secrets...)
	for name, value := range s.Headers {
		if !harmless(name) {
			found = append(found, credentials(value)...)
		}
	}
	for _, raw := range s.URLs {
		if u, err := parseURL(raw); err == nil {
			found = append(found, queryValues(u.RawQuery)...)
		}
	}
	found = append(found, secretTexts(s.ExtraBody)...)
	return text.NewMask(append(found, s.Proxies.Secrets()...)...)
}

// credentials are a header's value, and what follows "Bearer" in it.
func credentials(value string) []string {
	_, credential, _ := strings.Cut(value, " ")
	return []string{value, credential}
}

// queryValues are the values of a query as they are sent, those too whose
// percent signs mean nothing.
func queryValues(raw string) []string {
	var values []string
	for pair := range strings.FieldsFuncSeq(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		_, value, _ := strings.Cut(pair, "=")
		values = append(values, value)
	}
	return values
}

// secretTexts finds the texts of a request's body below keys whose names say that
// they are secret.
func secretTexts(body map[string]any) []string { return secretValues(body, false) }

func secretValues(v any, secret bool) []string {
	var found []string
	switch v := v.(type) {
	case string:
		if secret {
			found = append(found, v)
		}
	case []any:
		for _, e := range v {
			found = append(found, secretValues(e, secret)...)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			found = append(found, secretValues(v[k], secret || SecretKey(k))...)
		}
	}
	return found
}

// SecretKey reports whether the name of a key in a request's body says that its
// value is secret. "token" alone does not: it is the unit of everything.
func SecretKey(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"authorization", "api_key", "apikey", "access_token", "hf_token", "auth_token", "secret", "passw", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// harmless lists the headers whose values may be shown.
func harmless(name string) bool {
	switch strings.ToLower(name) {
	case "host", "user-agent", "content-type", "content-length", "accept", "accept-encoding",
		"connection", "x-request-id", "anthropic-version":
		return true
	}
	return false
}

// maskHeader hides the value of every header that is not known to be harmless.
func maskHeader(line string) string {
	name, _, _ := strings.Cut(line, ":")
	if harmless(name) {
		return line
	}
	return name + ": " + text.Masked
}

// maskQuery hides the query of a request line, where some servers want keys.
func maskQuery(line string) string {
	before, query, ok := strings.Cut(line, "?")
	if !ok {
		return line
	}
	_, version, _ := strings.Cut(query, " ")
	return before + "?" + text.Masked + " " + version
}

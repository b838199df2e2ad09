package client

import (
	"maps"
	"slices"
	"strings"
)

const (
	masked = "***"
	// shortestSecret keeps out what would be found in every other word.
	shortestSecret = 6
)

// secretsOf makes the replacer that hides what the spec holds of secrets,
// wherever a server or a trace would repeat it. Headers and queries are taken
// for secret as a whole, for their names do not tell.
func secretsOf(s Spec) *strings.Replacer {
	found := []string{s.APIKey}
	for name, value := range s.Headers {
		if !harmless(name) {
			_, credential, _ := strings.Cut(value, " ") // behind "Bearer"
			found = append(found, value, credential)
		}
	}
	for _, raw := range s.URLs {
		if u, err := parseURL(raw); err == nil {
			found = append(found, slices.Concat(slices.Collect(maps.Values(u.Query()))...)...)
		}
	}
	found = append(found, secretValues(s.ExtraBody, false)...)
	found = append(found, s.Proxies.secrets()...)
	found = slices.DeleteFunc(found, func(v string) bool { return len(v) < shortestSecret })
	// A secret that begins another one must not be replaced first.
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, v := range found {
		pairs = append(pairs, v, masked)
	}
	return strings.NewReplacer(pairs...)
}

// secretValues finds the texts below keys whose names say that they are secret.
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
			found = append(found, secretValues(v[k], secret || secretKey(k))...)
		}
	}
	return found
}

func secretKey(name string) bool {
	name = strings.ToLower(name)
	for _, part := range []string{"authorization", "api_key", "apikey", "access_token", "secret", "passw", "credential"} {
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
	return name + ": " + masked
}

// maskQuery hides the query of a request line, where some servers want keys.
func maskQuery(line string) string {
	before, query, ok := strings.Cut(line, "?")
	if !ok {
		return line
	}
	_, version, _ := strings.Cut(query, " ")
	return before + "?" + masked + " " + version
}

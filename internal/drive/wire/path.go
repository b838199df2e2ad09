package wire

import "strings"

// ByName finds the dialect that --api names.
func ByName(name string) (*Dialect, bool) {
	for _, d := range All() {
		if d.Name == name {
			return d, true
		}
	}
	return nil, false
}

// Names lists the dialects as --api names them, with that of a Template last.
func Names() []string {
	var names []string
	for _, d := range All() {
		names = append(names, d.Name)
	}
	return append(names, TemplateName)
}

// ByPath finds the dialect that a URL's path selects by itself. A base such as
// "", "/" or "/v1" selects none. Of several that would do it is the one whose
// path is longest.
func ByPath(urlPath string) (*Dialect, bool) {
	urlPath = strings.TrimRight(urlPath, "/")
	var found *Dialect
	for _, d := range All() {
		if strings.HasSuffix(urlPath, d.tail()) && (found == nil || len(d.tail()) > len(found.tail())) {
			found = d
		}
	}
	return found, found != nil
}

// Serves reports whether the path is one at which d is served.
func (d *Dialect) Serves(urlPath string) bool {
	urlPath = strings.TrimRight(urlPath, "/")
	if found, ok := ByPath(urlPath); ok && found == d {
		return true
	}
	return d.WholePath != "" && strings.HasSuffix(urlPath, d.WholePath)
}

// Paths lists the paths at which d is served.
func (d *Dialect) Paths() []string {
	if d.WholePath != "" {
		return []string{d.Path, d.WholePath}
	}
	return []string{d.Path}
}

// IsBase reports whether a URL's path can stand before a dialect's own: it is
// empty, ends with a version or with "openai", or has no version at all. Any
// other, such as "/v2/chat", is the whole path of an API that is not known.
func IsBase(urlPath string) bool {
	if _, known := ByPath(urlPath); known {
		return false
	}
	segments := strings.Split(strings.Trim(urlPath, "/"), "/")
	for i, s := range segments {
		if isVersion(s) && i != len(segments)-1 {
			return segments[len(segments)-1] == openAIBase
		}
	}
	return true
}

// openAIBase is what some gateways put behind their version, where their copy
// of OpenAI's API begins.
const openAIBase = "openai"

// Resolve turns the path of a URL into the path to ask: one that is already
// the dialect's own stays, a base is followed by what it lacks of the
// dialect's path, and any other path is left alone, for whoever gave it knows
// where that server listens.
func (d *Dialect) Resolve(urlPath string, stream bool) string {
	urlPath = strings.TrimRight(urlPath, "/")
	own := d.Path
	if d.WholePath != "" {
		// The two paths are one address.
		base := strings.TrimSuffix(strings.TrimSuffix(urlPath, d.Path), d.WholePath)
		if !stream {
			own = d.WholePath
		}
		if base != urlPath {
			return base + own
		}
	}
	switch {
	case own == "" && urlPath == "":
		return "/"
	case own == "" || !IsBase(urlPath):
		return urlPath
	}
	return join(urlPath, own)
}

// join puts a dialect's path behind a base, whose end may be the beginning of
// it. A base's version takes the place of that in the path.
func join(base, own string) string {
	for cut := len(own); cut > 0; cut = strings.LastIndexByte(own[:cut], '/') {
		if strings.HasSuffix(base, own[:cut]) {
			return base + own[cut:]
		}
	}
	slash := strings.LastIndexByte(base, '/')
	tail, versioned := strings.CutPrefix(own, "/v1/")
	switch last := base[slash+1:]; {
	case isVersion(last) && versioned, last == openAIBase && versioned && strings.Contains(base, "/v"):
		return base + "/" + tail
	case isVersion(last):
		return base[:slash] + own
	}
	return base + own
}

// tail is the dialect's path without its version, by which it is recognised
// behind gateways that serve it under a prefix of their own.
func (d *Dialect) tail() string { return strings.TrimPrefix(d.Path, "/v1") }

// isVersion recognises "v1", "v3" and "v1beta".
func isVersion(segment string) bool {
	digits, ok := strings.CutPrefix(segment, "v")
	rest := strings.TrimLeft(digits, "0123456789")
	return ok && rest != digits && (rest == "" || strings.HasPrefix(rest, "alpha") || strings.HasPrefix(rest, "beta"))
}

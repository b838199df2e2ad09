package config

import (
	"redline/internal/text"
	"redline/internal/yaml"
)

// Document is what a file holds beside the values that were asked for.
type Document struct {
	// Lines are those of all keys that were set, by dotted path.
	Lines map[string]int
	// Secrets are values that must not be shown.
	Secrets []string
}

// Read fills a struct with yaml tags from a file, as strictly as a plan is
// read: variables are expanded, an unknown key is an error with its line and
// the nearest known one. name is what errors call the file, with its article.
// Its errors are of type *Error and free of secrets.
func Read(path, name string, into any, lookup func(string) (string, bool)) (*Document, error) {
	form := yaml.Form{Name: name, MaxBytes: maxPlanBytes}
	data, err := form.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc := &Document{}
	root, err := parse(form, path, data, collectSecrets(lookup, &doc.Secrets))
	if err == nil {
		doc.addSecrets(root)
		d := yaml.Decoder{File: path}
		err = d.Decode(root, into, "")
		doc.Lines = d.Lines
	}
	return doc, hideSecrets(err, text.NewMask(doc.Secrets...))
}

// collectSecrets adds to secrets what a lookup gives for the names of secrets.
func collectSecrets(lookup func(string) (string, bool), secrets *[]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := lookup(name)
		if secretName(name) {
			*secrets = append(*secrets, value)
		}
		return value, ok
	}
}

// addSecrets finds values by the names of their keys. Whoever knows the address
// of a webhook can post to it.
func (doc *Document) addSecrets(n *yaml.Node) {
	for _, e := range n.Entries {
		if e.Value.Kind == yaml.Scalar && (e.Key == "url" || secretName(e.Key)) {
			doc.Secrets = append(doc.Secrets, credentials(e.Value.Text)...)
		}
		doc.addSecrets(e.Value)
	}
	for _, item := range n.Items {
		doc.addSecrets(item)
	}
}

// hideSecrets gives an error without the secrets that it quotes.
func hideSecrets(err error, mask *text.Mask) error {
	if wrong, ok := err.(*Error); ok {
		hidden := &Error{Place: wrong.Place, What: mask.Hide(wrong.What)}
		for _, more := range wrong.More {
			hidden.More = append(hidden.More, &Error{Place: more.Place, What: mask.Hide(more.What)})
		}
		return hidden
	}
	return err
}

// ErrorAt is an error at a line of a file.
func ErrorAt(path string, line int, format string, args ...any) error {
	return fault(yaml.At(path, line), format, args...)
}

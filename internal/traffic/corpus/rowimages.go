package corpus

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/llm"
	"redline/internal/traffic/media"
)

// imageURL is where an image is: a text, or an object that has it.
type imageURL string

func (u *imageURL) UnmarshalJSON(data []byte) error {
	var nested struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(data, (*string)(u)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &nested)
	*u = imageURL(nested.URL)
	return err
}

// maxPath is how long the path of a file may be; more is an image without its head.
const maxPath = 4096

// readImage takes an image out of a data URL, or notes the file that it is in:
// what a server would have to fetch from elsewhere is not measured.
func readImage(key, url string) (llm.Part, error) {
	want := func() (llm.Part, error) {
		return llm.Part{}, fmt.Errorf("%s: expected data:image/TYPE;base64,… with the image in it, or the path of a file, got %.40q", key, url)
	}
	if scheme, encoded, _ := strings.Cut(url, ":"); strings.EqualFold(scheme, "data") {
		head, text, found := strings.Cut(encoded, ";base64,")
		data, err := base64.StdEncoding.DecodeString(text)
		if !found || err != nil || !strings.HasPrefix(head, "image/") {
			return want()
		}
		image, err := media.Read(data)
		switch {
		case err != nil && slices.Contains(otherImages, head): // which a server may know
			image = llm.Part{Kind: llm.Image, Data: data}
		case err != nil:
			return llm.Part{}, fmt.Errorf("%s: %w", key, err)
		}
		image.Media = head
		return image, nil
	}
	path := strings.TrimPrefix(url, "file://")
	if path == "" || len(path) > maxPath || strings.Contains(path, "://") {
		return want()
	}
	return llm.Part{Kind: llm.Image, Name: path}, nil
}

// otherImages are the types that are sent as they are, since they are not read here.
var otherImages = []string{"image/avif", "image/bmp", "image/heic", "image/heif", "image/svg+xml", "image/tiff", "image/x-icon"}

// checkImages decodes the images of a row.
func (c *Conversation) checkImages() error {
	for _, t := range c.Turns {
		for _, m := range t.Messages {
			for i, p := range m.Parts {
				if p.Kind != llm.Image || slices.Contains(otherImages, p.Media) {
					continue
				}
				if err := media.Check(p.Data); err != nil {
					return fmt.Errorf("image %d of %d: %w", i+1, len(m.Parts), err)
				}
			}
		}
	}
	return nil
}

// loadImages reads the files that hold images; their paths are seen from the
// folder of the file that names them.
func (c *Conversation) loadImages(folder string) error {
	for t := range c.Turns {
		for _, m := range c.Turns[t].Messages {
			for k := range m.Parts {
				p := &m.Parts[k]
				if p.Kind != llm.Image || p.Data != nil {
					continue
				}
				path := p.Name
				if !filepath.IsAbs(path) {
					path = filepath.Join(folder, path)
				}
				image, err := media.Open(path)
				if err != nil {
					return err
				}
				*p = image
			}
		}
	}
	return nil
}

// addImages puts the images of a row beside the last message of the user.
func (t *Turn) addImages(lists ...images) error {
	for _, url := range slices.Concat(lists...) {
		image, err := readImage("images", url)
		if err != nil {
			return err
		}
		m := &t.Messages[len(t.Messages)-1]
		m.Parts = append(m.Parts, image)
	}
	return nil
}

// images are paths and data URLs: one, or a list.
type images []string

func (l *images) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	*l = []string{""}
	if json.Unmarshal(data, &(*l)[0]) == nil {
		return nil
	}
	if json.Unmarshal(data, (*[]string)(l)) != nil {
		return errors.New("images: expected a path or data URL, or a list of them")
	}
	return nil
}

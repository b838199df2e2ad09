// Package media has what requests carry besides text: images, made here in the
// sizes and with the content that a Spec asks for, or read from files. It takes
// a Spec and a seed and gives encoded images with their pixels. It knows neither
// requests nor when one is due.
package media

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/dist"
)

// Spec says which images the first message of a session carries. It is the
// workload's images block.
type Spec struct {
	// Count is how many; one where it is nil.
	Count *dist.Tokens `yaml:"count,omitempty"`
	// Size lists sizes with their shares; 1080p where it is empty.
	Size Sizes `yaml:"size,omitempty"`
	// Content is photo, noise or solid, and Format jpeg or png; the first of each
	// where they are empty.
	Content string `yaml:"content,omitempty"`
	Format  string `yaml:"format,omitempty"`
	// Frames makes a clip of each: so many images that differ in little, one after
	// the other, as a video is sent where the API has none.
	Frames int `yaml:"frames,omitempty"`
	// Distinct is how many different images there are, each of which comes again
	// and again; no image comes twice where it is 0.
	Distinct int `yaml:"distinct,omitempty"`
	// Files are images, and folders of them, that are sent as they are in place of
	// made ones.
	Files []string `yaml:"files,omitempty"`
	// Placeholder is what the model's prompt has for an image, where the API does
	// not write it there itself.
	Placeholder string `yaml:"placeholder,omitempty"`
}

// Size is that of an image in pixels, and how often it comes in proportion to
// the others.
type Size struct {
	Width, Height int
	Share         float64
	// name is as the size was written, "" for width x height.
	name string
}

// Sizes is a list of sizes: 1080p, or 1080p:0.3,512x512:0.7.
type Sizes []Size

// The words that a Spec knows, the default first.
var (
	Contents = []string{"photo", "noise", "solid"}
	Formats  = []string{"jpeg", "png"}
)

// sizeNames are those of video, in the shape of a screen.
var sizeNames = []Size{{Width: 426, Height: 240, name: "240p"}, {Width: 640, Height: 360, name: "360p"}, {Width: 854, Height: 480, name: "480p"},
	{Width: 1280, Height: 720, name: "720p"}, {Width: 1920, Height: 1080, name: "1080p"}, {Width: 2560, Height: 1440, name: "1440p"},
	{Width: 3840, Height: 2160, name: "4k"}}

const (
	defaultSize = "1080p"
	maxSide     = 16384
	maxPixels   = 64_000_000
	maxCount    = 255
	maxDistinct = 1_000_000
	wantSize    = "expected a size such as 1080p, 512x512 or 1080p:0.3,512x512:0.7, or files=PATH"
)

// ParseSizes reads a list of sizes with their shares.
func ParseSizes(given string) (list Sizes, err error) {
	for one := range strings.SplitSeq(given, ",") {
		name, share, shared := strings.Cut(strings.TrimSpace(one), ":")
		size, err := parseSize(strings.ToLower(strings.TrimSpace(name)))
		if err != nil {
			return nil, err
		}
		size.Share = 1
		if shared {
			if size.Share, err = strconv.ParseFloat(strings.TrimSpace(share), 64); err != nil {
				return nil, fmt.Errorf("%s, got %q", wantSize, text.Brief(one))
			}
		}
		list = append(list, size)
	}
	return list, list.validate()
}

func parseSize(name string) (Size, error) {
	if i := slices.IndexFunc(sizeNames, func(s Size) bool { return s.name == name }); i >= 0 {
		return sizeNames[i], nil
	}
	width, height, _ := strings.Cut(name, "x")
	w, err := strconv.Atoi(width)
	h, err2 := strconv.Atoi(height)
	if cmp.Or(err, err2) != nil {
		return Size{}, fmt.Errorf("%s, got %q", wantSize, text.Brief(name))
	}
	return Size{Width: w, Height: h}, nil
}

func (l Sizes) validate() error {
	for _, s := range l {
		switch {
		case min(s.Width, s.Height) < 1 || max(s.Width, s.Height) > maxSide:
			return fmt.Errorf("expected sides of 1 to %d pixels, got %dx%d", maxSide, s.Width, s.Height)
		case s.Width*s.Height > maxPixels:
			return fmt.Errorf("must be at most %d megapixels, got %dx%d", maxPixels/1_000_000, s.Width, s.Height)
		case !(s.Share > 0 && s.Share <= 1e9):
			return fmt.Errorf("expected a share above 0, such as 1080p:0.3, got %v", s.Share)
		}
	}
	return nil
}

func (s Size) String() string {
	return cmp.Or(s.name, fmt.Sprintf("%dx%d", s.Width, s.Height))
}

// String is the form that ParseSizes reads.
func (l Sizes) String() string {
	return strings.Join(text.Each(l, func(s Size) string {
		if s.Share == 1 {
			return s.String()
		}
		return s.String() + ":" + text.Plain(s.Share)
	}), ",")
}

// MarshalYAML writes the terse form.
func (l Sizes) MarshalYAML() (any, error) { return l.String(), nil }

// UnmarshalYAML reads the terse form, or a list of sizes with their shares.
func (l *Sizes) UnmarshalYAML(unmarshal func(any) error) error {
	var given string
	if unmarshal(&given) != nil {
		var list []string
		var shares []map[string]float64
		switch {
		case unmarshal(&list) == nil:
			given = strings.Join(list, ",")
		case unmarshal(&shares) == nil:
			for _, one := range shares {
				for name, share := range one {
					given = strings.TrimPrefix(given+","+name+":"+text.Plain(share), ",")
				}
			}
		default:
			return errors.New(wantSize)
		}
	}
	parsed, err := ParseSizes(given)
	*l = parsed
	return err
}

// Parse reads the terse form of a Spec: sizes, and what else there is as
// key=value.
func Parse(given string) (Spec, error) {
	var s Spec
	if strings.TrimSpace(given) == "" {
		return s, errors.New("is empty, expected sizes such as 1080p, or files=PATH")
	}
	for word := range strings.FieldsSeq(given) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			key, value = "size", word
		}
		if err := s.set(key, value); err != nil {
			return Spec{}, fmt.Errorf("%s: %w", key, err)
		}
	}
	return s, s.Validate()
}

func (s *Spec) set(key, value string) (err error) {
	switch key {
	case "count":
		var d dist.Tokens
		d, err = dist.ParseTokens(value)
		s.Count = &d
	case "size":
		s.Size, err = ParseSizes(value)
	case "content":
		s.Content = value
	case "format":
		s.Format = value
	case "distinct":
		s.Distinct, err = parseNumber(value)
	case "frames":
		s.Frames, err = parseNumber(value)
	case "files":
		s.Files = strings.Split(value, ",")
	case "placeholder":
		s.Placeholder = value
	default:
		err = errors.New("is no key of images: expected sizes such as 1080p, and count=, size=, content=, format=, frames=, distinct=, files= or placeholder=")
	}
	return err
}

func parseNumber(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("expected a whole number, got %q", text.Brief(value))
	}
	return n, nil
}

// MarshalYAML writes the terse form where that says all, which it cannot of paths
// with spaces in them.
func (s Spec) MarshalYAML() (any, error) {
	if back, err := Parse(s.String()); err == nil && reflect.DeepEqual(back, s) {
		return s.String(), nil
	}
	type mapping Spec
	return mapping(s), nil
}

// UnmarshalYAML reads the terse form or a block.
func (s *Spec) UnmarshalYAML(unmarshal func(any) error) error {
	var given string
	if unmarshal(&given) == nil {
		parsed, err := Parse(given)
		*s = parsed
		return err
	}
	type mapping Spec
	if err := unmarshal((*mapping)(s)); err != nil {
		return err
	}
	return s.Validate()
}

// Validate says what is wrong and what to write in its place. It opens no file.
func (s Spec) Validate() error {
	if d := s.Count; d != nil {
		if err := d.Validate(); err != nil {
			return fmt.Errorf("count: %w", err)
		}
		if d.Mean()*float64(max(1, s.Frames)) > maxCount {
			return fmt.Errorf("count: must be at most %d images in a request, frames of clips among them, got %s", maxCount, d)
		}
	}
	if err := s.Size.validate(); err != nil {
		return fmt.Errorf("size: %w", err)
	}
	for _, word := range []struct {
		key, value string
		known      []string
	}{{"content", s.Content, Contents}, {"format", s.Format, Formats}} {
		if word.value != "" && !slices.Contains(word.known, word.value) {
			return fmt.Errorf("%s: expected %s, got %q", word.key, strings.Join(word.known, " or "), text.Brief(word.value))
		}
		if word.value != "" && s.Files != nil {
			return fmt.Errorf("%s: is for images that are made, but files are given: leave out one of the two", word.key)
		}
	}
	switch {
	case s.Files != nil && (len(s.Files) == 0 || slices.Contains(s.Files, "")):
		return errors.New("files: expected paths of images and folders of them, got an empty one or none")
	case s.Size != nil && s.Files != nil:
		return errors.New("size: is for images that are made, but files are given: leave out one of the two")
	case s.Frames < 0 || s.Frames > maxCount:
		return fmt.Errorf("frames: must be 1 to %d images in a clip, or 0 for single images, got %d", maxCount, s.Frames)
	case s.Frames > 0 && s.Files != nil:
		return errors.New("frames: are made, but files are given: leave out one of the two")
	case s.Distinct < 0 || s.Distinct > maxDistinct:
		return fmt.Errorf("distinct: must be 1 to %d images, or 0 for no image twice, got %d", maxDistinct, s.Distinct)
	}
	return nil
}

// String is the terse form, which Parse reads.
func (s Spec) String() string {
	var words []string
	add := func(key, value string) {
		if value != "" {
			words = append(words, key+value)
		}
	}
	add("", s.Size.String())
	if s.Count != nil {
		add("count=", s.Count.String())
	}
	add("content=", s.Content)
	add("format=", s.Format)
	if s.Frames > 0 {
		add("frames=", strconv.Itoa(s.Frames))
	}
	if s.Distinct > 0 {
		add("distinct=", strconv.Itoa(s.Distinct))
	}
	add("files=", strings.Join(s.Files, ","))
	add("placeholder=", s.Placeholder)
	if words == nil {
		return defaultSize
	}
	return strings.Join(words, " ")
}

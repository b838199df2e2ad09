package media

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif" // a format that files may have
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"redline/internal/llm"
	"redline/internal/regular"
	"redline/internal/stats"
	"redline/internal/traffic/dist"
)

// Source gives the images of sessions. It is safe for concurrent use.
type Source struct {
	spec  Spec
	seed  uint64
	salt  uint64 // of the numbers of images: the seed of all that is not shared
	sizes dist.Urn
	files []string
	ready sync.Once
}

// New makes a source. The number and the sizes of images hang on the seed, what
// they show on the salt. Files are looked at, so that one that is no image is
// known before anything is sent.
func (s Spec) New(seed, salt uint64) (*Source, error) {
	if len(s.Size) == 0 {
		s.Size, _ = ParseSizes(defaultSize)
	}
	if s.Content == "" {
		s.Content = Contents[0]
	}
	if s.Format == "" {
		s.Format = Formats[0]
	}
	source := &Source{spec: s, seed: seed, salt: stats.Rand(salt, "images", 0).Uint64()}
	var shares []float64
	for _, size := range s.Size {
		shares = append(shares, size.Share)
	}
	source.sizes = dist.NewUrn(shares)
	for _, path := range s.Files {
		list, err := listImages(path)
		if err != nil {
			return nil, err
		}
		source.files = append(source.files, list...)
	}
	if n := s.Distinct; n > 0 && n < len(source.files) {
		source.files = source.files[:n]
	}
	return source, nil
}

// listImages gives an image, or those of a folder, each looked at.
func listImages(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, CheckFile(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		if e.Type().IsRegular() && slices.Contains(extensions, strings.ToLower(filepath.Ext(e.Name()))) {
			file := filepath.Join(path, e.Name())
			if err := CheckFile(file); err != nil {
				return nil, err
			}
			list = append(list, file)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("%s: holds no images, expected files that end in %s", path, strings.Join(extensions, ", "))
	}
	return list, nil
}

// extensions are those of files that a folder of images is searched for.
var extensions = []string{".jpg", ".jpeg", ".png", ".gif", ".webp"}

// Open reads an image from a file.
func Open(path string) (llm.Part, error) {
	data, err := regular.Read(path)
	if err != nil {
		return llm.Part{}, err
	}
	part, err := Read(data)
	if err != nil {
		return part, fmt.Errorf("%s: %w", path, err)
	}
	return part, nil
}

func isWebP(data []byte) bool {
	return len(data) > 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// Read makes a part of an encoded image, or says that it is none.
func Read(data []byte) (llm.Part, error) {
	if isWebP(data) {
		return llm.Part{Kind: llm.Image, Media: "image/webp", Data: data}, nil // its size is not read
	}
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return llm.Part{}, fmt.Errorf("is not an image, expected a JPEG, PNG, GIF or WebP (%w)", err)
	}
	return llm.Part{Kind: llm.Image, Media: "image/" + format, Data: data, Width: config.Width, Height: config.Height}, nil
}

// Placeholder is what the prompt has for each image, "" for nothing.
func (s *Source) Placeholder() string { return s.spec.Placeholder }

// Files is how many files the images are drawn from, 0 where they are made.
func (s *Source) Files() int { return len(s.files) }

// Count is how many images the i-th session has, frames of clips among them.
func (s *Source) Count(i int) int { return s.count(s.draw(i)) * max(1, s.spec.Frames) }

func (s *Source) draw(i int) *rand.Rand { return stats.Rand(s.seed, "workload images", uint64(i)) }

func (s *Source) count(r *rand.Rand) int {
	if s.spec.Count == nil {
		return 1
	}
	return min(s.spec.Count.Sample(r), maxCount/max(1, s.spec.Frames))
}

// Images gives those of the i-th session. What takes long is done before the
// first of all.
func (s *Source) Images(i int) (list []llm.Part, err error) {
	s.ready.Do(s.prepare)
	r := s.draw(i)
	for k := range s.count(r) {
		if s.files != nil {
			part, err := Open(s.files[r.IntN(len(s.files))])
			if err != nil {
				return nil, err
			}
			list = append(list, part)
			continue
		}
		list = s.appendClip(list, r, uint64(i)<<8|uint64(k))
	}
	return list, nil
}

// appendClip makes an image, or the frames of a clip: numbers that follow each
// other are those of images that share all but their last strips.
func (s *Source) appendClip(list []llm.Part, r *rand.Rand, serial uint64) []llm.Part {
	if s.spec.Distinct > 0 { // its number says all about it
		serial = r.Uint64N(uint64(s.spec.Distinct))
		r = stats.Rand(s.seed, "workload distinct images", serial)
	}
	m := s.mosaic(s.sizes.Draw(r))
	const odd = 0x9e3779b97f4a7c15 // so that numbers differ in all places, and no two are the same
	for frame := range max(1, s.spec.Frames) {
		data := m.image(serial*odd + s.salt + uint64(frame))
		list = append(list, llm.Part{Kind: llm.Image, Media: m.format.media, Data: data, Width: m.width, Height: m.height})
	}
	return list
}

func (s *Source) mosaic(size int) *mosaic {
	of := s.spec.Size[size]
	return mosaicOf(kind{s.spec.Content, s.spec.Format, of.Width, of.Height})
}

// prepare compresses the pictures of all sizes.
func (s *Source) prepare() {
	if s.files == nil {
		for i := range s.spec.Size {
			s.mosaic(i)
		}
	}
}

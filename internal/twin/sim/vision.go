package sim

import (
	"container/list"
	"fmt"
	"math"

	"redline/internal/catalog"
)

// Vision is how the engine sees images: an encoder of the kind of Qwen2-VL's goes
// before the model, whichever that is. Its knobs have vLLM's names, and those of
// the processor of that model.
type Vision struct {
	// LimitMMPerPrompt is how many images one prompt may have: none where it is 0,
	// and as many as vLLM allows where it is nil.
	LimitMMPerPrompt *int `yaml:"limit_mm_per_prompt,omitempty"`
	// MaxPixels is the size above which images are made smaller.
	MaxPixels int `yaml:"max_pixels,omitempty"`
	// EncoderCacheSize is how many tokens of images are kept for another request
	// with the same; by default the token budget of a step.
	EncoderCacheSize int `yaml:"encoder_cache_size,omitempty"`
}

// The encoder: it looks at patches of 14 pixels, and four of them are a token.
const (
	tokenSide       = 28
	tokenPatches    = 4
	encoderParams   = 675e6
	encoderLayers   = 32
	encoderWidth    = 1280
	defaultImages   = 999
	defaultMaxPixel = 12_845_056
	minPixels       = 4 * tokenSide * tokenSide
)

// validate says what is wrong with the knobs.
func (v Vision) validate() error {
	if n := v.LimitMMPerPrompt; n != nil && *n < 0 {
		return fmt.Errorf("limit_mm_per_prompt: expected how many images a prompt may have, got %d", *n)
	}
	return within(
		bound{"max_pixels", float64(v.MaxPixels), 0, math.MaxInt32, "a positive number, or 0 for the default"},
		bound{"encoder_cache_size", float64(v.EncoderCacheSize), 0, math.MaxInt32, "a positive number of tokens, or 0 for the default"})
}

// MaxImages is how many images one prompt may have.
func (v Vision) MaxImages() int {
	if v.LimitMMPerPrompt == nil {
		return defaultImages
	}
	return *v.LimitMMPerPrompt
}

// ImageTokens is how many tokens stand for an image: its sides, made smaller or
// larger where the processor does so, in whole squares of 28 pixels.
func (v Vision) ImageTokens(width, height int) int {
	most := float64(defaultMaxPixel)
	if v.MaxPixels > 0 {
		most = float64(v.MaxPixels)
	}
	pixels := float64(width) * float64(height)
	scale := math.Sqrt(max(1, minPixels/pixels) * min(1, most/pixels))
	side := func(length int) int { return max(1, int(math.Round(float64(length)*scale/tokenSide))) }
	return side(width) * side(height)
}

// Image is a stretch of a prompt that stands for an image.
type Image struct {
	At, Tokens int
	// Hash is the same for the same content.
	Hash uint64
}

// Token is the id of the i-th token of an image: prompts that show the same one
// are alike to the prefix cache.
func (i Image) Token(n int) int32 { return int32(hashToken(i.Hash, int32(n))) }

// encoderCache keeps what the encoder made of images that were seen last.
type encoderCache struct {
	size, used int // tokens
	recent     list.List
	of         map[uint64]*list.Element
}

// seen reports whether an image is in the cache, where it is from now on.
func (c *encoderCache) seen(i Image) bool {
	if c.of == nil {
		c.of = map[uint64]*list.Element{}
	}
	if e := c.of[i.Hash]; e != nil {
		c.recent.MoveToFront(e)
		return true
	}
	c.of[i.Hash] = c.recent.PushFront(i)
	for c.used += i.Tokens; c.used > c.size; {
		last := c.recent.Back()
		gone := c.recent.Remove(last).(Image)
		delete(c.of, gone.Hash)
		c.used -= gone.Tokens
	}
	return false
}

// encodeImages has the images looked at that begin before the end of what a step
// computes of a sequence, unless the prefix cache has them whole.
func (b *batching) encodeImages(s *sequence, to int) {
	for images := s.job.Images; s.images < len(images) && images[s.images].At < to; s.images++ {
		i := images[s.images]
		if i.At+i.Tokens <= s.computed {
			continue
		}
		b.stats.MMQueries++
		if b.encoded.seen(i) {
			b.stats.MMHits++
			continue
		}
		b.encoding += b.encoderSeconds(i.Tokens)
	}
}

// encoderSeconds is how long the encoder takes for an image of so many tokens. An
// engine that is known by its constants alone takes as long as for a prompt of
// them.
func (b *batching) encoderSeconds(tokens int) float64 {
	if b.spec.Law != nil {
		took, _ := b.seconds(catalog.StepLoad{Tokens: tokens})
		return took
	}
	patches := float64(tokens * tokenPatches)
	operations := 2*encoderParams*patches + 4*encoderLayers*encoderWidth*patches*patches
	return operations / (b.deploy.Accelerator.BF16 * float64(b.deploy.TP) * b.spec.ComputeShare)
}

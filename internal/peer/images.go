package peer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const noVideo = "redline sends images and no video: redline run --images '720p frames=16' sends the frames of a clip as images"

// mmBucket is a size of vLLM's random-mm: (height, width, frames): share.
var mmBucket = regexp.MustCompile(`\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)\s*:\s*([0-9.]+)`)

// needChat refuses images in a prompt that is one text, and names the backend that takes them.
func (p *Plan) needChat(v *Values, backend string) {
	if url := p.Flags()["url"]; len(url) > 0 && strings.HasSuffix(url[0], "/v1/completions") {
		v.refuse("dataset-name", "images are parts of a chat's messages: add --backend "+backend)
	}
}

// vllmImages are the images of random-mm: noise, a number around the base in
// sizes with shares.
func vllmImages(v *Values, p *Plan) {
	const config = "random-mm-bucket-config"
	var sizes []string
	said := v.text(config)
	for _, m := range mmBucket.FindAllStringSubmatch(said, -1) {
		share, err := strconv.ParseFloat(m[4], 64)
		switch {
		case err != nil:
			v.fail(config, "sizes such as {(256, 256, 1): 0.5, (720, 1280, 1): 0.5}")
		case share > 0 && m[3] != "1":
			v.refuse(config, noVideo)
		case share > 0:
			sizes = append(sizes, fmt.Sprintf("%sx%s:%s", m[2], m[1], m[4]))
		}
	}
	if rest := strings.Trim(mmBucket.ReplaceAllString(said, ""), "{}, "); len(sizes) == 0 || rest != "" {
		v.fail(config, "sizes such as {(256, 256, 1): 0.5, (720, 1280, 1): 0.5}")
	}
	base, spread := v.number("random-mm-base-items-per-request"), v.number("random-mm-num-mm-items-range-ratio")
	most := 255.0
	if n, ok := v.object("random-mm-limit-mm-per-prompt")["image"].(float64); ok {
		most = n
	}
	low, high := math.Floor(base*(1-spread)), min(most, math.Ceil(base*(1+spread)))
	if low < 1 {
		p.note("every request has one image at least")
	}
	p.set("images", fmt.Sprintf("%s count=%s content=noise format=jpeg", strings.Join(sizes, ","), uniformLength(int(low), int(high))))
}

// guidellmImages are those of the data source synthetic_image, whose sides are made
// even.
func guidellmImages(v *Values, p *Plan, a guidellmArgs) {
	if a.images == nil {
		return
	}
	const want = "width and height, or resolution=720p, of synthetic images"
	side := func(key string) float64 {
		if a.images[key] == "" {
			return 0
		}
		return v.above("data", a.images[key])
	}
	width, height := side("width"), side("height")
	if name := a.images["resolution"]; name != "" {
		size, known := guidellmSizes[strings.ToLower(name)]
		if !known {
			v.fail("data", want)
		}
		height = cmp.Or(height, size[1])
		if a.images["aspect_ratio"] == "" {
			width = cmp.Or(width, size[0])
		}
	}
	if across, down, ok := strings.Cut(strings.ReplaceAll(a.images["aspect_ratio"], "/", ":"), ":"); ok {
		ratio := v.above("data", across) / v.above("data", down)
		width = cmp.Or(width, math.Round(height*ratio))
		height = cmp.Or(height, math.Round(width/ratio))
	}
	if width < 2 || height < 2 {
		v.fail("data", want)
	}
	content := cmp.Or(a.images["content"], "gradient")
	if content != "noise" {
		if content != "solid" {
			p.note("images have one color each, as images of content=%s are about as small", content)
		}
		content = "solid"
	}
	n := max(1, side("images_per_request"))
	p.set("images", fmt.Sprintf("%dx%d count=fixed(%d) content=%s format=%s", int(width)&^1, int(height)&^1, int(n), content, cmp.Or(a.images["format"], "jpeg")))
	if a.data["output_tokens"] == "" {
		for key, value := range a.images {
			if strings.HasPrefix(key, "output_tokens") {
				a.data[key] = value
			}
		}
	}
}

// guidellmSizes are the resolutions that it knows by name.
var guidellmSizes = map[string][2]float64{"240p": {426, 240}, "360p": {640, 360}, "480p": {854, 480}, "540p": {960, 540}, "720p": {1280, 720},
	"1080p": {1920, 1080}, "1440p": {2560, 1440}, "2160p": {3840, 2160}, "4k": {3840, 2160}}

// inferenceMedia is a block of images or clips of inference-perf.
type inferenceMedia struct {
	Count       json.RawMessage
	Insertion   any             `json:"insertion_point"`
	Resolutions json.RawMessage // of images
	Profiles    json.RawMessage // of clips
	Form        string          `json:"representation"`
}

// inferenceImages are those of data.multimodal: of one color each, and clips where
// they are sent as frames.
func inferenceImages(v *Values, p *Plan) {
	const key = "data.multimodal"
	var s struct {
		Image, Video *inferenceMedia
		Audio        any
	}
	said := v.text(key)
	if said == "" {
		return
	}
	media, frames := &inferenceMedia{}, 1
	switch {
	case !strictly(said, &s):
		v.fail(key, "a block such as {image: {count: {min: 1, max: 1}, resolutions: 720p}}")
		return
	case s.Audio != nil || s.Image != nil && s.Video != nil:
		v.refuse(key, "redline sends images, or clips as their frames, in one workload")
		return
	case s.Image != nil:
		media = s.Image
	case s.Video != nil:
		media = s.Video
		if !one(media.Form, "png_frames", "jpeg_frames") {
			v.refuse(key, "redline sends clips as representation: png_frames or jpeg_frames")
			return
		}
	}
	if len(media.Count) == 0 { // none are sent there either
		return
	}
	count, _ := inferenceLength(v, key, string(media.Count), "1")
	sizes := inferenceSizes(v, key, media, &frames)
	words := fmt.Sprintf("%s count=%s content=solid format=%s", strings.Join(sizes, ","), count, cmp.Or(strings.TrimSuffix(media.Form, "_frames"), "png"))
	if s.Video != nil {
		words += fmt.Sprintf(" frames=%d", frames)
	}
	p.set("images", words)
	p.note("images stand behind the text of the prompt, whatever insertion_point says, and every request has one at least")
}

// inferenceSizes are the sizes of images or clips with their weights.
func inferenceSizes(v *Values, key string, media *inferenceMedia, frames *int) (sizes []string) {
	type profile struct {
		Resolution json.RawMessage
		Frames     int
	}
	type weighted struct {
		Resolution json.RawMessage
		Profile    *profile
		Weight     *float64
	}
	raw := media.Resolutions
	if media.Profiles != nil {
		raw = media.Profiles
	}
	list := []weighted{}
	var single profile
	switch {
	case raw == nil:
		list, *frames = []weighted{{}}, 10
	case raw[0] == '[' && json.Unmarshal(raw, &list) == nil && len(list) > 0:
	case media.Profiles != nil && json.Unmarshal(raw, &single) == nil:
		list = []weighted{{Profile: &single}}
	case media.Profiles == nil:
		list = []weighted{{Resolution: raw}}
	}
	for i, w := range list {
		if w.Profile != nil {
			if w.Resolution = w.Profile.Resolution; i > 0 && w.Profile.Frames != *frames {
				v.refuse(key, "redline has clips of one number of frames")
			}
			*frames = max(1, w.Profile.Frames)
		}
		size, name := struct{ Width, Height int }{512, 512}, ""
		if w.Resolution != nil && json.Unmarshal(w.Resolution, &name) != nil && json.Unmarshal(w.Resolution, &size) != nil {
			v.fail(key, "resolutions such as 720p or {width: 512, height: 512}")
		}
		said := cmp.Or(name, fmt.Sprintf("%dx%d", size.Width, size.Height))
		if w.Weight != nil {
			said += ":" + number(*w.Weight)
		}
		sizes = append(sizes, said)
	}
	if sizes == nil {
		v.fail(key, "resolutions, or profiles of clips")
	}
	return sizes
}

// sglangImages are those of the data set image.
func sglangImages(v *Values, p *Plan) {
	size := v.text("image-resolution")
	if height, width, ok := strings.Cut(size, "x"); ok {
		size = width + "x" + height
	}
	if strings.HasPrefix(size, "random") {
		v.refuse("image-resolution", "give sizes with their shares: redline run --images '512x512:0.5,1080p:0.5'")
	}
	content := "noise"
	if v.text("image-content") == "blank" {
		content = "solid distinct=1"
	}
	low, high := v.count("image-count"), v.count("image-count")
	if v.on("random-image-count") {
		low = 1
	}
	p.set("images", fmt.Sprintf("%s count=%s content=%s format=%s", size, uniformLength(low, high), content, v.text("image-format")))
}

// nvidiaImages are those of AIPerf and GenAI-Perf, whose sides are each drawn from
// a normal distribution: here from three sizes with its mean and variance.
func nvidiaImages(v *Values, p *Plan) {
	widths := nvidiaSides(v, "image-width")
	heights := nvidiaSides(v, "image-height")
	source := v.text("image-source")
	switch {
	case widths == nil || heights == nil || v.text("input-file") != "":
		return
	case !one(source, "", "noise", "assets", "source_images"):
		p.set("images", fmt.Sprintf("files=%s count=fixed(%d)", source, max(1, v.count("image-batch-size"))))
		return
	}
	var sizes []string
	for _, w := range widths {
		for _, h := range heights {
			sizes = append(sizes, fmt.Sprintf("%dx%d:%s", w.pixels, h.pixels, number(math.Round(w.share*h.share*1e4)/1e4)))
		}
	}
	content := "noise"
	if one(source, "assets", "source_images") {
		content = "photo"
	}
	format := strings.ToLower(v.text("image-format"))
	if format == "random" {
		format = "png"
		p.note("images are PNG files, not half of them JPEG")
	}
	p.set("images", fmt.Sprintf("%s count=fixed(%d) content=%s format=%s", strings.Join(sizes, ","), max(1, v.count("image-batch-size")), content, format))
}

type side struct {
	pixels int
	share  float64
}

// nvidiaSides are the lengths of a side, nil where there are no images.
func nvidiaSides(v *Values, name string) []side {
	mean, deviation := v.number(name+"-mean"), v.number(name+"-stddev")
	switch {
	case mean < 1:
		return nil
	case deviation == 0:
		return []side{{int(mean), 1}}
	}
	at := func(k float64) int { return max(1, int(math.Round(mean+k*math.Sqrt(3)*deviation))) }
	return []side{{at(-1), 1.0 / 6}, {at(0), 2.0 / 3}, {at(1), 1.0 / 6}}
}

// imageFlags are those of AIPerf and GenAI-Perf; mean is the default of both
// sides, and format that of the files.
func imageFlags(mean, format string) []Flag {
	return []Flag{
		flag(One, "image-width-mean", mean, "images"),
		flag(One, "image-width-stddev", "0", "images"),
		flag(One, "image-height-mean", mean, "images"),
		flag(One, "image-height-stddev", "0", "images"),
		flag(One, "image-batch-size batch-size-image", "1", "images"),
		flag(One, "image-format", format, "images"),
	}
}

package peer

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

const noVideo = "redline sends images and no video"

// mmBucket is a size of vLLM's random-mm: (height, width, frames): share.
var mmBucket = regexp.MustCompile(`\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)\s*:\s*([0-9.]+)`)

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

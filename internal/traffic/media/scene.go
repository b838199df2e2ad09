package media

import (
	"math"
	"math/rand/v2"
)

// raster is a picture in 8-bit RGB, row by row.
type raster struct {
	width, height int
	pix           []byte
}

// paint makes a picture of the content.
func paint(content string, width, height int, r *rand.Rand) raster {
	p := raster{width, height, make([]byte, 3*width*height)}
	switch content {
	case "noise":
		for i := range p.pix {
			p.pix[i] = byte(r.Uint32())
		}
	case "solid":
		color := [3]byte{byte(r.Uint32()), byte(r.Uint32()), byte(r.Uint32())}
		for i := range p.pix {
			p.pix[i] = color[i%3]
		}
	default:
		p.photograph(r)
	}
	return p
}

// What a photograph is made of: the spectrum of natural scenes falls with the
// frequency, a sensor adds grain, and things have edges. The figures give a JPEG
// of quality 85 about two bits per pixel, as photographs have.
const (
	detail = 0.56 // of the amplitude of one octave, in the next
	grain  = 6.5  // standard deviation, of 255
	things = 24
	// colorLevel is by how many halvings the colors are coarser than the light.
	colorLevel = 2
)

func (p *raster) photograph(r *rand.Rand) {
	light := octaves(p.width, p.height, 120, detail, r)
	w, h := at(p.width, colorLevel), at(p.height, colorLevel)
	red, blue := octaves(w, h, 60, 0.4, r), octaves(w, h, 60, 0.4, r)
	for range things {
		p.addThing(light, r)
	}
	var noise [4096]float32
	for i := range noise {
		noise[i] = float32(r.NormFloat64() * grain)
	}
	dice := r.Uint32()
	for i := range light {
		y := 120 + light[i] + noise[roll(&dice)>>20]
		color := i/p.width>>colorLevel*w + i%p.width>>colorLevel
		p.pix[3*i] = clamp(y + red[color])
		p.pix[3*i+1] = clamp(y - 0.4*red[color] - 0.3*blue[color])
		p.pix[3*i+2] = clamp(y + blue[color])
	}
}

// roll is chance enough for a pixel, and quick.
func roll(state *uint32) uint32 {
	*state = *state*1664525 + 1013904223
	return *state
}

// addThing lays an ellipse of another brightness over a picture.
func (p *raster) addThing(light []float32, r *rand.Rand) {
	across := (0.02 + 0.15*r.Float64()) * float64(p.width)
	down := across * (0.4 + r.Float64())
	x0, y0, shade := r.Float64()*float64(p.width), r.Float64()*float64(p.height), float32(r.NormFloat64()*35)
	for y := max(0, int(y0-down)); y < min(p.height, int(y0+down)); y++ {
		dy := (float64(y) - y0) / down
		half := across * math.Sqrt(max(0, 1-dy*dy))
		for x := max(0, int(x0-half)); x < min(p.width, int(x0+half)); x++ {
			light[y*p.width+x] += shade
		}
	}
}

func clamp(v float32) byte { return byte(max(0, min(255, v))) }

// octaves is noise of all frequencies, the lowest of the given amplitude: each
// finer grid is the coarser one, drawn larger, with less noise added.
func octaves(width, height int, amplitude, persistence float64, r *rand.Rand) []float32 {
	levels := 0
	for max(width, height)>>levels > 4 {
		levels++
	}
	w, h := at(width, levels), at(height, levels)
	grid := make([]float32, w*h)
	for {
		dice, scale := r.Uint32(), float32(amplitude/(1<<32))
		for i := range grid {
			grid[i] += float32(int32(roll(&dice))) * scale
		}
		if levels == 0 {
			return grid
		}
		levels--
		amplitude *= persistence
		grid = enlarge(grid, w, h, at(width, levels), at(height, levels))
		w, h = at(width, levels), at(height, levels)
	}
}

// at is a length at a level of coarseness.
func at(length, level int) int { return (length-1)>>level + 1 }

// enlarge doubles a grid, between whose points values lie on a line.
func enlarge(grid []float32, w, h, width, height int) []float32 {
	out := make([]float32, width*height)
	for y := range height {
		upper := grid[y/2*w:][:w]
		lower := grid[min((y+1)/2, h-1)*w:][:w]
		row := out[y*width:][:width]
		for x := range row {
			left, right := x/2, min((x+1)/2, w-1)
			row[x] = (upper[left] + upper[right] + lower[left] + lower[right]) / 4
		}
	}
	return out
}

package media

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
)

// stripRows is the height of a strip: a row of blocks of a JPEG with halved
// color.
const stripRows = 16

// serialBits is how many bits tell the images of a mosaic apart.
const serialBits = 48

// mosaic makes any number of different images of one size, each in the time of a
// copy: an image is strips of a few pictures that were compressed beforehand,
// each strip without knowledge of the others. Most of it is one of the pictures,
// and from which each of the last strips comes is the image's number.
type mosaic struct {
	format  encoding
	width   int
	height  int
	strips  [][]strip // by picture, from the top
	varied  int       // of the last strips
	content string
}

// strip is a stretch of an image as it stands in the file.
type strip struct {
	data []byte
	sum  uint32 // of what was compressed, where the format has one over all
	size int    // of what was compressed
}

// encoding is a format of files whose strips can be put together.
type encoding struct {
	media  string
	encode func(p raster) strip
	join   func(width, height int, strips []strip) []byte
}

var encodings = map[string]encoding{
	"jpeg": {"image/jpeg", encodeJPEG, joinJPEG},
	"png":  {"image/png", encodePNG, joinPNG},
}

// kind is what mosaics differ in.
type kind struct {
	content, format string
	width, height   int
}

// mosaics are kept for the next stage: they do not hang on its seed.
var mosaics struct {
	sync.Mutex
	of map[kind]func() *mosaic
}

// mosaicOf gives the mosaic of a kind, which is made when it is first asked for.
func mosaicOf(k kind) *mosaic {
	mosaics.Lock()
	if mosaics.of == nil {
		mosaics.of = map[kind]func() *mosaic{}
	}
	make := mosaics.of[k]
	if make == nil {
		make = sync.OnceValue(func() *mosaic { return newMosaic(k) })
		mosaics.of[k] = make
	}
	mosaics.Unlock()
	return make()
}

// newMosaic compresses the pictures. Images of few strips need more of them, and
// very flat ones are not put together at all.
func newMosaic(k kind) *mosaic {
	m := &mosaic{format: encodings[k.format], width: k.width, height: k.height, content: k.content}
	rows := (k.height + stripRows - 1) / stripRows
	const fewest, most = 4, 128
	pictures := max(fewest, int(math.Ceil(math.Pow(2, serialBits/float64(rows)))))
	if pictures > most {
		return m
	}
	m.varied = int(math.Ceil(serialBits / math.Log2(float64(pictures))))
	m.strips = make([][]strip, pictures)
	var running sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range m.strips {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			m.strips[i] = m.cut(paint(k.content, k.width, k.height, rand.New(rand.NewPCG(uint64(i), 1))))
		})
	}
	running.Wait()
	return m
}

// cut compresses a picture strip by strip.
func (m *mosaic) cut(p raster) (list []strip) {
	for rows := range slices.Chunk(p.pix, 3*p.width*stripRows) {
		list = append(list, m.format.encode(raster{p.width, len(rows) / 3 / p.width, rows}))
	}
	return list
}

// image gives the image of a number.
func (m *mosaic) image(number uint64) []byte {
	if m.strips == nil {
		return m.format.join(m.width, m.height, m.cut(paint(m.content, m.width, m.height, rand.New(rand.NewPCG(number, 2)))))
	}
	pictures := uint64(len(m.strips))
	list := slices.Clone(m.strips[number>>(serialBits/2)%pictures])
	number &= 1<<serialBits - 1
	for i := len(list) - 1; i >= max(0, len(list)-m.varied); i-- {
		list[i] = m.strips[number%pictures][i]
		number /= pictures
	}
	return m.format.join(m.width, m.height, list)
}

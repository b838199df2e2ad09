package media

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"redline/internal/must"
)

// TestImagesDecode has every content in every format decoded by the standard
// library, with sides that are no multiples of a block, and finds the pixels that
// were painted where the format loses none.
func TestImagesDecode(t *testing.T) {
	for _, content := range Contents {
		for _, format := range Formats {
			for _, size := range []Size{{Width: 100, Height: 61}, {Width: 333, Height: 250}, {Width: 17, Height: 400}} {
				m := newMosaic(kind{content, format, size.Width, size.Height})
				seen := map[string]bool{}
				for number := range uint64(6) {
					data := m.image(number * 0x9e3779b97f4a7c15)
					img, got, err := image.Decode(bytes.NewReader(data))
					if err != nil || got != format || img.Bounds() != image.Rect(0, 0, size.Width, size.Height) {
						t.Fatalf("%s %s %v: decoded %v %s, %v", content, format, size, img, got, err)
					}
					if seen[string(data)] {
						t.Fatalf("%s %s %v: image %d comes twice", content, format, size, number)
					}
					seen[string(data)] = true
				}
			}
		}
	}
}

// TestPNGPixels compares a PNG with what was painted, pixel by pixel.
func TestPNGPixels(t *testing.T) {
	m := &mosaic{format: encodings["png"], width: 130, height: 70}
	p := paint("photo", m.width, m.height, rand.New(rand.NewPCG(1, 2)))
	img := must.Get(png.Decode(bytes.NewReader(m.format.join(m.width, m.height, m.cut(p)))))(t)
	for i := range m.width * m.height {
		r, g, b, _ := img.At(i%m.width, i/m.width).RGBA()
		if want := p.pix[3*i:]; byte(r>>8) != want[0] || byte(g>>8) != want[1] || byte(b>>8) != want[2] {
			t.Fatalf("pixel %d is %v, want %v", i, img.At(i%m.width, i/m.width), want[:3])
		}
	}
}

// TestPhotoCompresses wants of a made photograph what a camera's has: between
// one and three bits per pixel in a JPEG of this quality.
func TestPhotoCompresses(t *testing.T) {
	m := newMosaic(kind{"photo", "jpeg", 640, 360})
	if bits := float64(8*len(m.image(5))) / (640 * 360); bits < 1 || bits > 3 {
		t.Errorf("%.2f bits per pixel", bits)
	}
}

// TestDistinct counts the different images that a source gives.
func TestDistinct(t *testing.T) {
	for _, c := range []struct{ distinct, most int }{{0, 60}, {5, 5}} {
		spec := Spec{Size: Sizes{{Width: 64, Height: 48, Share: 1}, {Width: 32, Height: 32, Share: 1}}, Distinct: c.distinct}
		source := must.Get(spec.New(1, 2))(t)
		seen := map[string]bool{}
		for i := range 60 {
			list, err := source.Images(i)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			seen[string(list[0].Data)] = true
		}
		if len(seen) != c.most {
			t.Errorf("distinct %d: %d different images of 60, want %d", c.distinct, len(seen), c.most)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	m := newMosaic(kind{"solid", "png", 40, 30})
	for i := range uint64(3) {
		must.Write(t, filepath.Join(dir, fmt.Sprintf("%d.png", i)), m.image(i))
	}
	source, err := Spec{Files: []string{dir}}.New(1, 2)
	if err != nil || source.Files() != 3 {
		t.Fatal(source, err)
	}
	list, err := source.Images(0)
	if err != nil || len(list) != 1 || list[0].Media != "image/png" || list[0].Width != 40 || list[0].Height != 30 {
		t.Fatal(list, err)
	}
	text := filepath.Join(dir, "readme.png")
	must.Write(t, text, "no image")
	if _, err := (Spec{Files: []string{dir}}).New(1, 2); err == nil || !bytes.Contains([]byte(err.Error()), []byte(text+": is not an image")) {
		t.Errorf("a folder with a text among its images: %v", err)
	}
}

// TestFrames: the frames of a clip differ, and share most of their pixels.
func TestFrames(t *testing.T) {
	spec := must.Get(Parse("160x128 count=fixed(2) format=png frames=3"))(t)
	source := must.Get(spec.New(1, 2))(t)
	list := must.Get(source.Images(7))(t)
	if len(list) != 6 || source.Count(7) != 6 {
		t.Fatalf("%d images, and %d are said", len(list), source.Count(7))
	}
	for _, at := range []int{0, 1, 3, 4} {
		a, b := must.Get(png.Decode(bytes.NewReader(list[at].Data)))(t), must.Get(png.Decode(bytes.NewReader(list[at+1].Data)))(t)
		same := 0
		for i := range 160 * 128 {
			if a.At(i%160, i/160) == b.At(i%160, i/160) {
				same++
			}
		}
		if same < 160*64 || same == 160*128 {
			t.Errorf("frames %d and %d share %d of %d pixels", at, at+1, same, 160*128)
		}
	}
}

func TestParse(t *testing.T) {
	for _, given := range []string{"1080p", "512x512", "1080p:0.3,512x512:0.7 count=uniform(1,4) content=noise format=png frames=16 distinct=20", "count=fixed(2) files=a.png,dir"} {
		s, err := Parse(given)
		if err != nil {
			t.Errorf("%q: %v", given, err)
		}
		if s.String() != given {
			t.Errorf("%q is written as %q", given, s.String())
		}
	}
	for _, bad := range []string{"big", "0x5", "1080p:-1", "content=cat", "format=gif", "distinct=x", "count=none", "color=red", "1080p files=a.png", "count=fixed(1000)", "count=fixed(20) frames=16", "frames=256", "frames=2 files=a.png"} {
		if s, err := Parse(bad); err == nil {
			t.Errorf("%q is read as %v", bad, s)
		}
	}
}

func BenchmarkImage(b *testing.B) {
	for _, format := range Formats {
		b.Run(format, func(b *testing.B) {
			m := newMosaic(kind{"photo", format, 1920, 1080})
			b.SetBytes(int64(len(m.image(1))))
			for number := uint64(0); b.Loop(); number++ {
				m.image(number)
			}
		})
	}
}

package simserver

import (
	"bytes"
	"encoding/base64"
	"errors"
	"hash/maphash"
	"image"
	_ "image/gif" // formats that images come in
	_ "image/jpeg"
	_ "image/png"
	"io"
	"net/http"
	"strconv"

	"redline/internal/twin/sim"
)

// readBody reads a request's body into memory of its size.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	in := http.MaxBytesReader(w, r.Body, bodyLimit)
	if r.ContentLength <= 0 || r.ContentLength > bodyLimit {
		return io.ReadAll(in)
	}
	body := make([]byte, r.ContentLength)
	_, err := io.ReadFull(in, body)
	return body, err
}

// attachments are the long stretches of base64 that were taken out of a body.
type attachments [][]byte

// minAside is how long a stretch of base64 is that is worth it.
const minAside = 4096

// base64Bytes are those of the standard alphabet.
var base64Bytes = func() (is [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") {
		is[c] = true
	}
	return is
}()

// setAside puts a short mark in the place of every long stretch of base64, which
// nobody then has to read as JSON: that would take this server longer than all
// else that it does.
func setAside(body []byte) (short []byte, list attachments) {
	if len(body) < minAside {
		return body, nil
	}
	copied := 0
	for at := 0; at < len(body); {
		next := bytes.IndexByte(body[at:], '"')
		if next < 0 {
			break
		}
		end := at + next
		for from := at; end-from >= minAside; {
			if url := bytes.Index(body[from:end], []byte(";base64,")); url >= 0 {
				from += url + len(";base64,")
			}
			stop := from
			for stop < end && base64Bytes[body[stop]] {
				stop++
			}
			if n := stop - from; n < minAside || n%4 != 0 {
				break
			}
			short = append(append(short, body[copied:from]...), markOf(len(list))...)
			list = append(list, body[from:stop])
			copied, from = stop, stop
		}
		at = end + 1
	}
	if list == nil {
		return body, nil
	}
	return append(short, body[copied:]...), list
}

const asideName = "redline set aside "

// markOf stands for the n-th attachment, as base64 too.
func markOf(n int) string {
	return base64.StdEncoding.EncodeToString([]byte(asideName + strconv.Itoa(n)))
}

// find gives what was set aside under a mark, still as base64, and data itself
// where it is none.
func (list attachments) find(data []byte) (found []byte, encoded bool) {
	if number, is := bytes.CutPrefix(data, []byte(asideName)); is {
		if n, err := strconv.Atoi(string(number)); err == nil && n >= 0 && n < len(list) {
			return list[n], true
		}
	}
	return data, false
}

// imageSeed makes equal content equal.
var imageSeed = maphash.MakeSeed()

// look finds out how large an image is that stands at a place of the prompt.
func (s *Server) look(data []byte, encoded bool, at int) (sim.Image, error) {
	var in io.Reader = bytes.NewReader(data)
	if encoded {
		in = base64.NewDecoder(base64.StdEncoding, in)
	}
	config, _, err := image.DecodeConfig(in)
	if err != nil {
		return sim.Image{}, errors.New("cannot identify image file: " + err.Error())
	}
	return sim.Image{At: at, Tokens: s.spec.ImageTokens(config.Width, config.Height), Hash: maphash.Bytes(imageSeed, data)}, nil
}

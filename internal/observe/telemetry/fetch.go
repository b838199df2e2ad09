package telemetry

import (
	"bytes"
	"context"
	"errors"
	"sync"
)

// pageBreak is the line that parts two pages in one text. Any other reader
// takes it for a comment.
const pageBreak = "# page break"

// FetchAll gets the pages of several replicas at once and puts them one after
// another. One that fails fails all: a sum with a part missing is no count.
func FetchAll(each []Fetch) Fetch {
	if len(each) == 1 {
		return each[0]
	}
	return func(ctx context.Context) ([]byte, error) {
		pages, faults := make([][]byte, len(each)), make([]error, len(each))
		var all sync.WaitGroup
		for i, fetch := range each {
			all.Go(func() { pages[i], faults[i] = fetch(ctx) })
		}
		all.Wait()
		for _, err := range faults {
			if err != nil {
				return nil, err
			}
		}
		for i, page := range pages {
			pages[i] = page[:bytes.LastIndexByte(page, '\n')+1] // a last line without its end may have been cut off
		}
		return bytes.Join(pages, []byte(pageBreak+"\n")), nil
	}
}

// Recognize gets a page and names the engine that it is of, or says why there
// is none.
func Recognize(ctx context.Context, fetch Fetch) (engine string, err error) {
	text, err := fetch(ctx)
	if err != nil {
		return "", err
	}
	if reading, known := ParsePage(text).Read(); known {
		return reading.Engine, nil
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return "", errors.New("it answers with a web page, not with metrics")
	}
	return "", errors.New("the page has no metrics of a known engine")
}

package telemetry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// mostPage is the largest page that is read. A large vLLM deployment's is well
// under a megabyte.
const mostPage = 16 << 20

// FetchURL gets a page with an ordinary client. Its errors do not carry the
// address, in which there may be a secret.
func FetchURL(client *http.Client, address string, header http.Header) Fetch {
	return func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, withoutAddress(err)
		}
		if header != nil {
			req.Header = header.Clone()
		}
		resp, err := client.Do(req)
		if err != nil {
			return nil, withoutAddress(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("HTTP %d", resp.StatusCode)
		}
		page, err := io.ReadAll(io.LimitReader(resp.Body, mostPage+1))
		if err != nil {
			return nil, err
		}
		if len(page) > mostPage {
			return nil, fmt.Errorf("the page is over %d bytes", mostPage)
		}
		return page, nil
	}
}

func withoutAddress(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

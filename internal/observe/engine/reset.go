package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Reset is how an engine is told to forget its prefix cache: a path that is posted
// to. An engine that answers with success: false, or with an error, has requests
// under way and is asked again.
type Reset struct {
	Path string
	// Each names the setting that counts the parts which are told one by one; the
	// path has a %d for their number then.
	Each string
	// Note is what a server must have been started with.
	Note string
}

// Run tells the engine once. It reports whether the cache is empty; an error is
// that of the call.
func (r Reset) Run(ctx context.Context, call Caller, flags map[string]string) (done bool, err error) {
	parts := 1
	if r.Each != "" {
		if parts, err = strconv.Atoi(flags[r.Each]); err != nil {
			return false, fmt.Errorf("the server does not say its %s", strings.ReplaceAll(r.Each, "_", " "))
		}
	}
	for i := range parts {
		path := r.Path
		if r.Each != "" {
			path = fmt.Sprintf(r.Path, i)
		}
		content, err := call(ctx, path, []byte("{}"))
		if err != nil {
			return false, err
		}
		var said struct {
			Success *bool `json:"success"`
		}
		if json.Unmarshal(content, &said) == nil && said.Success != nil && !*said.Success {
			return false, nil
		}
	}
	return true, nil
}

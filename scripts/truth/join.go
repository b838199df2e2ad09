//go:build unix

package truth

import (
	"fmt"

	"redline/internal/drive/record"
	"redline/internal/llm"
	"redline/internal/run/store"
)

// Join gives every ok request of a run together with its line, and the
// real-time clock at the run's origin.
func Join(dir *store.Dir, lines []Line, each func(r *record.Record, l Line, origin int64)) error {
	header, err := dir.Header()
	if err != nil {
		return err
	}
	byID := map[string]Line{}
	for _, l := range lines {
		byID[l.ID] = l
	}
	for r, err := range dir.Records() {
		if err != nil {
			return err
		}
		if r.Outcome != llm.OK {
			continue
		}
		line, ok := byID[llm.RequestID(header.Run, r.ID)]
		if !ok || len(line.Before) != r.ChunkCount() {
			return fmt.Errorf("request %d: %d events recorded, %d written", r.ID, r.ChunkCount(), len(line.Before))
		}
		each(r, line, header.OriginUnixNS)
	}
	return nil
}

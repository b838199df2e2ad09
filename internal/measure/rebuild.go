package measure

import (
	"errors"
	"io/fs"
	"time"

	"redline/internal/config"
	"redline/internal/load"
	"redline/internal/record"
	"redline/internal/result"
	"redline/internal/store"
	"redline/internal/token"
	"redline/internal/validity"
)

// Rebuild gives the result of a run directory: the one that the run wrote, or,
// where it was killed before, one made from its records.
func Rebuild(path string) (*result.Result, error) {
	dir, err := store.Open(path)
	if err != nil {
		return nil, err
	}
	res, err := dir.Result()
	if !errors.Is(err, fs.ErrNotExist) {
		return res, err
	}
	return fromRecords(dir)
}

func fromRecords(dir *store.Dir) (*result.Result, error) {
	header, err := dir.Header()
	if err != nil {
		return nil, err
	}
	c, err := config.Reopen(dir.PlanPath())
	if err != nil {
		return nil, err
	}
	res := blank(c, header.Run, time.Unix(0, header.OriginUnixNS))
	res.Interrupted = "killed"
	res.Workload.Tokenizer = token.O200k().Name()
	start, end, err := measuredSpan(dir)
	if err != nil {
		return nil, err
	}
	if end == 0 {
		return nothingMeasured(res, load.Outcome{}), nil
	}
	return res, judge(res, c, dir, start, end, validity.Evidence{Embedded: c.Embedded()})
}

// measuredSpan finds the window of a run that did not live to write it down:
// from the first request due in it to the last thing that was recorded.
func measuredSpan(dir *store.Dir) (start, end int64, err error) {
	for r, err := range dir.Records() {
		if err != nil {
			return 0, 0, err
		}
		if r.Phase != record.Measure {
			continue
		}
		if start == 0 || r.Due < start {
			start = r.Due
		}
		end = max(end, r.End)
	}
	return start, end, nil
}

package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
)

// Add takes a finished run in, or in its new state.
func (ix *Index) Add(ctx context.Context, dir string) error {
	if ix.passing {
		return fmt.Errorf("%s cannot be written", ix.file())
	}
	refused, err := ix.AddAll(ctx, []string{dir}, nil)
	if err != nil {
		return err
	}
	return refused[dir]
}

// AddAll takes finished runs in, and gives of those that cannot be read why.
func (ix *Index) AddAll(ctx context.Context, dirs []string, tell Progress) (refused map[string]error, err error) {
	err = ix.withLock(func() error {
		refused, err = ix.take(ctx, dirs, tell, func(*sql.Tx) (bool, error) { return true, nil })
		return err
	})
	return refused, err
}

// fill replaces all that the index holds by what the directories say, unless it
// need not be and another process has filled it. What cannot be read is not a
// run, or of a form that only another version reads.
func (ix *Index) fill(ctx context.Context, tell Progress, unlessFilled bool) (found int, err error) {
	dirs, err := runDirs(ix.root)
	if err != nil {
		return 0, err
	}
	refused, err := ix.take(ctx, dirs, tell, func(tx *sql.Tx) (bool, error) {
		if fresh, err := needsFill(ctx, tx); err != nil || !fresh && unlessFilled {
			return false, err
		}
		_, err := tx.ExecContext(ctx, fmt.Sprintf("DELETE FROM runs; PRAGMA user_version = %d", version))
		return true, err
	})
	return len(dirs) - len(refused), err
}

// take puts the runs of some directories into the index; begin says whether it
// shall, in the same transaction.
func (ix *Index) take(ctx context.Context, dirs []string, tell Progress, begin func(*sql.Tx) (bool, error)) (refused map[string]error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	refused = map[string]error{}
	err = ix.change(ctx, func(tx *sql.Tx) error {
		if shall, err := begin(tx); err != nil || !shall {
			return err
		}
		put, err := tx.PrepareContext(ctx, "INSERT OR REPLACE INTO runs (path, id, started, series, entry) VALUES (?, ?, ?, ?, ?)")
		if err != nil {
			return err
		}
		defer put.Close()
		done := 0
		for r := range ix.readAll(ctx, dirs) {
			if r.err != nil {
				refused[r.dir] = r.err
			} else if _, err := put.ExecContext(ctx, r.Path, r.ID, r.Started.UnixNano(), r.Series, r.text); err != nil {
				return err
			}
			done++
			if tell != nil {
				tell(done, len(dirs))
			}
		}
		return ctx.Err()
	})
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, ix.explainError(err)
	}
	return refused, nil
}

// outcome is what became of a directory that was read.
type outcome struct {
	*Entry
	dir  string
	text string // the entry as it is kept
	err  error
}

// readAll reads directories on all cores, in any order, until the context ends.
func (ix *Index) readAll(ctx context.Context, dirs []string) <-chan outcome {
	out, next := make(chan outcome, 64), make(chan string)
	go func() {
		defer close(next)
		for _, dir := range dirs {
			select {
			case next <- dir:
			case <-ctx.Done():
				return
			}
		}
	}()
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(dirs)) {
		readers.Go(func() {
			for dir := range next {
				select {
				case out <- ix.outcome(dir):
				case <-ctx.Done():
				}
			}
		})
	}
	go func() { readers.Wait(); close(out) }()
	return out
}

func (ix *Index) outcome(dir string) outcome {
	e, err := ix.read(dir)
	if err != nil {
		return outcome{dir: dir, err: err}
	}
	text, err := json.Marshal(e)
	return outcome{dir: dir, Entry: e, text: string(text), err: err}
}

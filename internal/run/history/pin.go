package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"redline/internal/regular"
	"redline/internal/store"
)

// Pin marks a run as the baseline of its series. It lies in the run's own
// directory, so that it outlives the index.
type Pin struct {
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"`
}

func readPin(dir string) (*Pin, error) {
	path := filepath.Join(dir, store.PinFile)
	text, err := regular.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pin := &Pin{}
	if err := json.Unmarshal(text, pin); err != nil {
		return nil, fmt.Errorf("%s: %w; redline history pin writes it again", path, err)
	}
	return pin, nil
}

// Pin makes a run the baseline of its series, in place of any other, and gives
// those that were it before.
func (ix *Index) Pin(ctx context.Context, e *Entry, pin Pin) (replaced []*Entry, err error) {
	if !e.Sound() {
		return nil, fmt.Errorf("run %s is no baseline: it is not valid, was cut short, or has no figures of one load", e.ID)
	}
	err = ix.withLock(func() error {
		replaced, err = ix.pin(ctx, e, pin)
		return err
	})
	return replaced, err
}

func (ix *Index) pin(ctx context.Context, e *Entry, pin Pin) (replaced []*Entry, err error) {
	others, err := ix.List(ctx, Filter{Series: e.Series, Pinned: true})
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(pin)
	if err != nil {
		return nil, err
	}
	if err := checkFinished(filepath.Join(ix.root, e.Path)); err != nil {
		return nil, err
	}
	if err := (&store.Dir{Path: filepath.Join(ix.root, e.Path)}).WritePin(append(text, '\n')); err != nil {
		return nil, err
	}
	if err := ix.Add(ctx, filepath.Join(ix.root, e.Path)); err != nil {
		return nil, err
	}
	for _, other := range others {
		if other.Path == e.Path {
			continue
		}
		if err := ix.Unpin(ctx, other); err != nil {
			return replaced, err
		}
		replaced = append(replaced, other)
	}
	return replaced, nil
}

// Unpin takes a pin away.
func (ix *Index) Unpin(ctx context.Context, e *Entry) error {
	dir := filepath.Join(ix.root, e.Path)
	return ix.withLock(func() error {
		if err := os.Remove(filepath.Join(dir, store.PinFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return ix.Add(ctx, dir)
	})
}

// Policy says which runs are old enough to go. Pinned ones always stay.
type Policy struct {
	// Before lets go of runs that began earlier; zero for none.
	Before time.Time
	// Keep is how many runs stay at most, the newest; 0 for any number.
	Keep int
}

// Stale gives the runs that a policy lets go of, oldest first.
func (ix *Index) Stale(ctx context.Context, p Policy) ([]*Entry, error) {
	all, err := ix.List(ctx, Filter{})
	if err != nil {
		return nil, err
	}
	var stale []*Entry
	for i, e := range all {
		surplus := p.Keep > 0 && i < len(all)-p.Keep
		old := !p.Before.IsZero() && e.Started.Before(p.Before)
		if e.Pin == nil && (surplus || old) {
			stale = append(stale, e)
		}
	}
	return stale, nil
}

// Remove deletes a run: its directory, then its entry, so that what a failure
// leaves behind is still listed.
func (ix *Index) Remove(ctx context.Context, e *Entry) error {
	dir := filepath.Join(ix.root, filepath.FromSlash(e.Path))
	if e.Path == "." || !filepath.IsLocal(filepath.FromSlash(e.Path)) {
		return fmt.Errorf("%s lies outside of %s and is not deleted: redline history rebuild forgets it", e.Path, ix.root)
	}
	return ix.withLock(func() error {
		if _, err := os.Stat(filepath.Join(dir, store.ResultFile)); err == nil {
			if err := checkFinished(dir); err != nil {
				return err
			}
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
		err := ix.change(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "DELETE FROM runs WHERE path = ?", e.Path)
			return err
		})
		if err != nil {
			return ix.explainError(err)
		}
		return nil
	})
}

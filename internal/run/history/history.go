// Package history keeps an index of finished runs beside their directories. It
// takes run directories and gives lists of them, series of runs of one plan,
// and the pinned ones. The directories are the truth: the index can be rebuilt
// from them at any time, and pins lie in them. It judges nothing.
package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"modernc.org/sqlite" // the driver of the index, without cgo
	sqlite3 "modernc.org/sqlite/lib"

	"redline/internal/lock"
	"redline/internal/store"
)

// FileName is the index beside the run directories.
const FileName = "redline-history.sqlite"

// version is that of the index's tables; another one is made again.
const version = 7

// patience is how long a writer waits for others.
const patience = 10 * time.Second

const tables = `
CREATE TABLE IF NOT EXISTS runs (
	path    TEXT PRIMARY KEY,
	id      TEXT NOT NULL,
	started INTEGER NOT NULL,
	series  TEXT NOT NULL,
	entry   TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started);
CREATE INDEX IF NOT EXISTS runs_by_series ON runs (series, started);`

// Index is the index of one directory of runs. Several processes may use it at
// once.
type Index struct {
	root string
	db   *sql.DB
	// passing is an index that ends with this process, of a directory that cannot
	// be written.
	passing bool
	own     *lock.Lock // while this process writes, nil otherwise
}

// lockName is there while a process writes to the index or to pins.
const lockName = "redline-history.lock"

// withLock does what changes index and pins while no other process does. It may
// be called within itself.
func (ix *Index) withLock(do func() error) error {
	if ix.own != nil || ix.passing {
		return do()
	}
	l, err := lock.Await(filepath.Join(ix.root, lockName), "redline history", patience)
	var held *lock.HeldError
	switch {
	case errors.As(err, &held):
		return fmt.Errorf("the history in %s has been locked by %s for more than %v: try again when that has ended", ix.root, held.By, patience)
	case errors.Is(err, errors.ErrUnsupported):
		return do() // the index has locks of its own
	case err != nil:
		return err
	}
	ix.own = l
	defer func() { ix.own = nil }()
	return errors.Join(do(), l.Release())
}

// checkFinished reports a run that another process still writes to.
func checkFinished(dir string) error {
	hold := store.Hold{Command: "redline history"}
	defer hold.Release()
	return hold.Take(dir)
}

// indexError is an index that cannot be read: it has to be made again.
type indexError struct {
	Path string
	Err  error
}

func (b *indexError) Error() string {
	return fmt.Sprintf("%s cannot be used (%v): redline history rebuild --runs %s rebuilds it", b.Path, b.Err, filepath.Dir(b.Path))
}

func (b *indexError) Unwrap() error { return b.Err }

// Progress hears how many run directories were read, of how many.
type Progress func(done, total int)

// Open opens the index of the runs below root, and makes it where there is
// none.
func Open(ctx context.Context, root string) (*Index, error) { return OpenWithProgress(ctx, root, nil) }

// OpenWithProgress is Open, which says how far it is where it makes the index.
func OpenWithProgress(ctx context.Context, root string, tell Progress) (*Index, error) {
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: there is no such directory; --runs names the one that holds run directories", root)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no directory; --runs names the one that holds run directories", root)
	}
	ix, fresh, err := open(ctx, root, filepath.Join(root, FileName))
	if readOnly(err) {
		ix, fresh, err = open(ctx, root, ":memory:")
	}
	if err != nil {
		return nil, err
	}
	if fresh {
		// Runs from before there was an index belong in it too.
		err := ix.withLock(func() error { _, err := ix.fill(ctx, tell, true); return err })
		if err != nil {
			return nil, errors.Join(err, ix.Close())
		}
	}
	return ix, nil
}

// readOnly reports a file that can neither be made nor written.
func readOnly(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CANTOPEN || e.Code()&0xff == sqlite3.SQLITE_READONLY)
}

// open opens the database of root at path and says whether it is empty and of no
// version yet.
func open(ctx context.Context, root, path string) (ix *Index, fresh bool, err error) {
	// Paths may hold what a URI takes for its own.
	dsn := (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath(),
		RawQuery: fmt.Sprintf("_pragma=busy_timeout(%d)&_txlock=immediate", patience.Milliseconds())}).String()
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, false, err
	}
	db.SetMaxOpenConns(1)
	ix = &Index{root: root, db: db, passing: path == ":memory:"}
	if fresh, err = ix.prepare(ctx); err != nil {
		return nil, false, errors.Join(ix.explainError(err), db.Close())
	}
	return ix, fresh, nil
}

// prepare makes the tables in a new file. Those of another version are
// dropped: the runs themselves tell all that was in them. The version is written
// when they are filled.
func (ix *Index) prepare(ctx context.Context) (fresh bool, err error) {
	err = ix.change(ctx, func(tx *sql.Tx) error {
		if fresh, err = needsFill(ctx, tx); err != nil || !fresh {
			return err
		}
		_, err := tx.ExecContext(ctx, "DROP TABLE IF EXISTS runs; "+tables)
		return err
	})
	return fresh, err
}

// needsFill reports an index that is new, of another version, or whose making was
// cut short.
func needsFill(ctx context.Context, tx *sql.Tx) (bool, error) {
	var found int
	err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&found)
	return found != version, err
}

// explainError tells an index that others hold or that is damaged from other errors.
func (ix *Index) explainError(err error) error {
	path := ix.file()
	switch text := err.Error(); {
	case strings.Contains(text, "locked"), strings.Contains(text, "SQLITE_BUSY"):
		return fmt.Errorf("%s is locked by another process for more than %v: try again when it has ended", path, patience)
	case strings.Contains(text, "malformed"), strings.Contains(text, "not a database"), strings.Contains(text, "CORRUPT"):
		return &indexError{Path: path, Err: errors.New("it is damaged")}
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (ix *Index) file() string { return filepath.Join(ix.root, FileName) }

// Close gives the index back.
func (ix *Index) Close() error { return ix.db.Close() }

// change does several things as one.
func (ix *Index) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// read makes the entry of a run directory.
func (ix *Index) read(dir string) (*Entry, error) {
	d, err := store.Open(dir)
	if err != nil {
		return nil, err
	}
	res, err := d.Outline()
	if err != nil {
		return nil, err
	}
	path, err := ix.relative(dir)
	if err != nil {
		return nil, err
	}
	e := EntryOf(res)
	e.Path = path
	e.Pin, err = readPin(dir)
	return e, err
}

// relative is a run's path as the index keeps it, so that the whole directory
// of runs can be moved.
func (ix *Index) relative(dir string) (string, error) {
	root, err := filepath.Abs(ix.root)
	if err != nil {
		return "", err
	}
	full, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(root, full)
	return filepath.ToSlash(rel), err
}

// Rebuild makes the index of root again from the run directories and says how
// many it found. A damaged index is replaced.
func Rebuild(ctx context.Context, root string) (found int, err error) {
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return 0, fmt.Errorf("%s: there is no such directory; --runs names the one that holds run directories", root)
	}
	writer := &Index{root: root}
	err = writer.withLock(func() error {
		ix, _, err := open(ctx, root, writer.file())
		var broken *indexError
		if errors.As(err, &broken) {
			if err := os.Remove(broken.Path); err != nil {
				return err
			}
			ix, _, err = open(ctx, root, writer.file())
		}
		if err != nil {
			return err
		}
		defer ix.Close()
		found, err = ix.fill(ctx, nil, false)
		return err
	})
	return found, err
}

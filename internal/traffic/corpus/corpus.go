// Package corpus reads files of text: conversations and prompts one by one,
// by their index, or stretches of prose. A file is read once from end to end,
// which checks every row of it, and then only where it is asked for: what
// stays in memory is the place of each row. The package does not know tokens,
// lengths or requests.
package corpus

import (
	"errors"
	"fmt"
	"io"
	"os"

	"redline/internal/llm"
	"redline/internal/traffic/hub"
)

// Format is how a file holds its text.
type Format string

// The formats of conversations, and plain prose.
const (
	ShareGPT Format = "sharegpt" // a JSON array, or lines, of {"conversations": …}
	Lines    Format = "jsonl"    // lines of {"prompt": …} or {"messages": …}
	Batch    Format = "batch"    // an OpenAI batch: lines with a body
	Golden   Format = "golden"   // a prompt in each line, or JSON Lines
	Calls    Format = "bfcl"     // the Berkeley leaderboard: lines of {"question": [[…]], "function": …}
	Prose    Format = "text"
)

// FormatInfo is a format and what its files look like, in words.
type FormatInfo struct {
	Name  Format
	About string
}

// Formats lists them all, with what tells each apart.
var Formats = []FormatInfo{
	{ShareGPT, `ShareGPT JSON ([{"conversations": …}])`},
	{Lines, `JSON Lines with "prompt" or "messages", or with "turns" and "category"`},
	{Batch, `OpenAI batch lines ({"custom_id": …, "body": …})`},
	{Calls, `questions with functions to call ({"question": …, "function": …})`},
	{Golden, "golden prompts, one in each line (only when named)"},
	{Prose, "plain text"},
}

// Conversation is what one session says, as a file holds it.
type Conversation struct {
	// Row is where it begins: a line, or a place in a JSON array, from 1.
	Row                    int
	Tenant, Class, Session string
	Turns                  []Turn
}

// Turn is what is said before one reply.
type Turn struct {
	// Messages follow those of the turns before and their replies.
	Messages []llm.Message
	// Whole says that Messages hold the history themselves.
	Whole bool
	// Reply is the recorded answer, "" where there is none.
	Reply string
	// Output is how many tokens the row asks for, 0 where it does not say.
	Output int
	// Sampling, Tools and Format are what else it asks for.
	Sampling llm.Sampling
	Tools    *llm.Toolset
	Format   *llm.Format
	llm.Additions
}

// Options says how to read a file.
type Options struct {
	Format      Format
	SkipBadRows bool
}

// File is an open file of conversations. It is safe for concurrent use.
type File struct {
	name    string
	local   string // where it lies on this machine
	format  Format
	array   bool // one JSON array, not lines
	source  io.ReaderAt
	size    int64
	closer  io.Closer
	places  []place
	skipped int
	needs   map[llm.Need]int           // the first row that has each
	sampled map[string]map[string]bool // what samples has: values by what they are of
	samples []Sample
	unused  unusedFields
}

// place is where a conversation begins.
type place struct {
	offset int64
	row    int32
}

// Open reads a file from end to end and keeps where its conversations begin.
func Open(path string, o Options) (*File, error) {
	return openWith(path, func(source *os.File, size int64) (*File, error) {
		f, err := newFile(path, source, size, o)
		if err == nil {
			f.closer = source
		}
		return f, err
	})
}

// openWith is what is made of an open file, which is closed again where nothing
// can be.
func openWith[T any](path string, read func(source *os.File, size int64) (T, error)) (out T, err error) {
	local, err := hub.Dataset(path)
	if err != nil {
		return out, err
	}
	source, err := os.Open(local)
	if err != nil {
		return out, err
	}
	info, err := source.Stat()
	switch {
	case err == nil && info.IsDir():
		err = fmt.Errorf("%s: is a directory, expected a file", path)
	case err == nil:
		out, err = read(source, info.Size())
	}
	if err != nil {
		source.Close()
	}
	return out, err
}

func newFile(name string, source io.ReaderAt, size int64, o Options) (*File, error) {
	f := &File{name: name, local: name, format: o.Format, source: source, size: size, needs: map[llm.Need]int{}, sampled: map[string]map[string]bool{}, unused: unusedFields{}}
	if file, is := source.(*os.File); is {
		f.local = file.Name()
	}
	if size == 0 {
		return nil, fmt.Errorf("%s: is empty", name)
	}
	f.array = o.Format == ShareGPT && f.isArray()
	var err error
	switch {
	case f.array:
		err = f.scanArray(o.SkipBadRows)
	case o.Format == ShareGPT, o.Format == Lines, o.Format == Batch, o.Format == Calls, o.Format == Golden:
		err = f.scanLines(o.SkipBadRows)
	default:
		return nil, fmt.Errorf("%s: conversations cannot be read as %q", name, string(o.Format))
	}
	switch {
	case err != nil:
		return nil, err
	case len(f.places) == 0 && f.skipped > 0:
		return nil, fmt.Errorf("%s: all %d rows are bad, expected at least one in the %s format", name, f.skipped, o.Format)
	case len(f.places) == 0:
		return nil, fmt.Errorf("%s: holds no conversation, expected at least one in the %s format", name, o.Format)
	}
	return f, nil
}

// Len is the number of conversations.
func (f *File) Len() int { return len(f.places) }

// SkippedRows is the number of bad rows that were passed over.
func (f *File) SkippedRows() int { return f.skipped }

// Needs has the first row that needs each thing which not every API has a word
// for.
func (f *File) Needs() map[llm.Need]int { return f.needs }

// Sample is what a row carries beside its text. It has messages only where those do.
type Sample struct {
	Row    int
	Tenant string
	Turn
}

// Samples are the first rows that carry each thing which a server may refuse.
func (f *File) Samples() []Sample { return f.samples }

// Notes are what a reader of the file should know, a sentence each.
func (f *File) Notes() []string { return f.unused.notes(f.name) }

// Close gives the file back.
func (f *File) Close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// At gives the i-th conversation.
func (f *File) At(i int) (Conversation, error) {
	if i < 0 || i >= len(f.places) {
		return Conversation{}, fmt.Errorf("%s: has no conversation %d, only %d", f.name, i, len(f.places))
	}
	start, end := f.places[i].offset, f.size
	if i+1 < len(f.places) {
		end = f.places[i+1].offset
	}
	data := make([]byte, end-start)
	if _, err := f.source.ReadAt(data, start); err != nil && !errors.Is(err, io.EOF) {
		return Conversation{}, fmt.Errorf("%s:%d: %w", f.name, f.places[i].row, err)
	}
	read := f.readLines
	if f.array {
		read = readElement
	}
	c, err := read(data)
	if err != nil {
		return Conversation{}, fmt.Errorf("%s:%d: %w; the file has changed since it was opened", f.name, f.places[i].row, err)
	}
	c.Row = int(f.places[i].row)
	return c, nil
}

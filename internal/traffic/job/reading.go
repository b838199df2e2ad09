package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"time"

	"redline/internal/stats"
	"redline/internal/text"
	"redline/internal/traffic/trace"
)

// reading is the state that all readers of a file share.
type reading struct {
	file *File
	part string // the file that is being read
	// recognized says that the format was not named, but found.
	recognized bool
	count      func(text string) int
	// unused counts rows by the fields of them that nothing reads, and assumed
	// by what had to be assumed.
	unused, assumed map[string]int
	minted          uint64
}

// values gives each JSON value of a part to a reader, with its line.
func (in *reading) values(r io.Reader, to reader) error {
	source := &lineCounter{r: r}
	decoder := json.NewDecoder(source)
	for {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if err == io.EOF {
			return nil
		}
		end := decoder.InputOffset()
		line := source.lineAt(end - int64(len(value)))
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return fault(in.part, line, "ends in the middle of a value: the file is cut off")
		case errors.As(err, &syntax):
			return fault(in.part, source.lineAt(syntax.Offset), "is not JSON: %v", err)
		case err != nil:
			return fault(in.part, source.lineAt(end), "cannot be read: %v", err)
		}
		if name, ok := Recognize(value[:min(len(value), trace.HeadBytes)]); ok && in.recognized && name != in.file.Format {
			return fault(in.part, line, "is of the format %s, others of the file are %s; expected one format in a file", name, in.file.Format)
		}
		if err := to.read(value, line); err != nil {
			return in.atLine(line, err)
		}
	}
}

// atLine gives an error its file and line, where it has none yet.
func (in *reading) atLine(line int, err error) error {
	var known *trace.Error
	if errors.As(err, &known) {
		return known
	}
	return fault(in.part, line, "%v", err)
}

// lineCounter remembers where lines end.
type lineCounter struct {
	r      io.Reader
	offset int64
	ends   []int64 // of the lines behind those that are counted
	lines  int
}

func (c *lineCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for at := 0; ; {
		i := bytes.IndexByte(p[at:n], '\n')
		if i < 0 {
			break
		}
		c.ends = append(c.ends, c.offset+int64(at+i))
		at += i + 1
	}
	c.offset += int64(n)
	return n, err
}

// lineAt is the line of an offset; offsets never go back.
func (c *lineCounter) lineAt(offset int64) int {
	n, _ := slices.BinarySearch(c.ends, offset)
	c.ends, c.lines = c.ends[n:], c.lines+n
	return c.lines + 1
}

// fields are where the values of an object go, by their names.
type fields map[string]any

// decode reads an object and counts the fields that have no place.
func (in *reading) decode(raw json.RawMessage, want fields) error {
	return decode(raw, want, func(name string) error {
		in.unused[name]++
		return nil
	})
}

// decodeStrictly refuses fields that have no place.
func decodeStrictly(raw json.RawMessage, want fields) error {
	known := slices.Sorted(maps.Keys(want))
	return decode(raw, want, func(name string) error {
		return fmt.Errorf("unknown key %s: %s", text.Quote(name), text.HintWithKnown(name, known))
	})
}

func decode(raw json.RawMessage, want fields, unknown func(name string) error) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return errors.New("expected a JSON object")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		value := all[name]
		if string(value) == "null" {
			continue
		}
		into, ok := want[name]
		var err error
		if !ok {
			err = unknown(name)
		} else if err = json.Unmarshal(value, into); err != nil {
			err = fmt.Errorf("%s: %s", name, text.Reason(err))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notes say what was not used and what was assumed.
func (in *reading) notes() (notes []string) {
	if len(in.unused) > 0 {
		notes = append(notes, "fields that are not used, and in how many rows: "+text.Tally(in.unused))
	}
	for _, what := range slices.Sorted(maps.Keys(in.assumed)) {
		notes = append(notes, what+": "+text.Count(in.assumed[what]))
	}
	return notes
}

// add builds a job and takes it into the file.
func (in *reading) add(name, part string, line int, drafts []draft) error {
	job, err := build(name, drafts)
	if err != nil {
		return fault(part, line, "%v", err)
	}
	job.Place = fmt.Sprintf("%s:%d", part, line)
	in.file.Jobs = append(in.file.Jobs, job)
	return nil
}

// mint gives an id that no other block has.
func (in *reading) mint() uint64 {
	in.minted++
	return stats.Scramble(in.minted ^ 1<<63)
}

// idOf gives the block id of words: the same for the same ones.
func idOf(words ...string) uint64 {
	h := fnv.New64a()
	for _, word := range words {
		h.Write([]byte(word))
		h.Write([]byte{0})
	}
	return stats.Scramble(h.Sum64())
}

// textBlock is a part of a prompt of which the text is known.
func (in *reading) textBlock(role, content string) Block {
	return Block{idOf(role, content), in.count(content)}
}

// blocksOf gives the blocks of a prompt of which the ids of whole blocks are
// known. What they do not cover is a block that no other prompt has.
func (in *reading) blocksOf(ids []uint64, size, tokens int) ([]Block, error) {
	if size <= 0 {
		return nil, fmt.Errorf("has blocks of %d tokens, expected a positive length", size)
	}
	if n := (tokens + size - 1) / size; len(ids) > n {
		return nil, fmt.Errorf("has %d blocks of %d tokens, more than its prompt of %s holds", len(ids), size, text.Count(tokens))
	}
	blocks := make([]Block, 0, len(ids)+1)
	for _, id := range ids {
		blocks = append(blocks, Block{id, min(size, tokens)})
		tokens -= min(size, tokens)
	}
	if tokens > 0 {
		blocks = append(blocks, Block{in.mint(), tokens})
	}
	return blocks, nil
}

// seconds and milliseconds turn numbers of a file into times, without leaving
// the range of a Duration.
func seconds(n float64) time.Duration      { return durationOf(n, time.Second) }
func milliseconds(n float64) time.Duration { return durationOf(n, time.Millisecond) }

func durationOf(n float64, unit time.Duration) time.Duration {
	const limit = float64(1 << 62)
	return time.Duration(max(-limit, min(limit, n*float64(unit))))
}

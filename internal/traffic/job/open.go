package job

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"redline/internal/text"
	"redline/internal/traffic/hub"
	"redline/internal/traffic/trace"
)

// Options say how to read a file. The zero value recognizes it.
type Options struct {
	// Format is one of Formats; recognized by content where empty.
	Format string
	// Count counts the tokens of text, where a file has text in place of
	// lengths; nil takes four bytes for one.
	Count func(text string) int
}

// File is what a file or a folder holds.
type File struct {
	Path, Format string
	Jobs         []*Job
	// Untimed says that it has no times of a server: how long requests took is
	// not known.
	Untimed bool
	// Generator makes more jobs like these; nil where they are recorded.
	Generator *Generator
	// Notes say what was not used or was assumed, a sentence each.
	Notes []string
}

// format is one kind of file.
type format struct {
	name string
	// needs must all appear in the beginning of such a file.
	needs []string
	// lacks must not.
	lacks   []string
	untimed bool
	reader  func(*reading) reader
}

// reader takes the values of a file, one after another, and gives its jobs at
// the end.
type reader interface {
	read(value json.RawMessage, line int) error
	end() error
}

// formats is every format there is; the first that recognizes a file reads it.
var formats = []format{
	{name: "weka", needs: []string{`"block_size"`, `"requests"`, `"hash_ids"`}, reader: newWeka},
	{name: "satf", needs: []string{`"satf"`, `"sessions"`, `"nodes"`}, reader: newSATF},
	{name: "dynamo", needs: []string{`"event_type"`, `"agent_context"`}, reader: newDynamo},
	{name: "tracelab", needs: []string{`"input_tokens_total"`, `"prefix_tokens"`, `"timing_events"`}, reader: newTraceLab},
	{name: "mlperf_agentic", needs: []string{`"conversation_id"`, `"turn"`, `"role"`}, untimed: true, reader: newMLPerf},
	{name: "bailian", needs: []string{`"chat_id"`, `"parent_chat_id"`, `"input_length"`}, reader: newBailian},
	{name: "mooncake_sessions", needs: []string{`"session_id"`, `"output_length"`}, lacks: []string{`"turns"`, `"text"`}, reader: newMooncake},
	{name: "multi_turn", needs: []string{`"session_id"`, `"turns"`, `"text`}, lacks: []string{`"messages"`}, untimed: true, reader: newMultiTurn},
	{name: "dag_jsonl", needs: []string{`"session_id"`, `"turns"`, `"messages"`}, untimed: true, reader: newDAG},
	{name: Fitted, needs: []string{"schema: " + fittedFamily}},
	{name: "otel_sessions", needs: []string{`"spans"`, `"gen_ai.`}, lacks: []string{`"resourceSpans"`}, reader: newSpans},
}

// Formats are the names for Options.Format.
func Formats() []string {
	return text.Each(formats, func(f format) string { return f.name })
}

// Recognize names the format of a file by its beginning.
func Recognize(head []byte) (name string, ok bool) {
	head = bytes.TrimLeft(head, "\ufeff \t\r\n")
	object := bytes.HasPrefix(head, []byte("{"))
	for _, f := range formats {
		if object == (f.reader != nil) && f.recognizes(head) {
			return f.name, true
		}
	}
	return "", false
}

func (f format) recognizes(head []byte) bool {
	has := func(word string) bool { return bytes.Contains(head, []byte(word)) }
	for _, word := range f.needs {
		if !has(word) {
			return false
		}
	}
	return !slices.ContainsFunc(f.lacks, has)
}

// RecognizePath names the format of a file or of the first file in a folder; it
// is "" where that is no job's or cannot be read.
func RecognizePath(path string) (name string) {
	errFound := errors.New("found")
	_ = eachPart(path, func(_ string, r *bufio.Reader) error {
		head, _ := r.Peek(trace.HeadBytes)
		name, _ = Recognize(head)
		return errFound
	})
	return name
}

// ShownJobs is how many jobs show what a generator makes.
const ShownJobs = 200

// Open reads a file, or all files of a folder.
func Open(path string, o Options) (*File, error) {
	f := &File{Path: path, Format: o.Format}
	in := &reading{file: f, recognized: o.Format == "", count: o.Count, unused: map[string]int{}, assumed: map[string]int{}}
	if in.count == nil {
		in.count = func(text string) int { return (len(text) + 3) / 4 }
	}
	var read reader
	err := eachPart(path, func(part string, r *bufio.Reader) error {
		head, _ := r.Peek(trace.HeadBytes)
		name, ok := Recognize(head)
		switch {
		case read != nil && ok && name != f.Format && o.Format == "":
			return fault(part, 0, "is of the format %s, the files before it are %s; expected one format in a folder", name, f.Format)
		case read == nil && f.Format == "" && !ok:
			return fault(part, 0, "holds no jobs of agents (%s); name the format with --workload-format", strings.Join(Formats(), ", "))
		}
		if f.Format == "" {
			f.Format = name
		}
		if f.Format == Fitted {
			data, err := io.ReadAll(io.LimitReader(r, int64(generatorForm.MaxBytes)+1))
			if err != nil {
				return fault(part, 0, "cannot be read: %v", err)
			}
			g, err := ReadGenerator(part, data)
			if err == nil {
				f = g.Sample(path, 1, ShownJobs)
			}
			return err
		}
		if read == nil {
			i := slices.IndexFunc(formats, func(k format) bool { return k.name == f.Format })
			if i < 0 {
				return fault(path, 0, "unknown format %s: %s", text.Quote(f.Format), text.HintWithKnown(f.Format, Formats()))
			}
			f.Untimed = formats[i].untimed
			read = formats[i].reader(in)
		}
		in.part = part
		return in.values(r, read)
	})
	if err == nil && read != nil {
		err = read.end()
	}
	switch {
	case err != nil:
		return nil, err
	case len(f.Jobs) == 0:
		return nil, fault(path, 0, "has no job in it")
	}
	f.Notes = append(f.Notes, in.notes()...)
	return f, nil
}

// eachPart visits a file, each file of a folder in the order of their names, or
// each of an archive; gzip is taken off.
func eachPart(path string, visit func(part string, r *bufio.Reader) error) error {
	local, err := hub.Dataset(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(local)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fault(path, 0, "no such file")
	case err != nil:
		return fault(path, 0, "cannot be read: %v", errors.Unwrap(err))
	case info.Mode().IsRegular():
		return openPart(path, local, visit)
	case !info.IsDir():
		return fault(path, 0, "is neither a plain file nor a folder; save it to one first")
	}
	entries, err := os.ReadDir(local)
	if err != nil {
		return fault(path, 0, "cannot be read: %v", errors.Unwrap(err))
	}
	for _, entry := range entries {
		if entry.Type().IsRegular() && isPart(entry.Name()) {
			name := filepath.Join(path, entry.Name())
			if err := openPart(name, filepath.Join(local, entry.Name()), visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// isPart says by its name that a file of a folder or an archive is a part.
func isPart(name string) bool {
	name = strings.TrimSuffix(filepath.Base(name), ".gz")
	return !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, ".json") || strings.HasSuffix(name, ".jsonl"))
}

func openPart(name, local string, visit func(part string, r *bufio.Reader) error) error {
	file, err := os.Open(local)
	if err != nil {
		return fault(name, 0, "cannot be read: %v", errors.Unwrap(err))
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, trace.HeadBytes)
	if magic, _ := r.Peek(2); string(magic) == "\x1f\x8b" {
		plain, err := gzip.NewReader(r)
		if err != nil {
			return fault(name, 0, "is not unpacked: %v", err)
		}
		r = bufio.NewReaderSize(plain, trace.HeadBytes)
	}
	const ustar = 257 // where an archive says what it is
	if head, _ := r.Peek(ustar + 5); len(head) < ustar+5 || string(head[ustar:]) != "ustar" {
		return visit(name, r)
	}
	archive := tar.NewReader(r)
	for {
		entry, err := archive.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fault(name, 0, "is not unpacked: %v", err)
		}
		if entry.Typeflag == tar.TypeReg && isPart(entry.Name) {
			if err := visit(name+"/"+filepath.Base(entry.Name), bufio.NewReaderSize(archive, trace.HeadBytes)); err != nil {
				return err
			}
		}
	}
}

// fault is an error of the user's to mend.
func fault(part string, line int, format string, args ...any) error {
	if line > 0 {
		part = fmt.Sprintf("%s:%d", part, line)
	}
	return &trace.Error{Place: text.Line(part), What: strings.TrimSpace(text.Line(fmt.Sprintf(format, args...)))}
}

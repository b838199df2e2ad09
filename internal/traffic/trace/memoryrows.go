package trace

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
)

// pageRows is how many held rows are allocated together: growing one list
// would need twice the memory at times.
const pageRows = 4096

// memoryRows keeps all rows in memory: those of logs that are not in order of time,
// or whose requests lie on several lines or several on one.
type memoryRows struct {
	pages [][]memoryRow
	// order has the rows by time.
	order       []int32
	blocks      []uint64
	blockTokens int
	// names are those of tenants and classes, of which there are few.
	names map[string]int32
	words []string
}

// memoryRow is a row without its time, which the file has.
type memoryRow struct {
	session              sessionHash
	blocks               int // where they begin
	prompt, output, line int32
	tenant, class        int32
	blockCount           int32
}

// sessionHash stands for a session's name: of those there can be as many as
// rows. 0 is none.
type sessionHash uint64

func hashSession(name string) sessionHash {
	if name == "" {
		return 0
	}
	return sessionHash(newBlockHash(0).add([]byte(name)))
}

func (s sessionHash) String() string {
	if s == 0 {
		return ""
	}
	return fmt.Sprintf("%016x", uint64(s))
}

func (h *memoryRows) add(e entry, _ mark) {
	if len(h.order)%pageRows == 0 {
		h.pages = append(h.pages, make([]memoryRow, 0, pageRows))
	}
	r, page := e.row, &h.pages[len(h.pages)-1]
	*page = append(*page, memoryRow{
		session: hashSession(r.Session), prompt: int32(r.Prompt), output: int32(r.Output), line: int32(r.Line),
		tenant: h.intern(r.Tenant), class: h.intern(r.Class),
		blocks: len(h.blocks), blockCount: int32(len(r.Blocks)),
	})
	// A row without whole blocks is still one whose blocks are known.
	if r.BlockTokens > 0 {
		h.blockTokens = r.BlockTokens
		if len(r.Blocks) == 0 {
			(*page)[len(*page)-1].blockCount = noBlocks
		}
	}
	h.order = append(h.order, int32(len(h.order)))
	h.blocks = append(h.blocks, r.Blocks...)
}

// noBlocks marks a prompt that is known to be shorter than a block.
const noBlocks = -1

// intern keeps one copy of a name.
func (h *memoryRows) intern(name string) int32 {
	if i, ok := h.names[name]; ok {
		return i
	}
	i := int32(len(h.words))
	h.words = append(h.words, name)
	h.names[name] = i
	return i
}

// sort puts the rows, and the file's times with them, in order of time.
func (h *memoryRows) sort(f *File) {
	h.names = nil
	if f.timed {
		slices.SortStableFunc(h.order, func(a, b int32) int { return cmp.Compare(f.times[a], f.times[b]) })
	}
	slices.Sort(f.times)
}

func (h *memoryRows) row(i int) (Row, error) {
	at := int(h.order[i])
	r := h.pages[at/pageRows][at%pageRows]
	row := Row{Prompt: int(r.prompt), Output: int(r.output), Line: int(r.line),
		Session: r.session.String(), Tenant: h.words[r.tenant], Class: h.words[r.class]}
	if r.blockCount != 0 {
		row.BlockTokens = h.blockTokens
	}
	if r.blockCount > 0 {
		end := r.blocks + int(r.blockCount)
		row.Blocks = h.blocks[r.blocks:end:end]
	}
	return row, nil
}

func (h *memoryRows) rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		for i := range h.order {
			if !yield(h.row(i)) {
				return
			}
		}
	}
}

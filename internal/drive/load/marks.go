package load

import (
	"hash/maphash"
	"strings"
	"sync"

	"redline/internal/llm"
)

// marks are words of the latest prompts, by which a reply that has them is known to have
// another request's text.
type marks struct {
	seed maphash.Seed

	mu       sync.Mutex
	sessions map[uint64]int // whose prompt has these words, shared where several do
	latest   []uint64       // a ring of them
	next     int
}

const (
	// markWords is how many words in a row no two texts share by chance. Of the last
	// message of a prompt the first marksEach stretches of them are remembered.
	markWords = 10
	marksEach = 16
	maxMarks  = 1 << 16
	shared    = -1
)

func newMarks() *marks {
	return &marks{seed: maphash.MakeSeed(), sessions: map[uint64]int{}, latest: make([]uint64, 0, maxMarks)}
}

// add takes in what a session asks.
func (m *marks) add(session int, messages []llm.Message) {
	if m == nil || len(messages) == 0 {
		return
	}
	words := strings.Fields(messages[len(messages)-1].Content)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; i < marksEach && (i+1)*markWords <= len(words); i++ {
		mark := m.hash(words[i*markWords:])
		if whose, known := m.sessions[mark]; known {
			if whose != session {
				m.sessions[mark] = shared
			}
			continue
		}
		m.sessions[mark] = session
		if len(m.latest) < maxMarks {
			m.latest = append(m.latest, mark)
			continue
		}
		delete(m.sessions, m.latest[m.next])
		m.latest[m.next], m.next = mark, (m.next+1)%maxMarks
	}
}

// hash is of the first words.
func (m *marks) hash(words []string) uint64 {
	var h maphash.Hash
	h.SetSeed(m.seed)
	for _, word := range words[:markWords] {
		h.WriteString(word)
		h.WriteByte(' ')
	}
	return h.Sum64()
}

// judge names the worst that is wrong with a session's reply.
func (m *marks) judge(session int, reply string) llm.Garbage {
	if m.hasAnothers(session, reply) {
		return llm.AnothersText
	}
	if kinds := llm.FindGarbage(reply); len(kinds) > 0 {
		return kinds[0]
	}
	return llm.NoGarbage
}

func (m *marks) hasAnothers(session int, reply string) bool {
	if m == nil {
		return false
	}
	words := strings.Fields(reply)
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; i+markWords <= len(words); i++ {
		if whose, known := m.sessions[m.hash(words[i:])]; known && whose != session && whose != shared {
			return true
		}
	}
	return false
}

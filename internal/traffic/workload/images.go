package workload

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"redline/internal/llm"
)

// addImages makes the images of a class ready to be drawn.
func (w *Workload) addImages(c *class, t Traffic) (err error) {
	if t.Images == nil {
		return nil
	}
	if t.isJobs() || isJobs(t.Format) {
		return errors.New("images: jobs of agents are text; give no images beside them")
	}
	if c.images, err = t.Images.New(w.seed, c.textSeed); err != nil {
		return fmt.Errorf("images: %w", err)
	}
	if n := c.images.Files(); n > 0 {
		w.notes = append(w.notes, fmt.Sprintf("images are drawn from %d files again and again: a server's cache of images may have them", n))
	}
	return nil
}

// illustrate lets the images of a session be put into its first message when the
// turn is composed: the history holds none, so that a session that waits has no
// images in memory.
func (s *session) illustrate(t *llm.Turn) *llm.Turn {
	images := s.class.images
	if images == nil {
		n, _, _ := t.Request.Images() // those of a file's row
		t.Ahead = n > 0
		return t
	}
	history, at := s.history, s.illustrated
	t.Request.Messages, t.Ahead = nil, true
	t.Write = func() []llm.Message {
		parts, err := images.Images(s.index)
		if err != nil {
			s.workload.fail(err)
		}
		messages := slices.Clone(history)
		m := &messages[at]
		m.Content = strings.Repeat(images.Placeholder(), len(parts)) + m.Content
		m.Parts = slices.Concat(m.Parts, parts)
		return messages
	}
	return t
}

// lastUser is the last message of a user, which images go with.
func lastUser(messages []llm.Message) int {
	for i := len(messages) - 1; i > 0; i-- {
		if messages[i].Role == "user" {
			return i
		}
	}
	return 0
}

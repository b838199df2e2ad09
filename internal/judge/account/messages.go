package account

import (
	"cmp"
	"fmt"
	"slices"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
)

const (
	// maxMessages is how many different ones are told apart; a server that
	// puts a number into each of them must not fill the memory.
	maxMessages = 1000
	// shownMessages is how many a summary carries.
	shownMessages = 3
)

// messages counts what faults said.
type messages map[string]int

func (m *messages) add(r *record.Record) {
	if r.Error == "" || !r.Outcome.Count().Fault {
		return
	}
	text := r.Error
	if r.Status != 0 && r.Status != 200 {
		text = fmt.Sprintf("HTTP %d: %s", r.Status, text)
	}
	if *m == nil {
		*m = messages{}
	}
	if _, known := (*m)[text]; known || len(*m) < maxMessages {
		(*m)[text]++
	}
}

func (m messages) commonest() []metric.ErrorCount {
	var list []metric.ErrorCount
	for text, n := range m {
		list = append(list, metric.ErrorCount{Text: text, Count: n})
	}
	slices.SortFunc(list, func(a, b metric.ErrorCount) int {
		return cmp.Or(b.Count-a.Count, cmp.Compare(a.Text, b.Text))
	})
	return list[:min(len(list), shownMessages)]
}

// refusalOf is why a request was rejected, nil where the record does not say.
func refusalOf(r *record.Record) *metric.Refusal {
	reason := r.RefusalReason()
	if reason == "" {
		return nil
	}
	refusal := &metric.Refusal{Reason: reason, Count: 1}
	if r.RetryAfter > 0 {
		refusal.WithRetryAfter, refusal.MaxRetryAfterS = 1, float64(r.RetryAfter)/second
	}
	return refusal
}

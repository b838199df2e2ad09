package account

import (
	"fmt"
	"testing"

	"redline/internal/drive/record"
	"redline/internal/expect"
	"redline/internal/judge/metric"
	"redline/internal/llm"
)

func TestCommonestMessages(t *testing.T) {
	t.Parallel()
	var m messages
	fail := func(n int, o llm.Outcome, status int, text string) {
		for range n {
			m.add(&record.Record{Outcome: o, Status: status, Error: text})
		}
	}
	fail(3, llm.Rejected, 429, "slow down")
	fail(5, llm.Connect, 0, "refused")
	fail(1, llm.HTTP, 500, "boom")
	fail(1, llm.Reset, 200, "cut")
	fail(9, llm.Censored, 200, "still running")
	fail(2, llm.OK, 200, "")
	want := []metric.ErrorCount{{Text: "refused", Count: 5}, {Text: "HTTP 429: slow down", Count: 3}, {Text: "HTTP 500: boom", Count: 1}}
	expect.Same(t, want, m.commonest())
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	var m messages
	for i := range 3 * maxMessages {
		m.add(&record.Record{Outcome: llm.HTTP, Status: 500, Error: fmt.Sprint("request ", i)})
	}
	if len(m) != maxMessages {
		t.Errorf("%d messages are kept, want %d", len(m), maxMessages)
	}
}

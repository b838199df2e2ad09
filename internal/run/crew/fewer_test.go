package crew

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"redline/internal/drive/load"
	"redline/internal/run/measure"
)

// TestFewerWorkersSendTheSame: where a stage has less to do than there are
// workers, or one is gone before it begins, the others offer the same load.
func TestFewerWorkersSendTheSame(t *testing.T) {
	for _, tc := range []struct {
		name  string
		flags map[string][]string
		fault *fault
		of, n int
		said  string
	}{
		{"a user for half of them", map[string][]string{"concurrency": {"2"}, "duration": {"15s"}, "workload": {"fixed(100,30)"}}, nil, 4, 2, ""},
		{"a request for half of them", map[string][]string{"concurrency": {"4"}, "requests": {"2"}, "plain": {"true"}, "warmup": {"0s"}, "workload": {"fixed(100,30)"}}, nil, 4, 2, ""},
		{"one is gone", map[string][]string{"rate": {"20"}, "duration": {"15s"}, "workload": {"fixed(100,30)"}},
			&fault{worker: 1, between: [2]time.Duration{70 * time.Millisecond, time.Hour}}, 3, 2, "worker w1: context deadline exceeded: the load comes from 2 workers from here on"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			one, _, _ := together(t, 1, nil, tc.flags)
			res, _, said := together(t, tc.of, tc.fault, tc.flags)
			// Only when it began may differ: who is gone is waited for.
			// Two that begin at the same instant may come to the server in either order.
			together := tc.flags["plain"] != nil
			if got, want := res.Points[0], one.Points[0]; !together && !reflect.DeepEqual(got.Latency, want.Latency) || !reflect.DeepEqual(got.Requests, want.Requests) {
				t.Errorf("%+v, want %+v", got.Requests, want.Requests)
			}
			if len(res.Workers) != tc.n {
				t.Errorf("%d workers took part, want %d", len(res.Workers), tc.n)
			}
			if !strings.Contains(strings.Join(said, "\n"), tc.said) {
				t.Errorf("said %q, want %q", said, tc.said)
			}
		})
	}
}

// hanging is a link over which somebody stops the run while it answers.
type hanging struct {
	wire
	asked int
	stop  func()
}

func (h *hanging) Ask(context.Context, Question) (Answer, error) {
	if h.asked++; h.asked == soundedBefore {
		h.stop()
	}
	return Answer{Now: 1}, nil
}

// TestStoppedWhileItMusters: whoever stops a run just after the last worker has
// answered gets no stint.
func TestStoppedWhileItMusters(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := &Crew{links: []Link{&hanging{stop: stop}}}
	s, err := c.Engage(ctx, measure.Engagement{Now: func() int64 { return 1 }, Stage: &load.Stage{}})
	if s != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
}

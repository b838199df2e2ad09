package doctor

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"redline/internal/clock"
	"redline/internal/judge/validity"
)

// Nothing that looks goes on looking after the answer.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStreamsAddUp(t *testing.T) {
	t.Parallel()
	got, err := sumUp([]tally{{events: 30, coalesced: 1}, {events: 10, coalesced: 1}}, 100, 400*time.Millisecond)
	if diff := cmp.Diff(validity.Step{Offered: 100, Got: 100, Coalesced: 0.05}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	broken := errors.New("cut")
	if _, err := sumUp([]tally{{}, {fault: broken}}, 100, time.Second); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 101)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, c := range []struct {
		values []float64
		want   validity.Spread
	}{
		{nil, validity.Spread{}},
		{[]float64{7}, validity.Spread{N: 1, P50: 7, P99: 7}},
		{hundred, validity.Spread{N: 101, P50: 50, P99: 99}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("%d values: %+v, want %+v", len(c.values), got, c.want)
		}
	}
}

// In virtual time every waking is exact, and none is lost.
func TestSleepsOnTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if got, want := sleeps(t.Context(), clock.Virtual(), 200, 5*time.Millisecond), (validity.Spread{N: 200}); got != want {
			t.Errorf("%+v, want %+v", got, want)
		}
		if took := time.Since(start); took != time.Second {
			t.Errorf("200 sleeps of 5 ms took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 55*time.Millisecond)
		defer cancel()
		if got := sleeps(ctx, clock.Virtual(), 200, 10*time.Millisecond); got.N != 5 {
			t.Errorf("%d sleeps of 10 ms in 55 ms, want 5", got.N)
		}
	})
}

// briefly is enough to see that everything is measured.
var briefly = Pace{Sleeps: 4, Sleep: time.Millisecond, RoundTrips: 5, Step: 40 * time.Millisecond, Steps: 1,
	Requests: 40 * time.Millisecond, Endpoint: 20 * time.Second}

func TestThisMachineIsMeasured(t *testing.T) {
	t.Parallel()
	m := examineMachine(t.Context(), fstest.MapFS{}, briefly)
	if m.Fault != "" || m.Loopback.N != 5 || m.Pacing.N != 4 || len(m.Tokens) != 1 || m.Requests.OK == 0 || m.Requests.Failed != 0 {
		t.Errorf("%+v", m)
	}
	if m.Loopback.P50 <= 0 || m.ClockRead <= 0 || m.Tokens[0].Offered <= 0 || m.Host.Wall <= 0 {
		t.Errorf("no time passed: %+v", m)
	}
	if runtime.GOOS == "linux" && m.Stamps.Kernel == 0 {
		t.Errorf("no stamps of the kernel: %+v", m.Stamps)
	}
}

func TestAnInterruptEndsTheLook(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if r, err := Run(ctx, Options{}); !errors.Is(err, context.Canceled) || r != nil {
		t.Errorf("%v, %v", r, err)
	}
}

// What is said to take so long takes about so long, also where it is scaled.
func TestAbout(t *testing.T) {
	t.Parallel()
	if whole, brief := (Pace{}).orDefault().about(), briefly.orDefault().about(); whole != "8 s" || brief == whole {
		t.Errorf("about %s, and %s where it is brief", whole, brief)
	}
}

//go:build linux

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/must"
)

func TestParseStat(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, line string
		want       process
		ok         bool
	}{
		{"a plain name", "41 (sleep) S 7 41 41 0 -1 0 0 0 0 0 100 20 3 4 20 0 1 0 5 0 0", process{41, 7, 1270 * time.Millisecond}, true},
		{"a name with spaces and parentheses", "41 (a) b (c)) R 7 41 41 0 -1 0 0 0 0 0 1 0 0 0 20 0", process{41, 7, 10 * time.Millisecond}, true},
		{"a cut line", "41 (sleep) S 7 41", process{}, false},
		{"no name", "41 S 7", process{}, false},
		{"no number", "x (sleep) S 7 41 41 0 -1 0 0 0 0 0 1 0 0 0 20 0", process{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat(tt.line)
		if ok != tt.ok || got != tt.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestCPUAtInterpolates(t *testing.T) {
	t.Parallel()
	w := footprint{samples: []cpuSample{{100, 10}, {200, 30}, {300, 30}}}
	for at, want := range map[int64]time.Duration{50: 10, 100: 10, 150: 20, 200: 30, 250: 30, 900: 30} {
		if got := w.cpuAt(at); got != want {
			t.Errorf("at %d: %d, want %d", at, got, want)
		}
	}
}

func TestStartsTakesTheFirstRequestSinceTheAnswerBefore(t *testing.T) {
	t.Parallel()
	lines := []reply{
		{ID: "second", Conn: "c", Before: []int64{300, 400}},
		{ID: "first", Conn: "c", Before: []int64{100, 200}},
		{ID: "unseen", Conn: "d", Before: []int64{100}},
		{ID: "cut", Conn: "c"},
	}
	// A loopback packet is seen twice: as it goes out and as it comes in.
	sent := map[string][]int64{"c": {50, 51, 250, 251}}
	want := map[string]int64{"first": 50, "second": 250}
	expect.Same(t, want, starts(lines, sent))
}

func TestClientOf(t *testing.T) {
	t.Parallel()
	packet := make([]byte, 40, 100)
	packet[0] = 0x45
	copy(packet[12:], []byte{127, 0, 0, 1})
	packet[20], packet[21], packet[32] = 0x1f, 0x90, 0x50
	asks := append(packet, "POST /v1/chat/completions HTTP/1.1"...)
	if got := clientOf(asks); got != "127.0.0.1:8080" {
		t.Errorf("client %q, want 127.0.0.1:8080", got)
	}
	for length := range 60 {
		if got := clientOf(asks[:length]); got != "" {
			t.Errorf("client of %d bytes is %q, want none", length, got)
		}
	}
	other := append(packet, "GET /v1/models HTTP/1.1\r\nHost: example.com\r\n"...)
	if got := clientOf(other); got != "" {
		t.Errorf("client of a request for models is %q, want none", got)
	}
}

func TestAccountLeavesTheEndsOutOfTheRate(t *testing.T) {
	t.Parallel()
	second := int64(time.Second)
	// A token each second from 10 s to 20 s: 12.5 s to 17.5 s hold five.
	var l reply
	for at := range int64(11) {
		l.Before = append(l.Before, (10+at)*second)
	}
	got := must.Get(account([]reply{l, {}}))(t)
	want := service{requests: 1, tokens: 11, first: 10 * second, last: 20 * second, tokensPerSecond: 1}
	expect.Same(t, want, got, cmp.AllowUnexported(service{}))
	if _, err := account([]reply{{Before: []int64{1, 2}}}); err == nil {
		t.Error("a run of no length has a rate")
	}
}

func TestJudgeAllCountsWholeReplies(t *testing.T) {
	t.Parallel()
	whole := reply{ID: "whole"}
	for i := range int64(peerOutput) {
		whole.Before = append(whole.Before, (30+20*i)*int64(time.Millisecond))
	}
	probe := reply{Before: []int64{0, int64(time.Second)}}
	got := must.Get(judgeAll([]reply{whole, probe}, map[string]int64{"whole": int64(5 * time.Millisecond)}))(t)
	want := figures{"ttft p50": 25, "ttft p99": 25, "tpot p50": 20, "tpot p99": 20, "itl p50": 20, "itl p99": 20}
	expect.Same(t, want, got, cmpopts.EquateApprox(0, 1e-9))
}

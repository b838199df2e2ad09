package account

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"redline/internal/expect"
	"redline/internal/llm"
)

// undefinedFigures makes figures of which none is defined.
func undefinedFigures() figures {
	var f figures
	for i := range f {
		f[i] = math.NaN()
	}
	return f
}

func TestOneRequestsFigures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		life life
		want map[figure]float64 // ms
	}{
		{
			name: "five tokens, one event each",
			life: life{due: 1000, begin: 1001, slot: 1001, conn: 1002, sent: 1003, end: 1190, chunks: steadily(1103, 20, 5), usage: llm.Usage{OutputTokens: 5}},
			want: map[figure]float64{ttft: 100, ttftDue: 103, ttfa: 100, e2e: 180, e2eDue: 183, decode: 80, tpot: 20, stall: 20, lag: 1, slotWait: 0},
		},
		{
			name: "the first event brings three tokens, so four remain for the streaming phase",
			life: life{due: 1000, sent: 1000, end: 1300, chunks: []chunk{{at: 1100, tokens: 3}, {at: 1140, tokens: 2}, {at: 1180, tokens: 2}}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 100, e2e: 180, e2eDue: 180, decode: 80, tpot: 20, stall: 40, lag: 0},
		},
		{
			name: "six reasoning tokens that no delta carried are not streamed",
			life: life{due: 1000, sent: 1000, end: 1300, chunks: steadily(1100, 20, 5), usage: llm.Usage{OutputTokens: 11, ReasoningTokens: 6}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 100, e2e: 180, e2eDue: 180, decode: 80, tpot: 20, stall: 20, lag: 0},
		},
		{
			name: "reasoning that is streamed delays the answer only",
			life: life{due: 1000, sent: 1000, end: 1300, usage: llm.Usage{OutputTokens: 3, ReasoningTokens: 2}, chunks: []chunk{
				{at: 1100, part: llm.Reasoning}, {at: 1110, part: llm.Reasoning}, {at: 1150}}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 150, e2e: 150, e2eDue: 150, decode: 50, tpot: 25, stall: 40, lag: 0},
		},
		{
			name: "a reply that was not streamed has only its end to show",
			life: life{due: 1000, sent: 1002, end: 1300, chunks: []chunk{{at: 1300}}, usage: llm.Usage{OutputTokens: 50}, whole: true},
			want: map[figure]float64{e2e: 298, e2eDue: 300, lag: 2},
		},
		{
			name: "a single token has no streaming phase to divide",
			life: life{due: 1000, sent: 1000, end: 1300, chunks: []chunk{{at: 1100}}, usage: llm.Usage{OutputTokens: 1}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 100, e2e: 100, e2eDue: 100, decode: 0, lag: 0},
		},
		{
			name: "a stream that came in one stamp has no tpot",
			life: life{due: 1000, sent: 1000, end: 1300, chunks: []chunk{{at: 1100}, {at: 1100}, {at: 1100}}, usage: llm.Usage{OutputTokens: 3}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 100, e2e: 100, e2eDue: 100, decode: 0, lag: 0},
		},
		{
			name: "an embedding is answered when its reply ends",
			life: life{due: 1000, sent: 1010, end: 1300, whole: true, usage: llm.Usage{PromptTokens: 300}},
			want: map[figure]float64{e2e: 290, e2eDue: 300, lag: 10},
		},
		{
			name: "a new connection under TLS",
			life: life{due: 1000, begin: 1000, slot: 1005, dialed: 1008, secured: 1020, conn: 1021, sent: 1022, end: 1300, outcome: llm.Reset},
			want: map[figure]float64{slotWait: 5, connect: 3, tls: 12, lag: 1},
		},
		{
			name: "the server held a dead connection for a second: that is not the time it takes to connect",
			life: life{due: 1000, begin: 1000, dialing: 2000, dialed: 2003, conn: 2003, sent: 2003, end: 2300, outcome: llm.Reset},
			want: map[figure]float64{connect: 3, lag: 0},
		},
		{
			name: "half of the tokens in the first event, and nobody to count them",
			life: life{due: 1000, sent: 1000, end: 1300, chunks: steadily(1100, 20, 5), usage: llm.Usage{OutputTokens: 10}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 100, e2e: 180, e2eDue: 180, decode: 80, stall: 20, lag: 0},
		},
		{
			name: "more reasoning than output: usage counts it apart",
			life: life{due: 1000, sent: 1000, end: 1300, chunks: steadily(1100, 20, 5), usage: llm.Usage{OutputTokens: 5, ReasoningTokens: 60}},
			want: map[figure]float64{ttft: 100, ttftDue: 100, ttfa: 100, e2e: 180, e2eDue: 180, decode: 80, tpot: 20, stall: 20, lag: 0},
		},
		{
			name: "a request that was never sent",
			life: life{due: 1000, outcome: llm.Unsent},
			want: map[figure]float64{},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := recordOf(tt.life)
			got := figuresOf(r)
			if tt.life.outcome == "" && !tt.life.whole {
				longest, _ := maxGap(appendGroups(r, nil))
				got[stall] = orNaN(longest)
			}
			want := undefinedFigures()
			for f, v := range tt.want {
				want[f] = v * float64(ms)
			}
			expect.NoDiff(t, cmp.Diff(want, got, cmpopts.EquateNaNs()), "figures in ns, want −, got +")
		})
	}
}

func TestFluidityCarriesSlackAndCountsALateTokenOnce(t *testing.T) {
	t.Parallel()
	d := deadlines{ttft: float64(100 * ms), tpot: float64(10 * ms)}
	tests := []struct {
		name   string
		chunks []chunk
		want   float32
	}{
		// The deadlines are 1100, 1110, 1120, 1130.
		{"all on the dot", steadily(1100, 10, 4), 1},
		{"an early start pays for a pause", []chunk{{at: 1050}, {at: 1060}, {at: 1070}, {at: 1130}}, 1},
		// 1125 misses 1110; then 1135 and 1145 are due.
		{"one late token, the rest in step with it", []chunk{{at: 1100}, {at: 1125}, {at: 1135}, {at: 1145}}, 0.75},
		{"the first token late", steadily(1200, 10, 4), 0.75},
		{"too slow throughout", steadily(1101, 11, 4), 0},
		// 1130 misses 1110; the two others of the group are due later.
		{"three tokens in one late group", []chunk{{at: 1100, tokens: 1}, {at: 1130, tokens: 3}}, 0.75},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := recordOf(life{due: 1000, sent: 1000, end: 2000, chunks: tt.chunks, usage: llm.Usage{OutputTokens: 4}})
			if got := d.fluidity(r, appendGroups(r, nil)); got != tt.want {
				t.Errorf("fluidity %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFluidityNeedsBothThresholdsAndKnownTokens(t *testing.T) {
	t.Parallel()
	spread := recordOf(life{due: 1000, sent: 1000, end: 2000, chunks: steadily(1100, 10, 4), usage: llm.Usage{OutputTokens: 40}})
	known := recordOf(life{due: 1000, sent: 1000, end: 2000, chunks: steadily(1100, 10, 4), usage: llm.Usage{OutputTokens: 4}})
	both := deadlines{ttft: 1, tpot: 1}
	if f := float64(both.fluidity(spread, appendGroups(spread, nil))); !math.IsNaN(f) {
		t.Errorf("tokens spread over events: fluidity %v, want none", f)
	}
	if f := float64(deadlines{ttft: 1}.fluidity(known, appendGroups(known, nil))); !math.IsNaN(f) {
		t.Errorf("no tpot threshold: fluidity %v, want none", f)
	}
}

package account

import (
	"math"

	"redline/internal/drive/record"
	"redline/internal/judge/metric"
	"redline/internal/stats"
)

// stretchEnds are the last tokens of the stretches in which replies are looked at; the
// last stretch has the rest.
var stretchEnds = [...]int{32, 128, 512, math.MaxInt}

const stretches = len(stretchEnds)

// along sums what the events of replies carried, by where in the reply they began. Each
// stretch is laid beside the first one of the same replies.
type along [stretches]pairSums

// pairSums are the sums and products, over replies, of the events and tokens in the
// first stretch and in another.
type pairSums struct {
	replies  int
	sum      [4]float64
	products [4][4]float64
}

func (s *pairSums) add(x [4]float64) {
	s.replies++
	for i, v := range x {
		s.sum[i] += v
		for j, w := range x {
			s.products[i][j] += v * w
		}
	}
}

// deviation is the standard error of a sum over replies of those four, times weights by
// which it is 0: replies are drawn, and the events of one are alike.
func (s *pairSums) deviation(weights [4]float64) float64 {
	square := 0.0
	for i, v := range weights {
		for j, w := range weights {
			square += v * w * s.products[i][j]
		}
	}
	n := float64(s.replies)
	return math.Sqrt(max(0, square) * n / (n - 1))
}

// add takes in a reply whose events have known numbers of tokens. The first event is of
// the prompt's step, and near the end a draft is cut short: neither tells how far drafts
// are right.
func (a *along) add(r *record.Record) {
	if r.Thinned() || !r.TokensKnown() {
		return
	}
	longest := 0
	for _, tokens := range r.Chunks() {
		longest = max(longest, tokens)
	}
	var events, tokens [stretches]float64
	before, at := 0, 0
	for _, n := range r.Chunks() {
		for before >= stretchEnds[at] {
			at++
		}
		if before > 0 && n > 0 && before+longest <= r.StreamedTokens {
			events[at]++
			tokens[at] += float64(n)
		}
		before += n
	}
	for i := range stretches {
		if events[0] > 0 && events[i] > 0 {
			a[i].add([4]float64{events[0], tokens[0], events[i], tokens[i]})
		}
	}
}

// Below so many replies and events of a stretch its figure is left out.
const (
	minAlongReplies = 10
	minAlongEvents  = 200
)

// alongError is the chance that any stretch seems to differ from the first where none
// does.
const alongError = 0.01

// summary gives the stretches that enough is known of, nil where events carry one token
// or replies are too short to have two.
func (a *along) summary() (list []metric.DraftStretch) {
	several := false
	for i := range a {
		s, from := &a[i], 1
		if i > 0 {
			from = stretchEnds[i-1] + 1
		}
		events, tokens := s.sum[2], s.sum[3]
		if s.replies < minAlongReplies || events < minAlongEvents {
			continue
		}
		several = several || tokens > events
		freedom := float64(s.replies - 1)
		mean := tokens / events
		reach := stats.StudentQuantile(0.975, freedom) * s.deviation([4]float64{2: -mean / events, 3: 1 / events})
		one := metric.DraftStretch{From: from, Replies: s.replies, Steps: int(events), Tokens: round(mean), Low: round(mean - reach), High: round(mean + reach)}
		if i < stretches-1 {
			one.To = stretchEnds[i]
		}
		if len(list) > 0 {
			change := math.Log(mean / (s.sum[1] / s.sum[0]))
			reach := stats.StudentQuantile(1-alongError/2/float64(stretches-1), freedom) *
				s.deviation([4]float64{1 / s.sum[0], -1 / s.sum[1], -1 / events, 1 / tokens})
			one.Change = &metric.DraftChange{Share: round(math.Expm1(change)), Low: round(math.Expm1(change - reach)), High: round(math.Expm1(change + reach))}
		}
		list = append(list, one)
	}
	if !several || len(list) < 2 || list[0].From > 1 {
		return nil
	}
	return list
}

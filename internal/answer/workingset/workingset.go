// Package workingset is an experiment that looks for the number of live sessions
// that a server's prefix cache no longer holds. The sessions come back in turn
// under one load. It takes the levels that were measured and gives the next
// number of sessions, or the interval in which the hits fall, with what that
// costs. It runs nothing, reads no file and no clock.
package workingset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"redline/internal/judge/result"
	"redline/internal/text"
)

// Level is a number of live sessions that was measured.
type Level struct {
	Sessions int
	// Point is the place of its figures among those of the result, nil where the
	// level does not count.
	Point *int
	// Hits is the share of prompt tokens that the cache had; nil where neither
	// replies nor counters say it.
	Hits *float64
}

const (
	// A working set that keeps so large a share of the smallest one's hits is held, and
	// one that keeps no more than the other has fallen; others are falling.
	holds, falls = 0.95, 0.5
	// resolution is how far the ends of the interval may lie apart.
	resolution = 0.05
	// maxLevels bounds the search: it halves the interval with each level.
	maxLevels = 16
	// noHits is the share below which the smallest working set was not cached at
	// all: a chat template alone makes some.
	noHits = 0.05
	// past is how far beyond the cliff a level tells the order of eviction, and fits the
	// share of the sessions that must still fit the cache there.
	past = 1.25
	fits = 0.2
	// An engine that evicts the least recently used keeps none of its hits there, one
	// that keeps what fits about as large a share as that is: at most forgets of that
	// share is the one, at least keeps the other.
	forgets, keeps = 0.25, 0.5
)

// Next is the number of sessions to measure next, false where the answer is as
// narrow as it gets.
func Next(low, high int, done []Level) (sessions int, more bool) {
	switch len(done) {
	case 0:
		return low, true
	case 1:
		if !isCached(done[0].Hits) {
			return 0, false
		}
		return high, true
	}
	if held, fallen, ok := edges(done); ok && len(done) < maxLevels {
		// What is falling belongs to the interval: its ends are looked for on either
		// side.
		first, last := fallen, held
		for _, l := range done {
			if l.Hits != nil && l.Sessions > held && l.Sessions < fallen {
				first, last = min(first, l.Sessions), max(last, l.Sessions)
			}
		}
		for _, gap := range [][2]int{{held, first}, {last, fallen}} {
			if from, to := gap[0], gap[1]; to-from > max(1, int(resolution*float64(from))) {
				return min(max(int(math.Sqrt(float64(from)*float64(to))), from+1), to-1), true
			}
		}
		// Where no level is far enough beyond the cliff, and near enough, to tell the
		// order of eviction, one more is.
		beyond := int(math.Ceil(1.2 * past * float64(fallen)))
		if beyond < high && !slices.ContainsFunc(done, func(l Level) bool { return l.Sessions == beyond || isTelling(l.Sessions, held, fallen) }) {
			return beyond, true
		}
	}
	return 0, false
}

func isCached(hits *float64) bool { return hits != nil && *hits >= noHits }

// edges are the most sessions that were held, with none fewer that had fallen, and
// the fewest that had; false where all or none were held.
func edges(done []Level) (held, fallen int, ok bool) {
	full := done[0].Hits
	if !isCached(full) {
		return 0, 0, false
	}
	for _, l := range bySessions(done) {
		switch {
		case l.Hits == nil || fallen > 0:
		case *l.Hits >= holds**full:
			held = l.Sessions
		case *l.Hits <= falls**full:
			fallen = l.Sessions
		}
	}
	return held, fallen, held > 0 && fallen > 0
}

// bySessions gives the levels in the order of their sessions.
func bySessions(done []Level) []Level {
	return slices.SortedFunc(slices.Values(done), func(a, b Level) int { return cmp.Compare(a.Sessions, b.Sessions) })
}

// Conclude says where the cliff lies. Points are those of the result.
func Conclude(done []Level, points []result.Point) *result.WorkingSet {
	w := &result.WorkingSet{Levels: []result.WorkingSetLevel{}}
	if len(done) == 0 {
		return w
	}
	for _, l := range bySessions(done) {
		w.Levels = append(w.Levels, result.WorkingSetLevel{Sessions: l.Sessions, Hits: l.Hits, Point: l.Point})
		if l.Point != nil && w.SessionTokens == 0 {
			w.SessionTokens, w.RoomTokens = measure(&points[*l.Point])
		}
	}
	full, last := done[0].Hits, w.Levels[len(w.Levels)-1]
	switch held, fallen, ok := edges(done); {
	case ok:
		w.Cliff = &result.Cliff{Held: held, Fallen: fallen, HostGiB: hostMemory(points)}
		w.Eviction = eviction(w, *full)
		w.Verdict = fmt.Sprintf("the prefix cache holds %s live sessions and not %s", text.Count(held), text.Count(fallen))
	case full == nil:
		w.Verdict = "not known: neither replies nor metrics say what was cached"
	case !isCached(full):
		w.Verdict = fmt.Sprintf("the cache does not even hold %s: begin with fewer, or see whether the server caches prefixes", text.Plural(done[0].Sessions, "session"))
	case len(done) == 1:
		w.Verdict = "not known: only one level was measured"
	case last.Hits != nil && *last.Hits < holds**full:
		w.Verdict = fmt.Sprintf("hits have begun to fall at %s, and no half of them is lost there: give a wider range", text.Plural(last.Sessions, "live session"))
	default:
		w.Verdict = fmt.Sprintf("the prefix cache holds %s: no cliff up to there", text.Plural(last.Sessions, "live session"))
	}
	return w
}

// hostMemory is the host memory behind the cache, in GiB, by the settings that vLLM shows
// with its metrics.
func hostMemory(points []result.Point) *float64 {
	for i := range points {
		if points[i].Server == nil {
			continue
		}
		switch size := points[i].Server.Config["kv_offloading_size"]; size {
		case "":
		case "None":
			return new(float64)
		default:
			if gib, err := strconv.ParseFloat(size, 64); err == nil && gib >= 0 {
				return &gib
			}
		}
	}
	return nil
}

// measure is what a session holds in the cache when it has ended, in tokens, and
// the room that the server says it has.
func measure(p *result.Point) (session float64, room *float64) {
	if p.Cache != nil {
		room = p.Cache.RoomTokens
	}
	if p.Requests.OK == 0 {
		return 0, room
	}
	return float64(p.Tokens.Prompt+p.Tokens.Output) / float64(p.Requests.OK), room
}

// isTelling reports whether the hits of a level say in which order the engine forgets.
func isTelling(sessions, held, fallen int) bool {
	return float64(sessions) >= past*float64(fallen) && float64(held) >= fits*float64(sessions)
}

// eviction is what the hits beyond the cliff say of the order in which the engine
// forgets. Of sessions that come back in turn, one that evicts the least recently used
// has always just forgotten the next.
func eviction(w *result.WorkingSet, full float64) string {
	for _, l := range w.Levels {
		if l.Hits == nil || !isTelling(l.Sessions, w.Cliff.Held, w.Cliff.Fallen) {
			continue
		}
		switch share := float64(w.Cliff.Held) / float64(l.Sessions); {
		case *l.Hits <= forgets*share*full:
			return result.EvictsLRU
		case *l.Hits >= keeps*share*full:
			return result.EvictsOther
		}
		return ""
	}
	return ""
}

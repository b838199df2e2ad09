package account

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"redline/internal/judge/slo"
	"redline/internal/must"
	"redline/internal/text"
	"redline/internal/twin/process"
)

var updatePicture = flag.Bool("rates.picture", false, "write docs/pictures/verdict.svg again")

// The minute of the picture in docs/design/STATISTICS.md: long prompts under a limit that they
// miss, and what a rule said of it that took requests for independent.
const (
	pictureOf    = "long prompts"
	pictureSeed  = 1_000_019
	pictureLimit = 1.3 // seconds
	pictureTruth = 2.0
	oldVerdict   = "MET  ttft p99 828 ms, limit 1,300 ms (95% sure below 1,280 ms)"
)

// TestPictureOfAFalseVerdict draws a minute that a rule by requests called met, and
// what the rule by clusters says of it.
func TestPictureOfAFalseVerdict(t *testing.T) {
	t.Parallel()
	for _, p := range process.All() {
		if p.Name != pictureOf {
			continue
		}
		if truth := p.Truth(firstTruth, 10, 10_000).Value; math.Abs(truth/pictureTruth-1) > 0.05 {
			t.Errorf("the true p99 is %.3g s, the picture says %g s", truth, pictureTruth)
		}
		run, c := p.Play(pictureSeed, 300), &cell{limit: pictureLimit}
		verdicts, _ := (&trial{Process: p}).verdicts(run, []*cell{c}, 60, 0)
		if verdicts[0].Standing != slo.Undecided {
			t.Fatalf("%+v, want it too close to call", verdicts[0])
		}
		const path = "../../../docs/pictures/verdict.svg"
		want := falseVerdict(run, "TOO CLOSE TO CALL  ttft p99 "+text.Milliseconds(*verdicts[0].Value)+": "+verdicts[0].Note)
		if *updatePicture {
			must.Write(t, path, want)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("docs/pictures/verdict.svg is not this minute (%v): write it again with -rates.picture", err)
		}
		return
	}
	t.Errorf("no process %q", pictureOf)
}

// falseVerdict draws the slowest request of each second of five minutes, of which the
// first was judged.
func falseVerdict(run []process.Request, verdict string) string {
	const left, top, width, height, seconds, limit = 60.0, 30.0, 820.0, 230.0, 300, 2.5
	x := func(s float64) float64 { return left + s/seconds*width }
	y := func(s float64) float64 { return top + height*(1-min(s, limit)/limit) }
	var slowest [seconds]float64
	for _, q := range run {
		slowest[int(q.Due)] = max(slowest[int(q.Due)], q.Took)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 370" font-family="sans-serif" font-size="13">
<title>One minute of long prompts that a rule by requests called met, and what the rule by clusters says of it</title>
<rect width="900" height="370" fill="#fff"/>
<rect x="%.1f" y="%g" width="%.1f" height="%g" fill="#e8f0fe"/>
<text x="%.1f" y="20" fill="#333">the minute judged</text>
<text x="%.1f" y="20" fill="#333">what came afterwards</text>
`, x(0), top, x(60)-x(0), height, x(1), x(62))
	for s, took := range slowest {
		tone := "#5f6b7a"
		if took > pictureLimit {
			tone = "#c5221f"
		}
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="2" height="%.1f" fill="%s"/>`+"\n", x(float64(s)), y(took), y(0)-y(took), tone)
	}
	line := func(at float64, tone, dash, name string) {
		fmt.Fprintf(&b, `<line x1="%g" y1="%.1f" x2="%g" y2="%.1f" stroke="%s" stroke-width="1.5"%s/>`+"\n", left, y(at), left+width, y(at), tone, dash)
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end" fill="%s">%s</text>`+"\n", left+width, y(at)-4, tone, name)
	}
	line(pictureLimit, "#1a73e8", "", "limit 1.3 s")
	line(pictureTruth, "#c5221f", ` stroke-dasharray="5 4"`, "true p99 2 s")
	for _, s := range []float64{0, 1, 2} {
		fmt.Fprintf(&b, `<text x="%g" y="%.1f" text-anchor="end" fill="#333">%g s</text>`+"\n", left-6, y(s)+4, s)
	}
	for s := 0.0; s <= seconds; s += 60 {
		fmt.Fprintf(&b, `<text x="%.1f" y="%g" text-anchor="middle" fill="#333">%g s</text>`+"\n", x(s), top+height+18, s)
	}
	fmt.Fprintf(&b, `<text x="%g" y="%g" fill="#333">slowest ttft of each second</text>
<text x="%g" y="322" fill="#333">requests taken for independent:</text><text x="270" y="322" fill="#c5221f">%s</text>
<text x="%g" y="346" fill="#333">by clusters:</text><text x="270" y="346" fill="#333">%s</text>
</svg>
`, left, top+height+40, left, oldVerdict, left, verdict)
	return b.String()
}

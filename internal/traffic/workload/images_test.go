package workload

import (
	"bytes"
	"testing"

	"redline/internal/llm"
	"redline/internal/must"
	"redline/internal/traffic/dist"
	"redline/internal/traffic/media"
	"redline/internal/traffic/token"
)

// TestImages: the first message of a session has its images, also where later
// turns send it again; they are the same for one salt and others for another, and
// they are made when the turn is composed.
func TestImages(t *testing.T) {
	spec := Spec{Traffic: Traffic{Prompt: &Dist{Fixed: 20}, Output: &Dist{Fixed: 5}, Session: &Session{Turns: &dist.Tokens{Fixed: 2}},
		Images: &media.Spec{Count: &dist.Tokens{Fixed: 2}, Size: media.Sizes{{Width: 40, Height: 30, Share: 1}}}}}
	first := func(salt string) (turns [][]llm.Message) {
		w := must.Get(spec.New(token.O200k(), 1, Options{Salt: salt}))(t)
		if asks := w.Asks(); len(asks) != 1 || asks[0].Need != llm.NeedImages {
			t.Errorf("the workload asks for %v", asks)
		}
		session := w.Session(3)
		var reply *llm.Reply
		for turn := session.Next(nil); turn != nil; turn = session.Next(reply) {
			if !turn.Ahead || turn.Request.Messages != nil {
				t.Error("images are there before the turn is composed")
			}
			turn.Compose()
			if n, size, pixels := turn.Request.Images(); n != 2 || size == 0 || pixels != 2*40*30 {
				t.Errorf("a turn has %d images of %d bytes and %d pixels", n, size, pixels)
			}
			turns = append(turns, turn.Request.Messages)
			reply = &llm.Reply{Outcome: llm.OK, Text: "yes"}
		}
		return turns
	}
	turns, again, other := first("a"), first("a"), first("b")
	if len(turns) != 2 || len(turns[1]) != 3 || len(turns[1][2].Parts) != 0 {
		t.Fatalf("%d turns: %v", len(turns), turns)
	}
	one := turns[0][0].Parts[0].Data
	if !bytes.Equal(one, turns[1][0].Parts[0].Data) || !bytes.Equal(one, again[0][0].Parts[0].Data) {
		t.Error("the same session has other images")
	}
	if bytes.Equal(one, other[0][0].Parts[0].Data) || bytes.Equal(one, turns[0][0].Parts[1].Data) {
		t.Error("an image comes twice")
	}
}

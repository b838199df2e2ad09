package metric

import (
	"reflect"
	"testing"
)

// Every distribution is walked, and found by its name, by that of the table of
// figures too.
func TestEveryDistributionIsWalked(t *testing.T) {
	t.Parallel()
	var l Latency
	v := reflect.ValueOf(&l).Elem()
	for _, field := range v.Fields() {
		field.Set(reflect.ValueOf(&Dist{}))
	}
	walked := 0
	for name, d := range l.Each {
		if l.Of(name) != d {
			t.Errorf("%s is walked and not found", name)
		}
		walked++
	}
	if walked != v.NumField() {
		t.Errorf("%d of %d distributions are walked", walked, v.NumField())
	}
	if got := l.JudgedDist("ttft"); got != l.TTFTDue {
		t.Error("an objective on ttft is not judged from due")
	}
	if got := l.JudgedDist("tbt"); got != l.ITL {
		t.Error("tbt is not itl")
	}
}

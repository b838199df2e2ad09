package yaml

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

var form = Form{Name: "a plan", Want: "a plan with keys", MaxBytes: 4 << 10}

// Each mistake is one line that says where and, if it can, what would be right.
func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "f: is empty, expected a plan with keys"},
		{"only a comment", "# later\n", "f: is empty, expected a plan with keys"},
		{"an empty document", "---\n", "f: is empty, expected a plan with keys"},
		{"large", strings.Repeat("a", 5<<10), "f: has more than the 4,096 bytes that a plan may have"},
		{"binary", "\x00\x01", "f: is not a text file, expected a plan in YAML"},
		{"not UTF-8", "a: \xff", "f: is not a text file, expected a plan in YAML"},
		{"tab", "a:\n\tb: 1", "f:2: a tab in the indentation; use spaces"},
		{"control character", "a: 1\r\nb: \x07", "f:2: a control character has no place in a plan"},
		{"escaped control character", "a: 1\nb: \"\\x07\"", "f:2: a control character has no place in a plan"},
		{"open list", "a: 1\nb: [1, 2\nc: 3\n", "f:2: not YAML: did not find expected ',' or ']'"},
		{"open block at the end", "a: 1\nb: {c: d", "f:2: not YAML: did not find expected ',' or '}'"},
		{"only a bracket", "[", "f:1: not YAML: did not find expected node content"},
		{"wrong indentation", "a:\n  - b\n c: d\n", "f:3: not YAML: did not find expected key; indent keys of one block alike"},
		{"two colons on the first line", "a: b: c\n", "f:1: not YAML: mapping values are not allowed in this context; indent keys of one block alike, and quote a value that holds a colon"},
		{"two colons", "a: 1\nb: c: d\n", "f:2: not YAML: mapping values are not allowed in this context; indent keys of one block alike, and quote a value that holds a colon"},
		{"unknown escape", `a: "\q"`, "f:1: not YAML: found unknown escape character"},
		{"second document", "a: 1\n---\na: 2\n", "f:3: a second YAML document; only one is read"},
		{"merge key", "a: &x {n: 1}\nb:\n  <<: *x\n", "f:3: merge keys (<<) have no place in a plan, write the keys out"},
		{"tag", "a: 1\nb: !!str 5\n", "f:2: a tag such as !!str has no place in a plan"},
		{"key that is a block", "? {a: b}\n: c", "f:1: expected a plain key"},
		{"alias of nothing", "a: 1\n\nb: *who\n", "f:3: alias *who has no anchor before it"},
		{"alias of itself", "a: &a [*a]", "f:1: nested too deeply for a plan"},
		{"absurd nesting", "a: " + strings.Repeat("[", 1000) + strings.Repeat("]", 1000), "f:1: nested too deeply for a plan"},
		{"nesting without an end", strings.Repeat("[", 1000), "f:1: nested too deeply for a plan"},
		{"nested lists without an end", "a: 1\nb:\n  " + strings.Repeat("- ", 1000) + "[", "f:3: nested too deeply for a plan"},
		{"aliases of aliases", "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
			"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n", "f:1: aliases repeat too much for a plan, write shorter values or fewer aliases"},
		{"aliases of much text", "a: &a " + strings.Repeat("x", 2000) + "\nb: [" + strings.Repeat("*a,", 60) + "]\n",
			"f:1: aliases repeat too much for a plan, write shorter values or fewer aliases"},
		{"aliases of long keys", "a: &a {" + strings.Repeat("x", 1000) + ": 1}\nb: [" + strings.Repeat("*a,", 120) + "]\n",
			"f:1: aliases repeat too much for a plan, write shorter values or fewer aliases"},
		{"long key", "zzz" + strings.Repeat("k", 1000) + ": 1\n", "f:1: zzz" + strings.Repeat("k", 57) + "…: unknown key, expected one of name, wait, parts, live, free, limits"},
		{"long key twice", strings.Repeat("k", 1000) + ": 1\n" + strings.Repeat("k", 1000) + ": 1\n", "f:2: key " + strings.Repeat("k", 60) + "… is given twice in one block; give it once"},
		{"long key of many parts", "? " + strings.Repeat("k.", 900) + "\n:\n", "f:1: " + strings.Repeat("k.", 30) + "…: unknown key, expected one of name, wait, parts, live, free, limits"},
		{"long path", "limits: {" + strings.Repeat("k", 1000) + ": many}\n", "f:1: limits." + strings.Repeat("k", 193) + `…: expected a whole number, got "many"`},
		{"alias of a long name", "a: *" + strings.Repeat("k", 1000), "f:1: alias *" + strings.Repeat("k", 60) + "… has no anchor before it"},
		{"duplicate key", "a: 1\nb: 2\na: 3\n", "f:3: key a is given twice in one block; give it once"},
		{"unknown key", "name: x\nparts:\n  - coutn: 2\n", "f:3: parts[0].coutn: unknown key, did you mean count?"},
		{"key like no other", "zzz: 1\n", "f:1: zzz: unknown key, expected one of name, wait, parts, live, free, limits"},
		{"another kind of file", "root:$6$salt:19000:0:99999:7:::\ndaemon:*:1:\n", "f:1: expected a block with keys such as name, got other text"},
		{"text of another kind", "-----BEGIN PRIVATE KEY-----\nb3BlbnNz\n", "f:1: expected a block with keys such as name, got other text"},
		{"no value", "name:\n", "f:1: name: has no value"},
		{"text for a number", "parts:\n  - count: many\n", `f:2: parts[0].count: expected a whole number, got "many"`},
		{"list for text", "name: [a]\n", "f:1: name: expected text, got a list"},
		{"text for a block", "parts: [x]\n", `f:1: parts[0]: expected a block with keys such as count, got "x"`},
		{"number for a duration", "wait: 5\n", `f:1: wait: expected a duration such as 30s or 1m30s, got "5"`},
	} {
		root, err := form.Parse("f", []byte(c.data))
		if err == nil {
			d := Decoder{File: "f"}
			err = d.Decode(root, &whole{}, "")
		}
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: got  %v\nwant %s", c.name, err, c.want)
		}
	}
}

type whole struct {
	Name  string         `yaml:"name"`
	Wait  time.Duration  `yaml:"wait,omitempty"`
	Parts []part         `yaml:"parts,omitempty"`
	On    *bool          `yaml:"live,omitempty"`
	Free  map[string]any `yaml:"free,omitempty"`
	Limit map[string]int `yaml:"limits,omitempty"`
}

type part struct {
	Count int     `yaml:"count"`
	Share float64 `yaml:"share,omitempty"`
}

// A query of a URL needs no quotes between brackets.
func TestQuestionMarks(t *testing.T) {
	t.Parallel()
	root, err := form.Parse("f", []byte("{url: [http://h/v1?a=b], why: How low?}"))
	if err != nil || root.Find("url[0]").Text != "http://h/v1?a=b" || root.Find("why").Text != "How low?" {
		t.Errorf("%+v, %v", root, err)
	}
}

func TestDecodeAndEncode(t *testing.T) {
	t.Parallel()
	const data = "name: \"5\"\nwait: 1m30s\nparts:\n  - count: 1_000\n  - &p {count: 2, share: 0.5}\n  - *p\nlive: false\nfree: {z: [1, 2.5, true, text], a: ~}\n"
	root := must.Get(form.Parse("f", []byte(data)))(t)
	var got whole
	d := Decoder{File: "f"}
	must.Do(t, d.Decode(root, &got, ""))
	want := whole{"5", 90 * time.Second, []part{{Count: 1000}, {2, 0.5}, {2, 0.5}}, new(false),
		map[string]any{"z": []any{int64(1), 2.5, true, "text"}, "a": nil}, nil}
	expect.Same(t, want, got)
	if d.Lines["parts[1].share"] != 5 || root.Find("parts[1].share").Line != 5 || root.Find("parts[7]").Line != 4 || root.Find("parts[-1]").Line != 4 {
		t.Errorf("lines %v, found %+v", d.Lines, root.Find("parts[1].share"))
	}
	written, err := Marshal(Encode(got))
	const text = "name: \"5\"\nwait: 1m30s\nparts:\n  - count: 1000\n  - count: 2\n    share: 0.5\n  - count: 2\n    share: 0.5\nlive: false\n" +
		"free:\n  a: null\n  z:\n    - 1\n    - 2.5\n    - true\n    - text\n"
	if diff := cmp.Diff(text, string(written)); err != nil || diff != "" {
		t.Errorf("%v, -want +got\n%s", err, diff)
	}
}

// One value can be decoded by a decoder that has decoded nothing before.
func TestValueAlone(t *testing.T) {
	t.Parallel()
	root := must.Get(form.Parse("f", []byte("a: 1\nb: 2")))(t)
	var d Decoder
	var got int
	if err := d.Value(root.Entries[1], &got, "b"); err != nil || got != 2 || d.Lines["b"] != 2 {
		t.Errorf("got %d on line %d, %v", got, d.Lines["b"], err)
	}
}

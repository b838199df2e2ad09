//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// mend is a line that keeps a fault away. Without it, one of the tests has to
// fail.
type mend struct {
	fault     string
	file      string
	from, to  string
	test, pkg string
}

// hostile marks the mends that the random servers have to find.
const hostile = "TestRandomServers"

var allMends = []mend{
	{"tpot divides by all tokens but one", "internal/drive/record/tokens.go", "\tfirst := r.firstTokens()\n\tif first == 0 {\n\t\treturn 0\n\t}\n", "\tfirst := 1\n", hostile, "judge/validity"},
	{"hidden reasoning enters the pace", "internal/drive/record/tokens.go", "case thought == 0 || n == 0:", "case true:", hostile, "judge/validity"},
	{"streamed reasoning counts whole", "internal/drive/record/tokens.go", "\tthought, events := r.ReasoningTokens, r.chunks.thinking\n", "\tthought, events := r.ReasoningTokens, r.chunks.thinking\n\tif events >= 0 {\n\t\treturn thought, true\n\t}\n", hostile, "judge/validity"},
	{"usage without reasoning is not recognized", "internal/drive/record/tokens.go", "apart = r.reasoningExcluded()", "apart = false", hostile, "judge/validity"},
	{"short runs are not cross-checked", "internal/drive/load/serve.go", "minSampled = 20", "minSampled = 0", hostile, "judge/validity"},
	{"counts far off what arrived pass", "internal/judge/validity/tokens.go", "okOrBad(alike(counted, arrived)), touches", "okOrBad(counted+arrived > 0), touches", hostile, "judge/validity"},
	{"usage stands against the model's own tokenizer", "internal/drive/record/tokens.go", "r.Claimed, r.StreamedTokens = claimed, local", "", "TestTheModelsOwnTokenizerStands", "drive/record"},
	{"text that repeats counts again", "internal/drive/record/tokens.go", "if pieces, r.Repeats = list, repeats(list); r.Repeats {", "if pieces, r.Repeats = list, false; r.Repeats {", hostile, "judge/validity"},
	{"a dead connection's wait counts as connecting", "internal/drive/record/record.go", "r.Dialing, r.Dialed, r.Secured, r.ConnNew = ev.Since,", "r.Dialing, r.Dialed, r.Secured, r.ConnNew = 0,", "TestOneRequestsFigures", "judge/account"},
	{"reasoning above the output makes figures vanish", "internal/drive/record/tokens.go", "\tcase within < 1:\n\t\treturn events > 0 && events > within+1 || thought > output\n", "\tcase within < 1:\n\t\treturn false\n", "TestOneRequestsFigures", "judge/account"},
	{"an absurd gauge prints 300 digits", "internal/text/number.go", "\tif exponent >= absurdPower {", "\tif exponent >= 1000 {", "TestFigure", "text"},
	{"record lines that come twice count twice", "internal/drive/record/reader.go", "case !r.seenIDs.add(rec.ID, rec.Try):", "case !r.seenIDs.add(rec.ID, rec.Try) && false:", "TestLinesThatComeTwiceCountOnce", "drive/record"},
	{"endless events have no bound in sum", "internal/drive/client/bytebudget.go", "if sum > h.max && now > 0 {", "if sum > h.max && now > 0 && false {", "TestEventsWithoutAnEndAreBoundedInSum", "drive/client"},
	{"an empty block of a plan is accepted", "internal/yaml/decode.go", "\t\tif block {\n\t\t\treturn Fault(", "\t\tif block {\n\t\t\treturn nil\n\t\t}\n\t\tif block {\n\t\t\treturn Fault(", "TestPlanErrors", "plan/config"},
	{"an error in a 200 is a wrong path", "internal/drive/client/stream.go", "\tif said == \"\" {\n\t\treturn fault\n", "\tif true {\n\t\treturn fault\n", "TestFaults", "drive/client"},
	{"the simulator names a Go type", "internal/drive/wire/parse.go", "errors.New(text.Mismatch(wrong))", "errors.New(text.Mismatch(wrong)[:0] + wrong.Error())", "TestWrongBodiesAreNamedInWordsOfJSON", "drive/wire"},
	{"localhost:8000 is refused", "internal/drive/client/spec.go", "return \"http://\" + raw\n", "return raw\n", "TestAddressesWithoutAScheme", "drive/client"},
	{"connecting has a limit of its own", "internal/drive/client/connect.go", "return min(connectLimit, c.timeouts.Total)", "return connectLimit", "TestConnectingIsBoundByTheRequest", "drive/client"},
	{"bytes before the request are taken for its answer", "internal/drive/client/exchange.go", "return early || otherOfRun(head.requestID, x.r.ID)", "return early && false || otherOfRun(head.requestID, x.r.ID)", "TestAReplyThatCameTooEarlyIsNotTheAnswer", "drive/client"},
	{"another request's answer is taken", "internal/drive/client/exchange.go", "return early || otherOfRun(head.requestID, x.r.ID)", "return early", "TestTheAnswerToAnotherRequest", "drive/client"},
	{"a second answer is not counted", "internal/drive/socket/pool.go", "\tif c.head != c.tail {\n\t\tc.raw.counts.Unsolicited.Add(1)\n", "\tif c.head != c.tail {\n", "TestARepeatedReplyIsCounted", "drive/client"},
	{"a second answer is not reported", "internal/run/measure/facts.go", "if unasked > 0 {", "if false {", "TestAServerThatAnswersTwiceIsSaid", "cmd/redline"},
	{"a row's tools are dropped", "internal/drive/wire/tool.go", "if r.Tools != nil && b.key(\"tools\") {", "if false {", "TestRowsAreSentAsTheyAsk", "cmd/redline"},
	{"a message's tool calls are dropped", "internal/drive/wire/part.go", "at.key != alone && len(list) > 0 {", "at.key != alone && len(list) < 0 {", "TestRowsAreSentAsTheyAsk", "cmd/redline"},
	{"an API without tools is asked all the same", "internal/run/measure/workload.go", "if !d.Has(ask.Need) {", "if !d.Has(ask.Need) && false {", "TestRowsAreSentAsTheyAsk", "cmd/redline"},
	{"fields that nothing reads are not said", "internal/traffic/corpus/unusedfields.go", "\tf.unused.add(found)\n", "", "TestFieldsThatNobodyReadsAreNamed", "traffic/corpus"},
	{"attributes and columns that nothing reads are not said", "internal/traffic/trace/unreadfields.go", "\t\tif counts {\n\t\t\tfield.rows++\n\t\t}\n", "\t\t_, _ = field, counts\n", "TestEveryFormatIsReadByItsContent", "traffic/trace"},
	{"a directory that could not be locked stays", "internal/store/store.go", "func (d *Dir) unmake() {\n\tfor _, dir := range d.createdDirs {", "func (d *Dir) unmake() {\n\tfor _, dir := range d.createdDirs[:0] {", "TestADirectoryThatCannotBeLockedIsNotLeftBehind", "store"},
	{"masking writes to lists that others read", "internal/text/document.go", "if v.Kind() == reflect.Slice && v.CanSet() && !v.IsNil() {", "if false {", "TestTidyLeavesWhatOthersHave", "text"},
	{"the text of every reply is kept whole", "internal/drive/record/tokens.go", "return r.chunks.bytes-r.chunks.thinkingBytes < KeptText", "return true", "TestTheBeginningTellsTheRest", "drive/record"},
}

var off = regexp.MustCompile(`(\d+) random servers .*?: (\d+) with a figure off`)

// mends takes every mend out and demands that its test notices.
func mends() (string, error) {
	var b strings.Builder
	b.WriteString("Each mend below is taken out of a copy of its file, and its test has to fail; of the random servers the table says how many found it.\n\n")
	b.WriteString("| without its mend | found by |\n|---|---|\n")
	for _, m := range allMends {
		found, err := m.takeOut()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %s |\n", m.fault, found)
		fmt.Println(m.fault + ": " + found)
	}
	return b.String(), nil
}

// takeOut runs the test of a mend without it.
func (m mend) takeOut() (found string, err error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return "", err
	}
	if strings.Count(string(text), m.from) != 1 {
		return "", fmt.Errorf("%s: not once in %s: %q", m.fault, m.file, m.from)
	}
	dir, err := os.MkdirTemp("", "mend")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	without, overlay := filepath.Join(dir, "without.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(without, []byte(strings.Replace(string(text), m.from, m.to, 1)), 0o600); err != nil {
		return "", err
	}
	path, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: without}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	pkg := "./internal/" + m.pkg
	if strings.HasPrefix(m.pkg, "cmd/") {
		pkg = "./" + m.pkg
	}
	out, err := goTest([]string{"REDLINE_HOSTILE=300"}, "-overlay", overlay, "-count=1", "-run", "^"+m.test+"$", pkg)
	switch {
	case err == nil:
		return "", fmt.Errorf("%s: %s does not notice", m.fault, m.test)
	case !strings.Contains(out, "--- FAIL: "+m.test):
		return "", fmt.Errorf("%s: %s did not run:\n%s", m.fault, m.test, out)
	}
	found = "`" + m.test + "`"
	if n := off.FindStringSubmatch(out); n != nil {
		found += ": " + n[2] + " of " + n[1] + " servers"
	}
	return found, nil
}

package peer

import (
	goflag "flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"redline/internal/must"
)

var update = goflag.Bool("update", false, "rewrite the tables of docs/reference/PEERS.md")

const (
	manual = "../../docs/reference/PEERS.md"
	begins = "<!-- flags: begin (go test ./internal/peer -update) -->\n"
	ends   = "<!-- flags: end -->"
)

// tables are what docs/reference/PEERS.md says of the flags, from the tables and the
// recorded flags of each peer.
func tables(t *testing.T) string {
	var b strings.Builder
	b.WriteString("\n| peer | version | flags | honored | accepted, named as without effect | the same, as only a refused flag uses it | refused by name, with ours |\n|---|---|---|---|---|---|---|\n")
	for _, p := range All {
		var honored, idle, dependent, refused int
		all := recordedFlags(t, p)
		for _, names := range all {
			i := slices.IndexFunc(names, func(n string) bool { f, _ := p.under(n); return f != nil })
			switch f, _ := p.under(names[max(0, i)]); {
			case f == nil:
			case f.Cannot != "":
				refused++
			case strings.Contains(f.Idle, "refused"):
				dependent++
			case f.Idle != "":
				idle++
			default:
				honored++
			}
		}
		share := func(n int) string { return fmt.Sprintf("%d (%d%%)", n, (100*n+len(all)/2)/len(all)) }
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s |\n", p.Name, p.Version, len(all), share(honored), share(idle), share(dependent), share(refused))
	}
	for _, p := range All {
		fmt.Fprintf(&b, "\n### %s\n\n`redline %s`\n\n| ours | theirs |\n|---|---|\n", p.Name, strings.Join(p.Commands, "`, `redline "))
		var ours []string
		theirs := map[string][]string{}
		for _, f := range p.Flags {
			if f.Ours != "" && f.Cannot == "" {
				if theirs[f.Ours] == nil {
					ours = append(ours, f.Ours)
				}
				theirs[f.Ours] = append(theirs[f.Ours], "`--"+strings.Join(f.Names, "` or `--")+"`")
			}
		}
		for _, flag := range ours {
			fmt.Fprintf(&b, "| `--%s` | %s |\n", flag, strings.Join(theirs[flag], ", "))
		}
		refused := ""
		for _, f := range p.Flags {
			if f.Cannot != "" {
				refused += fmt.Sprintf("| `--%s` | %s |\n", strings.Join(f.Names, "` or `--"), f.Cannot)
			}
		}
		if refused != "" {
			b.WriteString("\n| refused | in its place |\n|---|---|\n" + refused)
		}
	}
	return b.String() + "\n"
}

func TestManualHoldsTheTables(t *testing.T) {
	content := must.Read(t, manual)
	before, rest, _ := strings.Cut(string(content), begins)
	_, after, found := strings.Cut(rest, ends)
	if !found {
		t.Fatal("the manual has lost its marks")
	}
	want := before + begins + tables(t) + ends + after
	if want == string(content) {
		return
	}
	if !*update {
		t.Fatal("docs/reference/PEERS.md is not what the tables give; run go test ./internal/peer -update")
	}
	must.Write(t, manual, want)
}

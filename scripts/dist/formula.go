package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// formula writes redline.rb, with which Homebrew installs the binaries.
func (r *release) formula() error {
	var b strings.Builder
	fmt.Fprintf(&b, `class Redline < Formula
  desc "Find how much load an LLM inference engine takes before it misses its SLOs"
  homepage "%s"
  version "%s"
  license "Apache-2.0"

`, r.URL, strings.TrimPrefix(r.Version, "v"))
	for _, system := range [][2]string{{"darwin", "macos"}, {"linux", "linux"}} {
		if len(r.of(system[0])) == 0 {
			continue
		}
		fmt.Fprintf(&b, "  on_%s do\n", system[1])
		for _, target := range r.of(system[0]) {
			content, err := os.ReadFile(r.binary(target))
			if err != nil {
				return err
			}
			cpu := map[string]string{"amd64": "intel", "arm64": "arm"}[target[strings.Index(target, "/")+1:]]
			fmt.Fprintf(&b, "    on_%s do\n      url \"%s/%s\"\n      sha256 \"%x\"\n    end\n", cpu, r.URL, filepath.Base(r.binary(target)), sha256.Sum256(content))
		}
		b.WriteString("  end\n\n")
	}
	b.WriteString(`  def install
    bin.install Dir["redline-*"].first => "redline"
    chmod 0755, bin/"redline"
    generate_completions_from_executable(bin/"redline", "completion")
    system bin/"redline", "man", buildpath/"man"
    man1.install Dir["man/*.1"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/redline version")
  end
end
`)
	return os.WriteFile(filepath.Join(r.Dir, "redline.rb"), []byte(b.String()), 0o644)
}

// Command dist makes a release folder: static binaries for every system, manual
// pages and shell completions, Debian and RPM packages, an OCI image, a Homebrew
// formula, a bill of materials for each binary, install.sh, and checksums of all.
//
//	go run ./scripts/dist -url https://example.org/redline/1.2.3
//
// The version is that of the newest section of CHANGELOG.md. It needs Go alone, and for the packages nfpm, which it installs into bin/.
package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targets are the systems that are released.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}

// release is one release and the folder that it goes to.
type release struct {
	Root    string // of the repository
	Dir     string
	Version string
	URL     string // that the folder will have
	Targets []string
	// Revision and Date are those of the commit; files carry the date, so that the
	// same commit makes the same files.
	Revision string
	Date     time.Time
	// CA is a PEM file of certificate authorities for the image.
	CA string
	// NFPM makes the packages; "" leaves them out.
	NFPM string
	// Cached builds with what go test has compiled already: quick, and with this
	// machine's paths in it.
	Cached bool
}

func main() {
	r := &release{Root: "."}
	flag.StringVar(&r.Version, "version", "", "version (default: that of the newest section of CHANGELOG.md)")
	flag.StringVar(&r.Dir, "out", "dist", "folder to make")
	flag.StringVar(&r.URL, "url", "", "URL that the folder will have, for the Homebrew formula")
	flag.StringVar(&r.CA, "ca", "/etc/ssl/certs/ca-certificates.crt", "PEM file of certificate authorities for the image")
	only := flag.String("targets", strings.Join(targets, ","), "systems to build for; this machine's must be among them, for the manual")
	flag.Parse()
	r.Targets = strings.Split(*only, ",")
	err := r.settle()
	if err == nil {
		r.NFPM, err = nfpm(r.Root)
	}
	if err == nil {
		err = r.make()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// newestSection is the first heading of the changelog below its title.
var newestSection = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$`)

// settle fills in what the repository says.
func (r *release) settle() error {
	git := func(args ...string) string {
		c := exec.Command("git", args...)
		c.Dir = r.Root
		said, _ := c.Output() // outside of a repository there is none
		return strings.TrimSpace(string(said))
	}
	if r.Version == "" {
		changes, err := os.ReadFile(filepath.Join(r.Root, "CHANGELOG.md"))
		if err != nil {
			return err
		}
		section := newestSection.FindSubmatch(changes)
		if section == nil {
			return errors.New("CHANGELOG.md: want a section such as \"## 1.2.3 (2026-11-17)\"")
		}
		r.Version = string(section[1])
	}
	r.URL = cmp.Or(r.URL, "https://example.org/redline/"+r.Version)
	r.Revision = git("rev-parse", "HEAD")
	seconds := cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), git("log", "-1", "--format=%ct"), "0")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: want seconds, got %q", seconds)
	}
	r.Date = time.Unix(unix, 0).UTC()
	return nil
}

// make makes all of it.
func (r *release) make() error {
	if err := os.RemoveAll(r.Dir); err != nil {
		return err
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return err
	}
	for _, part := range []func() error{r.binaries, r.manual, r.billsOfMaterials, r.packages, r.image, r.formula, r.installer, r.checksums} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// binary is the path of one target's.
func (r *release) binary(target string) string {
	name := "redline-" + strings.ReplaceAll(target, "/", "-")
	if strings.HasPrefix(target, "windows") {
		name += ".exe"
	}
	return filepath.Join(r.Dir, name)
}

// of gives the targets of one system.
func (r *release) of(system string) (list []string) {
	for _, t := range r.Targets {
		if strings.HasPrefix(t, system+"/") {
			list = append(list, t)
		}
	}
	return list
}

// environment makes the go command work for a target.
func environment(target string) []string {
	system, arch, _ := strings.Cut(target, "/")
	return []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}
}

func (r *release) binaries() error {
	flags := "-s -w -X main.version=" + r.Version + " -X main.revision=" + r.Revision + " -X main.date=" + r.Date.Format(time.RFC3339)
	for _, t := range r.Targets {
		path, err := filepath.Abs(r.binary(t))
		if err != nil {
			return err
		}
		args := []string{"build", "-ldflags", flags, "-o", path}
		if !r.Cached {
			args = append(args, "-trimpath")
		}
		if err := r.run(environment(t), "go", append(args, "./cmd/redline")...); err != nil {
			return err
		}
	}
	return nil
}

// manual asks the binary of this machine for its pages and completions.
func (r *release) manual() error {
	own, err := filepath.Abs(r.binary(runtime.GOOS + "/" + runtime.GOARCH))
	if err != nil {
		return err
	}
	for _, dir := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(r.Dir, dir), 0o755); err != nil {
			return err
		}
	}
	man := exec.Command(own, "man", filepath.Join(r.Dir, "man"))
	if said, err := man.CombinedOutput(); err != nil {
		return fmt.Errorf("redline man: %w: %s", err, said)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script, err := exec.Command(own, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("redline completion %s: %w", shell, err)
		}
		if err := os.WriteFile(filepath.Join(r.Dir, "completions", "redline."+shell), script, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) installer() error {
	script, err := os.ReadFile(filepath.Join(r.Root, "scripts", "install.sh"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Dir, "install.sh"), script, 0o755)
}

// checksums are those of the files of the folder itself, as sha256sum takes them.
func (r *release) checksums() error {
	files, err := fs.Glob(os.DirFS(r.Dir), "*")
	if err != nil {
		return err
	}
	slices.Sort(files)
	var lines strings.Builder
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			if info, at := os.Stat(filepath.Join(r.Dir, name)); at == nil && info.IsDir() {
				continue
			}
			return err
		}
		fmt.Fprintf(&lines, "%x  %s\n", sha256.Sum256(content), name)
		fmt.Printf("%9d  %s\n", len(content), filepath.Join(r.Dir, name))
	}
	return os.WriteFile(filepath.Join(r.Dir, "SHA256SUMS"), []byte(lines.String()), 0o644)
}

// run runs a command in the repository.
func (r *release) run(env []string, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir, c.Env = r.Root, append(os.Environ(), env...)
	if said, err := c.CombinedOutput(); err != nil {
		return errors.Join(fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err), errors.New(string(said)))
	}
	return nil
}

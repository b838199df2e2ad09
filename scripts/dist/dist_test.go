package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"redline/internal/expect"
	"redline/internal/must"
)

// TestRelease makes a release for this machine alone and looks at all that is in
// the folder, with the tools that read such files where they are installed.
func TestRelease(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("packages and the image are for Linux")
	}
	r := &release{Root: "../..", Dir: filepath.Join(t.TempDir(), "dist"), Version: "v1.2.3", URL: "https://example.org/r", Targets: []string{"linux/" + runtime.GOARCH}, Cached: true,
		CA: filepath.Join(t.TempDir(), "ca.pem")}
	must.Do(t, r.settle())
	must.Write(t, r.CA, "-----BEGIN CERTIFICATE-----\n")
	if path, err := filepath.Abs("../../bin/nfpm"); err == nil {
		if _, err := os.Stat(path); err == nil {
			r.NFPM = path
		}
	}
	must.Do(t, r.make())
	t.Run("binary", func(t *testing.T) { checkBinary(t, r) })
	t.Run("sbom", func(t *testing.T) { checkBill(t, r) })
	t.Run("packages", func(t *testing.T) { checkPackages(t, r) })
	t.Run("image", func(t *testing.T) { checkImage(t, r) })
	t.Run("formula", func(t *testing.T) { checkFormula(t, r) })
	t.Run("checksums", func(t *testing.T) { outputOf(t, r.Dir, "sha256sum", "--check", "SHA256SUMS") })
	t.Run("install", func(t *testing.T) { checkInstall(t, r) })
}

// The version is that of the newest section of the changelog, and a changelog
// without one makes no release.
func TestVersionOfTheChangelog(t *testing.T) {
	t.Parallel()
	r := &release{Root: t.TempDir()}
	write := func(text string) {
		must.Write(t, filepath.Join(r.Root, "CHANGELOG.md"), text)
	}
	write("# Changelog\n\n## Unreleased\n")
	if err := r.settle(); err == nil || !strings.Contains(err.Error(), "want a section") {
		t.Errorf("version %q, error %v", r.Version, err)
	}
	write("# Changelog\n\n## 1.3.0 (2027-01-02)\n\n- a\n\n## 1.2.9 (2026-12-01)\n")
	if err := r.settle(); err != nil || r.Version != "1.3.0" || r.URL != "https://example.org/redline/1.3.0" {
		t.Errorf("version %q at %s, error %v", r.Version, r.URL, err)
	}
	expect.OK(t, (&release{Root: "../.."}).settle())
}

// outputOf runs a command that must succeed.
func outputOf(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
}

func checkBinary(t *testing.T, r *release) {
	path := r.binary(r.Targets[0])
	program := must.Get(elf.Open(path))(t)
	defer program.Close()
	if program.Section(".interp") != nil {
		t.Error("the binary is not static")
	}
	contains(t, outputOf(t, ".", path, "version", "--json"), `"version": "v1.2.3"`, `"revision": "`+r.Revision, `"date": "`+r.Date.Format("2006-01-02"))
}

// serial is what the schema of CycloneDX asks for.
var serial = regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func checkBill(t *testing.T, r *release) {
	content := must.Read(t, r.binary(r.Targets[0])+".cdx.json")
	var bill struct {
		BOMFormat, SpecVersion, SerialNumber string
		Components                           []struct {
			Name, Version, PURL string
			Licenses            []struct{ License struct{ ID string } }
		}
	}
	if err := json.Unmarshal(content, &bill); err != nil || bill.BOMFormat != "CycloneDX" || !serial.MatchString(bill.SerialNumber) {
		t.Fatalf("%v: %+v", err, bill)
	}
	licenses := map[string]string{}
	for _, c := range bill.Components {
		licenses[c.Name+"@"+c.Version] = "unknown"
		if len(c.Licenses) > 0 {
			licenses[c.Name+"@"+c.Version] = c.Licenses[0].License.ID
		}
	}
	info := must.Get(buildinfo.ReadFile(r.binary(r.Targets[0])))(t)
	for _, m := range info.Deps {
		switch licenses[m.Path+"@"+m.Version] {
		case "":
			t.Errorf("%s %s is linked in and not listed", m.Path, m.Version)
		case "unknown":
			t.Errorf("the license of %s %s is not recognized", m.Path, m.Version)
		}
	}
	if got := licenses["github.com/spf13/cobra@"+versionOf(info, "github.com/spf13/cobra")]; got != "Apache-2.0" {
		t.Errorf("cobra's license is %s", got)
	}
}

func versionOf(info *buildinfo.BuildInfo, path string) string {
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}

func checkPackages(t *testing.T, r *release) {
	if r.NFPM == "" {
		t.Skip("bin/nfpm is not there; make dist installs it")
	}
	inside := []string{"/usr/bin/redline", "/usr/share/man/man1/redline-run.1", "/usr/share/bash-completion/completions/redline", "/_redline", "/usr/share/doc/redline/copyright"}
	base := filepath.Join(r.Dir, "redline-linux-"+runtime.GOARCH)
	if _, err := exec.LookPath("dpkg-deb"); err == nil {
		contains(t, outputOf(t, ".", "dpkg-deb", "--info", base+".deb"), "Package: redline", "Version: 1.2.3", "Architecture: "+runtime.GOARCH)
		contains(t, outputOf(t, ".", "dpkg-deb", "--contents", base+".deb"), inside...)
	}
	if _, err := exec.LookPath("rpm"); err == nil {
		contains(t, outputOf(t, ".", "rpm", "-qpl", "--nosignature", base+".rpm"), inside...)
		contains(t, outputOf(t, ".", "rpm", "-qpi", "--nosignature", base+".rpm"), "Version     : 1.2.3", "License     : Apache-2.0")
	}
}

func checkFormula(t *testing.T, r *release) {
	content := must.Read(t, filepath.Join(r.Dir, "redline.rb"))
	program := must.Read(t, r.binary(r.Targets[0]))
	contains(t, string(content), `version "1.2.3"`, fmt.Sprintf("url \"https://example.org/r/%s\"\n      sha256 \"%x\"", filepath.Base(r.binary(r.Targets[0])), sha256.Sum256(program)))
	if _, err := exec.LookPath("ruby"); err == nil {
		outputOf(t, r.Dir, "ruby", "-c", "redline.rb")
	}
}

// entries reads a tar file.
func entries(t *testing.T, from io.Reader) (headers map[string]*tar.Header, contents map[string][]byte) {
	t.Helper()
	headers, contents = map[string]*tar.Header{}, map[string][]byte{}
	for in := tar.NewReader(from); ; {
		h, err := in.Next()
		if err == io.EOF {
			return headers, contents
		}
		must.Do(t, err)
		headers[h.Name] = h
		contents[h.Name] = must.Get(io.ReadAll(in))(t)
	}
}

// checkImage follows the image from its index to its layer as a runtime does, and
// runs what is in it.
func checkImage(t *testing.T, r *release) {
	path := filepath.Join(r.Dir, "redline-image.tar")
	archive := must.Get(os.Open(path))(t)
	defer archive.Close()
	_, files := entries(t, archive)
	type descriptor struct {
		MediaType, Digest string
		Size              int
		Platform          struct{ OS, Architecture string }
	}
	blob := func(d descriptor, into any) []byte {
		content := files["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != d.Digest || len(content) != d.Size {
			t.Fatalf("%s of %d bytes is %s of %d", d.Digest, d.Size, got, len(content))
		}
		if into != nil {
			must.Do(t, json.Unmarshal(content, into))
		}
		return content
	}
	var top, index struct{ Manifests []descriptor }
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	var config struct {
		Architecture string
		Config       struct {
			User, WorkingDir string
			Entrypoint       []string
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(files["index.json"], &top); err != nil || string(files["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Fatal(err)
	}
	blob(top.Manifests[0], &index)
	blob(index.Manifests[0], &manifest)
	blob(manifest.Config, &config)
	if p := index.Manifests[0].Platform; p.OS != "linux" || p.Architecture != runtime.GOARCH || config.Architecture != runtime.GOARCH || config.Config.User != "65532:65532" {
		t.Errorf("platform %+v, config %+v", p, config)
	}
	unzipped := must.Get(gzip.NewReader(bytes.NewReader(blob(manifest.Layers[0], nil))))(t)
	raw, err := io.ReadAll(unzipped)
	if err != nil || fmt.Sprintf("sha256:%x", sha256.Sum256(raw)) != config.RootFS.DiffIDs[0] {
		t.Fatalf("the layer is not that of the config: %v", err)
	}
	headers, contents := entries(t, bytes.NewReader(raw))
	if over := len(raw) - len(contents["usr/bin/redline"]); over > 3<<20 {
		t.Errorf("the image has %d bytes more than the program", over)
	}
	if w := headers["work/"]; w == nil || w.Uid != 65532 || headers["tmp/"].Mode != 0o1777 || contents["etc/ssl/certs/ca-certificates.crt"] == nil {
		t.Errorf("work/ is %+v", w)
	}
	var legacy []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"], &legacy); err != nil || len(legacy) != 1 || files[legacy[0].Config] == nil || files[legacy[0].Layers[0]] == nil {
		t.Errorf("manifest.json: %v, %+v", err, legacy)
	}
	runImage(t, raw, config.Config.Entrypoint[0], config.Config.WorkingDir)
	if _, err := exec.LookPath("skopeo"); err == nil {
		contains(t, outputOf(t, ".", "skopeo", "inspect", "oci-archive:"+path), `"Architecture": "`+runtime.GOARCH, `"org.opencontainers.image.version": "v1.2.3"`)
		contains(t, outputOf(t, ".", "skopeo", "inspect", "docker-archive:"+path), `"Architecture": "`+runtime.GOARCH)
	}
}

// runImage unpacks a layer and runs its program in it as the image's user, with
// nothing else in sight.
func runImage(t *testing.T, layer []byte, program, work string) {
	if os.Getuid() != 0 {
		t.Log("not root: the image is not run")
		return
	}
	root := t.TempDir()
	file := must.File(t, "layer.tar", layer)
	outputOf(t, ".", "tar", "-xpf", file, "-C", root)
	in := []string{"--userspec=65532:65532", root, program}
	contains(t, outputOf(t, ".", "chroot", append(in, "version")...), "redline v1.2.3")
	load := exec.Command("chroot", append(in, "run", "--requests", "5", "--plain", "--workload", "fixed(9,3)", "--quiet", "--out", work+"/r")...)
	out, _ := load.CombinedOutput() // what it keeps says how it ended
	records, err := os.ReadFile(filepath.Join(root, work, "r", "records.jsonl"))
	if n := strings.Count(string(records), `"outcome":"ok"`); err != nil || n != 5 {
		t.Errorf("%d of 5 requests are ok: %v\n%s", n, err, out)
	}
}

// checkInstall installs from the folder, and asks for what cannot be done.
func checkInstall(t *testing.T, r *release) {
	script := filepath.Join(r.Dir, "install.sh")
	install := func(from, to string) (string, error) {
		c := exec.Command("sh", script, from, to)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	bin := filepath.Join(t.TempDir(), "a", "bin")
	if out, err := install(r.Dir, bin); err != nil || out != "redline v1.2.3\ninstall.sh: "+bin+" is not in PATH; add it, or call "+bin+"/redline\n" {
		t.Fatalf("%v: %s", err, out)
	}
	name := filepath.Base(r.binary(r.Targets[0]))
	other := t.TempDir()
	for _, f := range []string{name, "SHA256SUMS"} {
		must.Do(t, os.Link(filepath.Join(r.Dir, f), filepath.Join(other, f)))
	}
	must.Do(t, os.Remove(filepath.Join(other, name)))
	must.Do(t, os.WriteFile(filepath.Join(other, name), []byte("another program"), 0o755))
	taken := must.File(t, "file", "")
	for _, c := range []struct{ from, to, want string }{
		{other, filepath.Join(other, "bin"), name + " does not match SHA256SUMS"},
		{"/nowhere", filepath.Join(other, "bin"), "/nowhere has no " + name},
		{r.Dir, taken, taken + " cannot be written to: give another directory, sh install.sh " + r.Dir + " DIRECTORY"},
	} {
		out, err := install(c.from, c.to)
		if want := "install.sh: " + c.want + "; nothing was installed\n"; err == nil || out != want {
			t.Errorf("%v\n got %s\nwant %s", err, out, want)
		}
		if _, err := os.Stat(filepath.Join(c.to, "redline")); err == nil {
			t.Errorf("%s: a program was installed", c.want)
		}
	}
}

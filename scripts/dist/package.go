package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// nfpmVersion is the newest whose modules every proxy has.
const nfpmVersion = "v2.43.0"

// nfpm finds the program that makes packages: NFPM, or bin/nfpm, where it is
// installed first. It is no part of the product's modules.
func nfpm(root string) (string, error) {
	if path := os.Getenv("NFPM"); path != "" {
		return path, nil
	}
	bin, err := filepath.Abs(filepath.Join(root, "bin"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(bin, "nfpm")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	install := exec.Command("go", "install", "github.com/goreleaser/nfpm/v2/cmd/nfpm@"+nfpmVersion)
	install.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	if said, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("nfpm %s cannot be installed (set NFPM to a program that is there): %w\n%s", nfpmVersion, err, said)
	}
	return path, nil
}

var numbered = regexp.MustCompile(`^v?(\d+\.\d+.*)$`)

// packageVersion is the version as packages have it: with a number in front, and
// what is no release before the first one.
func packageVersion(version string) string {
	if m := numbered.FindStringSubmatch(version); m != nil {
		return strings.ReplaceAll(m[1], "-", "~")
	}
	return "0.0.0~" + strings.ReplaceAll(version, "-", ".")
}

// packages makes a Debian and an RPM package for each architecture of Linux.
func (r *release) packages() error {
	if r.NFPM == "" {
		return nil
	}
	work, err := os.MkdirTemp("", "redline-dist-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	for _, target := range r.of("linux") {
		arch := strings.TrimPrefix(target, "linux/")
		for _, kind := range []string{"deb", "rpm"} {
			config, err := json.Marshal(r.nfpmConfig(target, kind)) // YAML takes JSON
			if err != nil {
				return err
			}
			path := filepath.Join(work, arch+"-"+kind+".yaml")
			if err := os.WriteFile(path, config, 0o644); err != nil {
				return err
			}
			to, err := filepath.Abs(filepath.Join(r.Dir, "redline-linux-"+arch+"."+kind))
			if err != nil {
				return err
			}
			if err := r.run([]string{"SOURCE_DATE_EPOCH=" + fmt.Sprint(r.Date.Unix())}, r.NFPM, "package", "-f", path, "-p", kind, "-t", to); err != nil {
				return err
			}
		}
	}
	return nil
}

// nfpmConfig is what nfpm is asked for.
func (r *release) nfpmConfig(target, kind string) any {
	type object = map[string]any
	var contents []object
	add := func(from, to string, mode int) {
		from, _ = filepath.Abs(from) // the folder is there
		contents = append(contents, object{"src": from, "dst": to, "file_info": object{"mode": mode, "mtime": r.Date}})
	}
	zsh := map[string]string{"deb": "vendor-completions", "rpm": "site-functions"}[kind]
	add(r.binary(target), "/usr/bin/redline", 0o755)
	add(filepath.Join(r.Dir, "completions", "redline.bash"), "/usr/share/bash-completion/completions/redline", 0o644)
	add(filepath.Join(r.Dir, "completions", "redline.zsh"), "/usr/share/zsh/"+zsh+"/_redline", 0o644)
	add(filepath.Join(r.Dir, "completions", "redline.fish"), "/usr/share/fish/vendor_completions.d/redline.fish", 0o644)
	add(filepath.Join(r.Root, "LICENSE"), "/usr/share/doc/redline/copyright", 0o644)
	add(filepath.Join(r.Root, "NOTICE"), "/usr/share/doc/redline/NOTICE", 0o644)
	pages, _ := filepath.Glob(filepath.Join(r.Dir, "man", "*.1")) // the pattern is sound
	for _, page := range pages {
		add(page, "/usr/share/man/man1/"+filepath.Base(page), 0o644)
	}
	return object{"name": "redline", "arch": strings.TrimPrefix(target, "linux/"), "platform": "linux", "version": packageVersion(r.Version), "version_schema": "none",
		"maintainer": "the redline authors <redline@example.org>", "license": "Apache-2.0", "section": "utils", "priority": "optional", "homepage": r.URL,
		"description": "Find how much load an LLM inference engine takes before it misses its SLOs", "mtime": r.Date, "contents": contents}
}

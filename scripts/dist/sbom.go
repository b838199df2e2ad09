package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// billsOfMaterials writes a CycloneDX document beside each binary: Go itself and
// every module that is linked in, with its license where that is known.
func (r *release) billsOfMaterials() error {
	for _, target := range r.Targets {
		folders, err := r.moduleFolders(target)
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(r.binary(target))
		if err != nil {
			return err
		}
		document, err := json.MarshalIndent(r.billOfMaterials(info, filepath.Base(r.binary(target)), folders), "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.binary(target)+".cdx.json", append(document, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleFolders are where the sources of the modules lie that a target's binary
// is made of, by path and version. Its build has fetched them; other modules of
// go.mod may never have been.
func (r *release) moduleFolders(target string) (map[string]string, error) {
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}@{{.Version}} {{.Dir}}{{end}}", "./cmd/redline")
	list.Dir, list.Env = r.Root, append(os.Environ(), append(environment(target), "GOPROXY=off")...)
	var errs strings.Builder
	list.Stderr = &errs
	said, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps ./cmd/redline for %s: %w: %s", target, err, strings.TrimSpace(errs.String()))
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(said)) {
		if name, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			folders[name] = dir
		}
	}
	return folders, nil
}

type object = map[string]any

func (r *release) billOfMaterials(info *debug.BuildInfo, name string, folders map[string]string) any {
	goVersion := strings.TrimPrefix(strings.Fields(info.GoVersion)[0], "go")
	self := object{"type": "application", "bom-ref": name, "name": "redline", "version": r.Version, "licenses": licenseList("Apache-2.0")}
	std := "pkg:golang/std@" + goVersion
	components := []object{{"type": "library", "bom-ref": std, "name": "std", "version": goVersion, "purl": std, "licenses": licenseList("BSD-3-Clause")}}
	needs := []string{std}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := object{"type": "library", "bom-ref": purl, "name": m.Path, "version": m.Version, "purl": purl}
		if id := licenseOf(folders[m.Path+"@"+m.Version]); id != "" {
			c["licenses"] = licenseList(id)
		}
		components, needs = append(components, c), append(needs, purl)
	}
	sum := sha256.Sum256([]byte(name + r.Version + r.Revision))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80 // as a random UUID has them
	return object{"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
		"serialNumber": fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
		"metadata":     object{"timestamp": r.Date.Format(time.RFC3339), "component": self},
		"components":   components,
		"dependencies": []object{{"ref": name, "dependsOn": needs}},
	}
}

func licenseList(id string) []object { return []object{{"license": object{"id": id}}} }

// licenses are recognized by words that only they have, the longer text first.
var licenses = []struct {
	id    string
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "Neither the name"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "names of its contributors"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "THE SOFTWARE IS PROVIDED \"AS IS\""}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software"}},
	{"CC0-1.0", []string{"CC0 1.0 Universal"}},
	{"Unlicense", []string{"This is free and unencumbered software"}},
}

// licenseOf recognizes the license in a module's folder, "" where it does not.
func licenseOf(dir string) string {
	if dir == "" {
		return ""
	}
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "License*", "license*"} {
		files, _ := filepath.Glob(filepath.Join(dir, pattern)) // the patterns are sound
		for _, file := range files {
			content, _ := os.ReadFile(file) // a folder of licenses is none itself
			text := strings.Join(strings.Fields(string(content)), " ")
			for _, l := range licenses {
				if has(text, l.words) {
					return l.id
				}
			}
		}
	}
	return ""
}

func has(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

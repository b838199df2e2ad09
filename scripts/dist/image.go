package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// user is who the program runs as: nobody that a machine has.
const user = 65532

// blob is a file of an image by its content.
type blob struct {
	content   []byte
	mediaType string
}

func (b blob) digest() string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b.content)) }

// descriptor is how documents of the image specification refer to it.
func (b blob) descriptor() object {
	return object{"mediaType": b.mediaType, "digest": b.digest(), "size": len(b.content)}
}

// path is where it lies in the archive.
func (b blob) path() string { return "blobs/sha256/" + strings.TrimPrefix(b.digest(), "sha256:") }

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// image writes redline-image.tar: an OCI layout with an image for each architecture
// of Linux, and the manifest.json by which every docker load finds them. No daemon
// has a part in it.
func (r *release) image() error {
	var blobs []blob
	var manifests, legacy []object
	for _, target := range r.of("linux") {
		arch := strings.TrimPrefix(target, "linux/")
		layer, diff, err := r.layer(target)
		if err != nil {
			return err
		}
		config := r.document(typeConfig, r.imageConfig(arch, diff))
		manifest := r.document(typeManifest, object{"schemaVersion": 2, "mediaType": typeManifest, "config": config.descriptor(), "layers": []object{layer.descriptor()}})
		blobs = append(blobs, layer, config, manifest)
		about := manifest.descriptor()
		about["platform"] = object{"os": "linux", "architecture": arch}
		manifests = append(manifests, about)
		legacy = append(legacy, object{"Config": config.path(), "RepoTags": []string{"redline:" + r.tag() + "-" + arch}, "Layers": []string{layer.path()}})
	}
	if len(blobs) == 0 {
		return nil
	}
	index := r.document(typeIndex, object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": manifests})
	top := index.descriptor()
	top["annotations"] = object{"io.containerd.image.name": "docker.io/library/redline:" + r.tag(), "org.opencontainers.image.ref.name": r.tag()}
	files := []file{
		{"oci-layout", r.document("", object{"imageLayoutVersion": "1.0.0"}).content},
		{"index.json", r.document("", object{"schemaVersion": 2, "mediaType": typeIndex, "manifests": []object{top}}).content},
		{"manifest.json", r.document("", legacy).content},
	}
	for _, b := range append(blobs, index) {
		files = append(files, file{b.path(), b.content})
	}
	archive, err := r.archive(files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.Dir, "redline-image.tar"), archive, 0o644)
}

// tag is the version as a tag of an image may be.
func (r *release) tag() string { return strings.NewReplacer("+", "-", "/", "-").Replace(r.Version) }

// document is a blob of JSON.
func (r *release) document(mediaType string, v any) blob {
	content, _ := json.Marshal(v) // texts, numbers, lists and maps alone
	return blob{content, mediaType}
}

func (r *release) imageConfig(arch, diff string) any {
	created := r.Date.Format(time.RFC3339)
	return object{"created": created, "architecture": arch, "os": "linux",
		"config": object{"User": fmt.Sprintf("%d:%d", user, user), "Env": []string{"PATH=/usr/bin", "HOME=/work", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			"Entrypoint": []string{"/usr/bin/redline"}, "WorkingDir": "/work",
			"Labels": object{"org.opencontainers.image.title": "redline", "org.opencontainers.image.version": r.Version, "org.opencontainers.image.revision": r.Revision,
				"org.opencontainers.image.licenses": "Apache-2.0"}},
		"rootfs":  object{"type": "layers", "diff_ids": []string{diff}},
		"history": []object{{"created": created, "created_by": "scripts/dist"}}}
}

type file struct {
	name    string
	content []byte
}

// layer is all that an image holds: the program, certificate authorities, the
// license, a user, and two folders to write to. diff is the digest before gzip.
func (r *release) layer(target string) (layer blob, diff string, err error) {
	var files []file
	for _, f := range []struct{ to, from string }{{"usr/bin/redline", r.binary(target)}, {"etc/ssl/certs/ca-certificates.crt", r.CA},
		{"usr/share/doc/redline/LICENSE", filepath.Join(r.Root, "LICENSE")}, {"usr/share/doc/redline/NOTICE", filepath.Join(r.Root, "NOTICE")}} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return blob{}, "", fmt.Errorf("for the image: %w (-ca names another file of authorities)", err)
		}
		files = append(files, file{f.to, content})
	}
	files = append(files, file{"etc/passwd", fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nredline:x:%d:%d:redline:/work:/sbin/nologin\n", user, user)},
		file{"etc/group", fmt.Appendf(nil, "root:x:0:\nredline:x:%d:\n", user)}, file{"tmp/", nil}, file{"work/", nil})
	raw, err := r.archive(files)
	if err != nil {
		return blob{}, "", err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return blob{}, "", err
	}
	if r.Cached {
		w, _ = gzip.NewWriterLevel(&packed, gzip.BestSpeed) // a level that there is
	}
	if _, err := io.Copy(w, bytes.NewReader(raw)); err != nil {
		return blob{}, "", err
	}
	if err := w.Close(); err != nil {
		return blob{}, "", err
	}
	return blob{packed.Bytes(), typeLayer}, fmt.Sprintf("sha256:%x", sha256.Sum256(raw)), nil
}

// archive is a tar file. A name that ends with a slash is a folder; those above a
// file are made.
func (r *release) archive(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	made := map[string]bool{".": true}
	folder := func(name string) error {
		if made[name] {
			return nil
		}
		made[name] = true
		h := &tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: r.Date, Format: tar.FormatPAX}
		switch name {
		case "tmp":
			h.Mode = 0o1777
		case "work":
			h.Uid, h.Gid = user, user
		}
		return w.WriteHeader(h)
	}
	for _, f := range files {
		var above []string
		for dir := filepath.ToSlash(filepath.Dir(f.name)); dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
			above = append([]string{dir}, above...)
		}
		for _, dir := range above {
			if err := folder(dir); err != nil {
				return nil, err
			}
		}
		if strings.HasSuffix(f.name, "/") {
			continue
		}
		mode := int64(0o644)
		if strings.HasPrefix(f.name, "usr/bin/") {
			mode = 0o755
		}
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: mode, Size: int64(len(f.content)), ModTime: r.Date, Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// Package hub finds files of Hugging Face repositories. It takes a name such as
// hf:org/name/file.jsonl and gives the path of the file in the cache that the
// Hugging Face libraries share (HF_HUB_CACHE, HF_HOME), where it is fetched to
// first if it is not there. Any other name is a path and given back as it is: no
// network is touched for it.
package hub

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Prefix begins the name of a repository.
const Prefix = "hf:"

// Name is a file of a repository, or the repository alone.
type Name struct {
	Repo     string // org/name
	Revision string // a branch, a tag or a commit
	File     string // "" for the repository
	kind     kind
}

// kind is what a repository holds, as the hub spells it in addresses and in its
// cache.
type kind struct {
	address, folder string
	maxBytes        int64 // bytes of one of its files that are fetched
}

// MaxTokenizer bounds a tokenizer's file: the largest published ones have a
// seventh of it.
const MaxTokenizer = 256 << 20

var (
	models   = kind{"", "models--", MaxTokenizer}
	datasets = kind{"datasets/", "datasets--", 16 << 30}
)

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96}$`)
	commitHash = regexp.MustCompile(`^[0-9a-f]{40}$`)
	safeEtag   = regexp.MustCompile(`^[A-Za-z0-9][\w.-]{0,200}$`)
)

// parse reads hf:org/name[@revision][/file].
func parse(name string, k kind) (Name, error) {
	rest := strings.TrimPrefix(name, Prefix)
	parts := strings.SplitN(rest, "/", 3)
	n := Name{Revision: "main", kind: k}
	if len(parts) > 1 {
		id, revision, given := strings.Cut(parts[1], "@")
		if n.Repo = parts[0] + "/" + id; given {
			n.Revision = revision
		}
	}
	if len(parts) == 3 {
		n.File = parts[2]
	}
	inside := n.File == "" || filepath.IsLocal(filepath.FromSlash(n.File))
	if !repository.MatchString(n.Repo) || strings.Contains(n.Repo, "..") || n.Revision == "" || !filepath.IsLocal(n.Revision) || !inside {
		return Name{}, fmt.Errorf("%s: expected a Hugging Face repository as %sorg/name, %[2]sorg/name@revision, or a file of it as %[2]sorg/name/file", name, Prefix)
	}
	return n, nil
}

func (n Name) String() string {
	said := Prefix + n.Repo
	if n.Revision != "main" {
		said += "@" + n.Revision
	}
	if n.File != "" {
		said += "/" + n.File
	}
	return said
}

// Is reports whether a name is that of a repository.
func Is(name string) bool { return strings.HasPrefix(name, Prefix) }

// Dataset gives the path of a dataset's file; any name without the prefix is one
// already. Of a Parquet file it is that of its rows as lines of JSON.
func Dataset(name string) (path string, err error) {
	if !Is(name) {
		return readableFile(name, name)
	}
	n, err := parse(name, datasets)
	if err != nil {
		return "", err
	}
	h := fromEnvironment()
	asked := question{h, n}
	if path, ok := foundPaths.Load(asked); ok {
		return path.(string), nil
	}
	if n.File == "" {
		if n.File, err = h.onlyFile(n); err != nil {
			return "", err
		}
	}
	if path, err = h.file(n); err == nil {
		path, err = readableFile(name, path)
	}
	if err == nil {
		foundPaths.Store(asked, path)
	}
	return path, err
}

// foundPaths keeps what this process has found: a dataset is opened several times,
// and is the same file each time.
var foundPaths sync.Map

type question struct {
	hub
	Name
}

// Tokenizer gives the path of a repository's tokenizer.json, and what else its
// directory may hold is brought beside it. The prefix may be left out where there
// is no such path: an org/name is what everybody calls a model.
func Tokenizer(name string) (path string, err error) {
	if !Is(name) {
		_, missing := os.Stat(name)
		if !errors.Is(missing, os.ErrNotExist) || !repository.MatchString(name) || strings.HasSuffix(name, ".json") {
			return name, nil
		}
	}
	n, err := parse(name, models)
	if err != nil {
		return "", err
	}
	h := fromEnvironment()
	if n.File != "" {
		return h.file(n)
	}
	n.File = "tokenizer.json"
	if path = h.cachedPath(n); path != "" {
		return path, nil
	}
	if path, err = h.fetch(n); err != nil {
		return "", err
	}
	for _, beside := range []string{"tokenizer_config.json", "chat_template.jinja"} {
		n.File = beside
		if _, err := h.fetch(n); err != nil && !errors.Is(err, errNoFile) {
			return "", err
		}
	}
	return path, nil
}

// hub is where files come from and where they are kept.
type hub struct {
	endpoint, cache, token string
	offline                bool
}

// fromEnvironment reads the variables of the Hugging Face libraries.
func fromEnvironment() hub {
	home := os.Getenv("HF_HOME")
	if home == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			user, _ := os.UserHomeDir() // without one the cache is below the working directory
			cache = filepath.Join(user, ".cache")
		}
		home = filepath.Join(cache, "huggingface")
	}
	h := hub{endpoint: "https://huggingface.co", cache: filepath.Join(home, "hub"), token: os.Getenv("HF_TOKEN")}
	if e := os.Getenv("HF_ENDPOINT"); e != "" {
		h.endpoint = strings.TrimRight(e, "/")
	}
	for _, name := range []string{"HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE"} {
		if dir := os.Getenv(name); dir != "" {
			h.cache = dir
		}
	}
	if h.token == "" {
		path := os.Getenv("HF_TOKEN_PATH")
		if path == "" {
			path = filepath.Join(home, "token")
		}
		if kept, err := os.ReadFile(path); err == nil {
			h.token = strings.TrimSpace(string(kept))
		}
	}
	h.offline = slices.Contains([]string{"1", "ON", "YES", "TRUE"}, strings.ToUpper(os.Getenv("HF_HUB_OFFLINE")))
	return h
}

// folder is where the cache has a repository.
func (h hub) folder(n Name) string {
	return filepath.Join(h.cache, n.kind.folder+strings.ReplaceAll(n.Repo, "/", "--"))
}

// commit is what the cache knows a revision as, "" where it does not.
func (h hub) commit(n Name) string {
	if commitHash.MatchString(n.Revision) {
		return n.Revision
	}
	content, err := os.ReadFile(filepath.Join(h.folder(n), "refs", filepath.FromSlash(n.Revision)))
	if commit := strings.TrimSpace(string(content)); err == nil && commitHash.MatchString(commit) {
		return commit
	}
	return ""
}

func (h hub) snapshot(n Name, commit string) string {
	return filepath.Join(h.folder(n), "snapshots", commit, filepath.FromSlash(n.File))
}

// file gives a file from the cache, and fetches it where that has none.
func (h hub) file(n Name) (string, error) {
	if path := h.cachedPath(n); path != "" {
		return path, nil
	}
	return h.fetch(n)
}

// cachedPath is where the cache has a file, "" where it has not.
func (h hub) cachedPath(n Name) string {
	if commit := h.commit(n); commit != "" {
		path := h.snapshot(n, commit)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// address is a page of the hub about a repository.
func (h hub) address(n Name, page string) string {
	return h.endpoint + "/" + n.kind.address + n.Repo + "/" + page + "/" + url.PathEscape(n.Revision) + "/" + strings.ReplaceAll(url.PathEscape(n.File), "%2F", "/")
}

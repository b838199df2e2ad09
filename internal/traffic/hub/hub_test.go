package hub

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/oracle"
)

const (
	commit = "0123456789abcdef0123456789abcdef01234567"
	token  = "hf_secretsecretsecret"
)

// served are the files of the hub; those of large are fetched from another host.
var served = map[string]string{
	"acme/tiny/tokenizer.json":              `{"model":{}}`,
	"acme/tiny/tokenizer_config.json":       `{"chat_template":"x"}`,
	"datasets/acme/talks/data/train.jsonl":  "{\"prompt\":\"hello\"}\n",
	"datasets/acme/talks/README.md":         "# Talks\n",
	"datasets/acme/several/b.jsonl":         "{}\n",
	"datasets/acme/several/a.json":          "[]\n",
	"datasets/acme/spoilt/x.jsonl":          "sent",
	"datasets/acme/private/x.jsonl":         "{}",
	"datasets/acme/etag/x.jsonl":            "{}",
	"datasets/acme/plain/x.jsonl":           "{}",
	"datasets/acme/branch/dir one/x y.json": "[1]",
}

// large is the one that a hub keeps elsewhere.
const large = "datasets/acme/talks/data/train.jsonl"

func gitHash(content string) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(fmt.Sprintf("blob %d\x00%s", len(content), content))))
}

// asked is a request that a server got.
type asked struct{ Method, Path, Authorization string }

// server is a hub, with the host that has its large files beside it.
type server struct {
	hub, elsewhere *httptest.Server
	mu             sync.Mutex
	hubAsked       []asked
	elsewhereAsked []asked
}

func newServer(t *testing.T) *server {
	s := &server{}
	note := func(list *[]asked, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		*list = append(*list, asked{r.Method, r.URL.Path, r.Header.Get("Authorization")})
	}
	s.elsewhere = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(&s.elsewhereAsked, r)
		fmt.Fprint(w, served[large])
	}))
	s.hub = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		note(&s.hubAsked, r)
		s.answer(w, r)
	}))
	t.Cleanup(s.hub.Close)
	t.Cleanup(s.elsewhere.Close)
	return s
}

func (s *server) answer(w http.ResponseWriter, r *http.Request) {
	if repo, ok := strings.CutPrefix(r.URL.Path, "/api/datasets/"); ok {
		repo, _, _ = strings.Cut(repo, "/revision/")
		var listing struct {
			Siblings []map[string]string `json:"siblings"`
		}
		for name := range served {
			if file, ok := strings.CutPrefix(name, "datasets/"+repo+"/"); ok {
				listing.Siblings = append(listing.Siblings, map[string]string{"rfilename": file})
			}
		}
		if listing.Siblings == nil {
			w.Header().Set("X-Error-Code", "RepoNotFound")
			http.Error(w, "", http.StatusNotFound)
			return
		}
		json.NewEncoder(w).Encode(listing)
		return
	}
	repo, file, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/resolve/")
	_, file, _ = strings.Cut(file, "/")
	name := repo + "/" + file
	content, has := served[name]
	switch {
	case !has:
		w.Header().Set("X-Error-Code", "EntryNotFound")
		http.Error(w, "", http.StatusNotFound)
		return
	case strings.Contains(name, "/private/") && r.Header.Get("Authorization") == "":
		http.Error(w, "", http.StatusUnauthorized)
		return
	}
	w.Header().Set("X-Repo-Commit", commit)
	w.Header().Set("ETag", `"`+gitHash(content)+`"`)
	switch {
	case name == large:
		w.Header().Set("X-Linked-Etag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(content))))
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(content)))
		http.Redirect(w, r, s.elsewhere.URL+"/blob", http.StatusFound)
		return
	case strings.Contains(name, "/spoilt/"):
		content = "tnes"
	case strings.Contains(name, "/etag/"):
		w.Header().Set("ETag", `"../../../evil"`)
	case strings.Contains(name, "/plain/"):
		w.Header().Del("X-Repo-Commit")
	}
	fmt.Fprint(w, content)
}

// environment points the libraries' variables at a hub and an empty cache.
func environment(t *testing.T, endpoint string) (cache string) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "HF_TOKEN_PATH", "HF_TOKEN", "HTTP_PROXY", "http_proxy"} {
		t.Setenv(name, "")
	}
	t.Setenv("HF_HOME", home)
	t.Setenv("HF_ENDPOINT", endpoint+"/")
	return filepath.Join(home, "hub")
}

// tree lists what a cache holds: the content of files, where links lead.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(p string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && entry.Name() == ".locks" {
				return filepath.SkipDir
			}
			return err
		}
		name, _ := filepath.Rel(dir, p)
		if entry.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(p)
			found[name] = "→ " + to
			return err
		}
		content, err := os.ReadFile(p)
		found[name] = string(content)
		return err
	}))
	return found
}

// Files come into the cache as Hugging Face's libraries lay them out, once, and the
// token stays with the hub.
func TestFetch(t *testing.T) {
	s := newServer(t)
	cache := environment(t, s.hub.URL)
	t.Setenv("HF_TOKEN", token)
	first := must.Get(Tokenizer("acme/tiny"))(t)
	if _, err := Dataset("hf:acme/talks"); err != nil { // its only file that can be read
		t.Fatal(err)
	}
	configHash, dataHash := gitHash(served["acme/tiny/tokenizer_config.json"]), fmt.Sprintf("%x", sha256.Sum256([]byte(served[large])))
	tokenizerHash := gitHash(served["acme/tiny/tokenizer.json"])
	model, data := "models--acme--tiny/", "datasets--acme--talks/"
	want := map[string]string{
		model + "refs/main":                                      commit,
		model + "blobs/" + tokenizerHash:                         served["acme/tiny/tokenizer.json"],
		model + "blobs/" + configHash:                            served["acme/tiny/tokenizer_config.json"],
		model + "snapshots/" + commit + "/tokenizer.json":        "→ ../../blobs/" + tokenizerHash,
		model + "snapshots/" + commit + "/tokenizer_config.json": "→ ../../blobs/" + configHash,
		data + "refs/main":                                       commit,
		data + "blobs/" + dataHash:                               served[large],
		data + "snapshots/" + commit + "/data/train.jsonl":       "→ ../../../blobs/" + dataHash,
	}
	expect.NoDiff(t, cmp.Diff(want, tree(t, cache)), "cache (-want +got)")
	for _, a := range s.hubAsked {
		if a.Authorization != "Bearer "+token {
			t.Errorf("%s %s came without the token", a.Method, a.Path)
		}
	}
	expect.NoDiff(t, cmp.Diff([]asked{{"GET", "/blob", ""}}, s.elsewhereAsked), "the other host was asked (-want +got)")
	s.hub.Close() // what is in the cache needs no hub
	again, err := Tokenizer("hf:acme/tiny@" + commit + "/tokenizer.json")
	if err != nil || again != first {
		t.Errorf("from the cache: %s %v, want %s", again, err, first)
	}
	foundPaths.Clear()
	if _, err := Dataset("hf:acme/talks"); err != nil {
		t.Errorf("the only file of the cache, without a hub: %v", err)
	}
}

func TestOtherRevisions(t *testing.T) {
	s := newServer(t)
	cache := environment(t, s.hub.URL)
	path := must.Get(Dataset("hf:acme/branch@pr/dir one/x y.json"))(t) // a branch cannot have a slash here
	if content, _ := os.ReadFile(path); string(content) != "[1]" {
		t.Errorf("%s holds %s", path, content)
	}
	if ref, _ := os.ReadFile(filepath.Join(cache, "datasets--acme--branch/refs/pr")); string(ref) != commit {
		t.Errorf("the ref is %q", ref)
	}
}

// A path is a path: no hub is asked about it.
func TestPathsTouchNoNetwork(t *testing.T) {
	s := newServer(t)
	environment(t, s.hub.URL)
	t.Chdir(t.TempDir())
	must.Do(t, os.MkdirAll("acme/tiny", 0o755))
	for _, name := range []string{"acme/tiny", "./acme/none", "models/tokenizer.json", "/none/at/all", "o200k_base", "a/b/c"} {
		if path, err := Tokenizer(name); path != name || err != nil {
			t.Errorf("tokenizer %s: %s %v", name, path, err)
		}
	}
	for _, name := range []string{"acme/talks", "log.csv"} {
		if path, err := Dataset(name); path != name || err != nil {
			t.Errorf("dataset %s: %s %v", name, path, err)
		}
	}
	if len(s.hubAsked) > 0 {
		t.Errorf("the hub was asked %v", s.hubAsked)
	}
}

func TestMistakes(t *testing.T) {
	s := newServer(t)
	dead := httptest.NewServer(nil)
	dead.Close()
	for _, tt := range []struct {
		name, endpoint, offline, says string
	}{
		{"hf:talks", s.hub.URL, "", "expected a Hugging Face repository as hf:org/name"},
		{"hf:../x/y", s.hub.URL, "", "expected a Hugging Face repository"},
		{"hf:acme/talks/../../x", s.hub.URL, "", "expected a Hugging Face repository"},
		{"hf:acme/talks@", s.hub.URL, "", "expected a Hugging Face repository"},
		{"hf:acme/talks@../x", s.hub.URL, "", "expected a Hugging Face repository"},
		{"hf:acme/several", s.hub.URL, "", "has 2 files: name one, such as hf:acme/several/a.json; there are a.json, b.jsonl"},
		{"hf:acme/none", s.hub.URL, "", "no such repository"},
		{"hf:acme/talks/none.jsonl", s.hub.URL, "", "no such file"},
		{"hf:acme/private/x.jsonl", s.hub.URL, "", "HF_TOKEN"},
		{"hf:acme/spoilt/x.jsonl", s.hub.URL, "", "checksum"},
		{"hf:acme/etag/x.jsonl", s.hub.URL, "", "does not answer as a Hugging Face hub does"},
		{"hf:acme/plain/x.jsonl", s.hub.URL, "", "does not answer as a Hugging Face hub does"},
		{"hf:acme/talks/data/train.jsonl", s.hub.URL, "1", "HF_HUB_OFFLINE"},
		{"hf:acme/talks", s.hub.URL, "true", "HF_HUB_OFFLINE"},
		{"hf:acme/talks/data/train.jsonl", dead.URL, "", "does not answer (dial tcp"},
		{"hf:acme/talks", dead.URL, "", "hf download acme/talks --repo-type dataset"},
	} {
		cache := environment(t, tt.endpoint)
		t.Setenv("HF_HUB_OFFLINE", tt.offline)
		_, err := Dataset(tt.name)
		if err == nil || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", tt.name, err, tt.says)
		}
		if _, missing := os.Stat(cache); missing == nil && len(tree(t, cache)) > 0 {
			t.Errorf("%s: left %v", tt.name, tree(t, cache))
		}
	}
}

// A file that is too long is not fetched, whether or not the hub says how long it
// is, and nothing of it stays.
func TestTooLong(t *testing.T) {
	s := newServer(t)
	cache := environment(t, s.hub.URL)
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Repo-Commit", commit)
		w.Header().Set("ETag", `"an-etag"`)
		for r.Method == http.MethodGet {
			if _, err := w.Write(make([]byte, 1<<10)); err != nil {
				return // the reader has seen enough
			}
		}
	}))
	defer endless.Close()
	for endpoint, most := range map[string]int64{s.hub.URL: int64(len(served["acme/tiny/tokenizer.json"]) - 1), endless.URL: 64 << 10} {
		n := Name{Repo: "acme/tiny", Revision: "main", File: "tokenizer.json", kind: kind{"", "models--", most}}
		h := fromEnvironment()
		h.endpoint = endpoint
		if _, err := h.fetch(n); err == nil || !strings.Contains(err.Error(), "is longer than") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line that it is too long", endpoint, err)
		}
	}
	if _, missing := os.Stat(cache); missing == nil && len(tree(t, cache)) > 0 {
		t.Errorf("left %v", tree(t, cache))
	}
}

// Hugging Face's own library finds what was fetched, fetches the same, and what it
// fetched is found here.
func TestHuggingFaceLibraryAgrees(t *testing.T) {
	python := oracle.Python(t, filepath.Join("testdata", "requirements.txt"))
	s := newServer(t)
	ours := environment(t, s.hub.URL)
	theirs := filepath.Join(t.TempDir(), "theirs")
	names := []string{"hf:acme/talks/data/train.jsonl"}
	must.Get(Tokenizer("hf:acme/tiny"))(t)
	for _, name := range names {
		must.Get(Dataset(name))(t)
	}
	var said [2]string
	for i, args := range [][]string{{"read", ours}, {"fill", theirs}} {
		c := exec.Command(python, append([]string{"testdata/judge.py"}, args...)...)
		c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "HF_") }), "HF_ENDPOINT="+s.hub.URL, "HF_HUB_DISABLE_XET=1", "HF_HUB_DISABLE_TELEMETRY=1")
		var complaint strings.Builder
		c.Stderr = &complaint
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, complaint.String())
		}
		said[i] = string(out)
	}
	if diff := cmp.Diff(said[1], said[0]); diff != "" || !strings.Contains(said[0], `"warnings": []`) {
		t.Errorf("the library (-of its cache +of ours):\n%s\n%s", diff, said[0])
	}
	wanted, got := tree(t, theirs), tree(t, ours)
	for name, content := range wanted {
		if got[name] != content && !strings.Contains(name, "CACHEDIR") {
			t.Errorf("%s is %q in its cache, %q in ours", name, content, got[name])
		}
	}
	s.hub.Close()
	t.Setenv("HF_HUB_CACHE", theirs)
	t.Setenv("HF_HUB_OFFLINE", "1")
	foundPaths.Clear()
	for _, name := range append(names, "hf:acme/talks") {
		if path, err := Dataset(name); err != nil || !strings.HasPrefix(path, theirs) {
			t.Errorf("%s from its cache: %s %v", name, path, err)
		}
	}
	if path, err := Tokenizer("acme/tiny"); err != nil || !strings.HasPrefix(path, theirs) {
		t.Errorf("the tokenizer from its cache: %s %v", path, err)
	}
}

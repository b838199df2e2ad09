package hub

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"redline/internal/text"
)

// Bounds of what is asked of a hub and of its answers.
const (
	answerWithin = 20 * time.Second // a connection, and the head of an answer
	stallWithin  = 30 * time.Second // between two pieces of a file
	maxListing   = 32 << 20
	maxHops      = 10
)

// errNoFile says that a repository does not have a file.
var errNoFile = errors.New("no such file")

// get asks the hub. Its token goes to no other host, nor where nobody encrypts
// what was encrypted before.
func (h hub) get(ctx context.Context, method, address string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", "redline")
	request.Header.Set("Accept-Encoding", "identity") // sizes are those of the file
	if h.token != "" {
		request.Header.Set("Authorization", "Bearer "+h.token)
	}
	client := http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: (&net.Dialer{Timeout: answerWithin}).DialContext,
			TLSHandshakeTimeout: answerWithin, ResponseHeaderTimeout: answerWithin, DisableKeepAlives: true},
		CheckRedirect: func(next *http.Request, before []*http.Request) error {
			if away := next.URL.Host != before[0].URL.Host || next.URL.Scheme != before[0].URL.Scheme; away {
				if method == http.MethodHead {
					return http.ErrUseLastResponse // its own host has said what the file is
				}
				next.Header.Del("Authorization")
			}
			if len(before) > maxHops {
				return errors.New("it redirects without end")
			}
			return nil
		},
	}
	return client.Do(request)
}

// untilStopped lasts until the process is asked to end. It is one for all that is
// fetched, so that what was stopped is not begun again.
var untilStopped = sync.OnceValue(func() context.Context {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	return ctx
})

// fetch brings a file into the cache.
func (h hub) fetch(n Name) (string, error) {
	if h.offline {
		return "", h.forbiddenError(n)
	}
	ctx := untilStopped()
	head, err := h.get(ctx, http.MethodHead, h.address(n, "resolve"))
	if err != nil {
		return "", h.unreachableError(ctx, n, err)
	}
	head.Body.Close()
	if err := h.statusError(n, head); err != nil {
		return "", err
	}
	commit, etag := head.Header.Get("X-Repo-Commit"), head.Header.Get("X-Linked-Etag")
	if etag == "" {
		etag = head.Header.Get("ETag")
	}
	etag = strings.Trim(strings.TrimPrefix(etag, "W/"), `"`)
	if !commitHash.MatchString(commit) || !safeEtag.MatchString(etag) {
		return "", fmt.Errorf("%s: %s does not answer as a Hugging Face hub does (no commit or no checksum of the file): check HF_ENDPOINT", n, h.host())
	}
	blob := filepath.Join(h.folder(n), "blobs", etag)
	if _, err := os.Stat(blob); err != nil {
		if err := h.download(ctx, n, blob, etag); err != nil {
			return "", err
		}
	}
	return h.keep(n, commit, blob)
}

func (h hub) forbiddenError(n Name) error {
	return fmt.Errorf("%s: is not in the cache (%s), and HF_HUB_OFFLINE forbids to fetch it; %s", n, h.cache, n.cure())
}

// statusError says why a hub did not give a file.
func (h hub) statusError(n Name, answer *http.Response) error {
	switch code := answer.StatusCode; {
	case code < 400:
		return nil
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%s: %s refuses access: it does not exist, or set HF_TOKEN to a token that may read it", n, h.host())
	case code == http.StatusNotFound && answer.Header.Get("X-Error-Code") != "RepoNotFound" && n.File != "":
		return fmt.Errorf("%s: %s has %w (or no such repository)", n, h.host(), errNoFile)
	case code == http.StatusNotFound:
		return fmt.Errorf("%s: %s has no such repository; a private one needs HF_TOKEN", n, h.host())
	}
	return fmt.Errorf("%s: %s answers %s; %s", n, h.host(), text.Line(answer.Status), n.cure())
}

// unreachableError is a hub that cannot be reached, and what helps.
func (h hub) unreachableError(ctx context.Context, n Name, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: fetching it was interrupted", n)
	}
	var failed *url.Error
	if errors.As(err, &failed) { // its address may hold a password
		err = failed.Err
	}
	return fmt.Errorf("%s: %s does not answer (%s); %s", n, h.host(), text.Line(err.Error()), n.cure())
}

// cure is what helps without a hub.
func (n Name) cure() string {
	what, repo := "give the path of a file", " --repo-type dataset"
	if n.kind == models {
		what, repo = "leave the tokenizer out (tokens are then counted by the server's usage), give the path of a tokenizer.json", ""
	}
	words := []string{"hf download", n.Repo}
	if n.File != "" {
		words = append(words, text.Shell(n.File))
	}
	return fmt.Sprintf("%s, or fill the cache where the hub can be reached: %s%s", what, strings.Join(words, " "), repo)
}

func (h hub) host() string {
	if u, err := url.Parse(h.endpoint); err == nil && u.Host != "" {
		return u.Host
	}
	return "the hub"
}

// download writes a file's content beside its place and moves it there whole once
// its checksum is right, so that nobody meets half of it.
func (h hub) download(whole context.Context, n Name, blob, etag string) error {
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	answer, err := h.get(ctx, http.MethodGet, h.address(n, "resolve"))
	if err != nil {
		return h.unreachableError(ctx, n, err)
	}
	defer answer.Body.Close()
	if err := h.statusError(n, answer); err != nil {
		return err
	}
	if answer.ContentLength > n.kind.maxBytes {
		return n.tooLong()
	}
	if err := os.MkdirAll(filepath.Dir(blob), 0o755); err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(blob), etag+".*.incomplete")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	sum := checksum(etag, answer.ContentLength)
	stall := time.AfterFunc(stallWithin, cancel)
	defer stall.Stop()
	size, err := io.Copy(io.MultiWriter(part, sum), io.LimitReader(stallReader{answer.Body, stall}, n.kind.maxBytes+1))
	if closed := part.Close(); err == nil && closed != nil {
		return closed
	}
	switch {
	case err != nil:
		return h.unreachableError(whole, n, fmt.Errorf("it broke off after %s: %w", text.Bytes(float64(size)), err))
	case size > n.kind.maxBytes:
		return n.tooLong()
	case answer.ContentLength >= 0 && size != answer.ContentLength:
		return fmt.Errorf("%s: %s sent %d bytes of %d: try again", n, h.host(), size, answer.ContentLength)
	case isChecksum(etag) && hex.EncodeToString(sum.Sum(nil)) != etag:
		return fmt.Errorf("%s: what %s sent does not have the checksum that it names: try again", n, h.host())
	}
	if err := os.Chmod(part.Name(), 0o644); err != nil {
		return err
	}
	return os.Rename(part.Name(), blob)
}

func (n Name) tooLong() error {
	return fmt.Errorf("%s: is longer than %s, the most that is fetched of such a file; %s", n, text.Bytes(float64(n.kind.maxBytes)), n.cure())
}

// isChecksum reports whether an etag is the checksum of what it names: SHA-256 of a
// large file, Git's own of any other.
func isChecksum(etag string) bool {
	_, err := hex.DecodeString(etag)
	return err == nil && (len(etag) == 2*sha256.Size || len(etag) == 2*sha1.Size)
}

func checksum(etag string, size int64) hash.Hash {
	if len(etag) == 2*sha256.Size {
		return sha256.New()
	}
	sum := sha1.New()
	sum.Write([]byte("blob " + strconv.FormatInt(size, 10) + "\x00"))
	return sum
}

// stallReader is a body that puts off the end of patience with each piece.
type stallReader struct {
	io.Reader
	stall *time.Timer
}

func (a stallReader) Read(b []byte) (int, error) {
	n, err := a.Reader.Read(b)
	a.stall.Reset(stallWithin)
	return n, err
}

// keep names a blob by its file in a snapshot, and the snapshot by its revision.
func (h hub) keep(n Name, commit, blob string) (string, error) {
	link := h.snapshot(n, commit)
	if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
		return "", err
	}
	if _, err := os.Stat(link); err != nil {
		target, err := filepath.Rel(filepath.Dir(link), blob)
		if err != nil {
			return "", err
		}
		os.Remove(link) // one that leads nowhere
		if os.Symlink(target, link) != nil {
			if err := os.Rename(blob, link); err != nil { // a file system without links
				return "", err
			}
		}
	}
	if n.Revision == commit {
		return link, nil
	}
	ref := filepath.Join(h.folder(n), "refs", filepath.FromSlash(n.Revision))
	if err := os.MkdirAll(filepath.Dir(ref), 0o755); err != nil {
		return "", err
	}
	return link, os.WriteFile(ref, []byte(commit), 0o644)
}

// readable are the endings of files that a workload can be.
var readable = []string{".json", ".jsonl", ".csv", ".tsv", ".txt", ".parquet"}

// onlyFile names the one file of a dataset that can be read; where there are several,
// a person has to say which.
func (h hub) onlyFile(n Name) (string, error) {
	files, err := h.list(n)
	if err != nil {
		return "", err
	}
	var data []string
	for _, f := range files {
		base := path.Base(f)
		if slices.Contains(readable, path.Ext(f)) && !strings.HasPrefix(base, ".") && base != "dataset_infos.json" && base != "dataset_dict.json" {
			data = append(data, f)
		}
	}
	const limit = 6
	switch len(data) {
	case 1:
		return data[0], nil
	case 0:
		return "", fmt.Errorf("%s: has no file that can be read (%s) among %s; save it as JSON Lines first", n, strings.Join(readable, ", "), text.Plural(len(files), "file"))
	}
	slices.Sort(data)
	return "", fmt.Errorf("%s: has %s: name one, such as %s/%s; there are %s", n, text.Plural(len(data), "file"), n, data[0], text.Line(strings.Join(data[:min(limit, len(data))], ", ")))
}

// list gives the files of a repository: as the hub says, or as far as the cache
// has them where no hub can be asked.
func (h hub) list(n Name) ([]string, error) {
	var kept []string
	if commit := h.commit(n); commit != "" {
		kept = filesBelow(filepath.Join(h.folder(n), "snapshots", commit))
	}
	if h.offline {
		if len(kept) == 0 {
			return nil, h.forbiddenError(n)
		}
		return kept, nil
	}
	ctx := untilStopped()
	answer, err := h.get(ctx, http.MethodGet, h.endpoint+"/api/datasets/"+n.Repo+"/revision/"+url.PathEscape(n.Revision))
	if err != nil && len(kept) > 0 && ctx.Err() == nil {
		return kept, nil
	}
	if err != nil {
		return nil, h.unreachableError(ctx, n, err)
	}
	defer answer.Body.Close()
	if err := h.statusError(n, answer); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, maxListing+1))
	if err != nil {
		return nil, h.unreachableError(ctx, n, err)
	}
	if len(content) > maxListing {
		return nil, fmt.Errorf("%s: its list of files is longer than %s: name the file, as in %s/FILE", n, text.Bytes(maxListing), n)
	}
	var listing struct {
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(content), &listing); err != nil {
		return nil, fmt.Errorf("%s: %s does not answer as a Hugging Face hub does: check HF_ENDPOINT", n, h.host())
	}
	var files []string
	for _, s := range listing.Siblings {
		if filepath.IsLocal(filepath.FromSlash(s.Name)) {
			files = append(files, s.Name)
		}
	}
	return files, nil
}

// filesBelow lists the files of a snapshot.
func filesBelow(dir string) (files []string) {
	filepath.WalkDir(dir, func(p string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if name, err := filepath.Rel(dir, p); err == nil {
				files = append(files, filepath.ToSlash(name))
			}
		}
		return nil
	})
	return files
}

// Package kube takes a command of redline and how many workers send its load, and
// gives the Kubernetes manifests that run them: text for kubectl apply. It knows
// Kubernetes's names and quoting, and nothing of what the command does.
package kube

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// Spec is what to run, and where. Its fields are flags of redline kube.
type Spec struct {
	Name    string // of the run, and the beginning of every object's
	Image   string
	Workers int
	// NATS is the address of a server of its own; "": the conductor embeds one.
	NATS string
	// TokenSecret has the join token under the key token.
	TokenSecret string
	// SecretEnv are variables as NAME=SECRET/KEY.
	SecretEnv []string
	// Claim is a volume claim that exists; "": one of Size is made.
	Claim, Size string
	// Files is a ConfigMap whose files conductor and workers find in FilesPath.
	Files  string
	CPU    int
	Memory string
	// ServerPods and Nodes are labels as key=value,key=value.
	ServerPods, Nodes string
	OnePerNode        bool
	Deadline          time.Duration
	// Args are the command, without the word redline.
	Args []string
}

// FilesPath is where the files of a ConfigMap are in every container, ResultsPath
// where the command runs and its results are kept.
const (
	FilesPath   = "/etc/redline"
	ResultsPath = "/work"
)

const natsPort = 4222

//go:embed manifests.yaml
var source string

// view is a Spec as the manifests need it.
type view struct {
	Spec
	Secrets           []secretEnv
	ServerPods, Nodes map[string]string
	Port, Seconds     int
	Address           string // where workers meet the conductor
	ResultsClaim      string
	FilesPath         string
	ResultsPath       string
}

type secretEnv struct{ Env, Secret, Key string }

// Manifests are all objects as YAML, or what is wrong with the Spec.
func (s Spec) Manifests() ([]byte, error) {
	v, err := s.checkedView()
	if err != nil {
		return nil, err
	}
	t := template.New("manifests").Funcs(template.FuncMap{"q": quote, "escape": escape, "labels": flow})
	t.Funcs(template.FuncMap{"include": func(name string, indent int, v *view) (string, error) {
		var b bytes.Buffer
		err := t.ExecuteTemplate(&b, name, v)
		return strings.ReplaceAll(b.String(), "\n", "\n"+strings.Repeat(" ", indent)), err
	}})
	if _, err := t.Parse(source); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, v)
	return b.Bytes(), err
}

// SecretCommand makes the Secret of the join token.
func (s Spec) SecretCommand() string {
	return fmt.Sprintf(`kubectl create secret generic %s --from-literal=token="$(openssl rand -hex 16)"`, s.TokenSecret)
}

// view gives what the fields of the Spec amount to; they were checked.
func (s Spec) view() *view {
	v := &view{Spec: s, Port: natsPort, Seconds: int(s.Deadline.Seconds()), ResultsClaim: s.Claim, FilesPath: FilesPath, ResultsPath: ResultsPath,
		Address: s.NATS, Nodes: labels(s.Nodes), ServerPods: labels(s.ServerPods)}
	if s.Claim == "" {
		v.ResultsClaim = s.Name + "-results"
	}
	if s.NATS == "" {
		v.Address = fmt.Sprintf("tls://%s:%d", s.Name, natsPort)
	} else if u, err := url.Parse(s.NATS); err == nil && u.Port() != "" {
		v.Port, _ = strconv.Atoi(u.Port()) // a URL has no other
	}
	for _, given := range s.SecretEnv {
		name, from, _ := strings.Cut(given, "=")
		secret, key, _ := strings.Cut(from, "/")
		v.Secrets = append(v.Secrets, secretEnv{name, secret, key})
	}
	return v
}

// labels are those of a list that was checked, nil of none.
func labels(list string) map[string]string {
	if list == "" {
		return nil
	}
	all := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		key, value, _ := strings.Cut(pair, "=")
		all[key] = value
	}
	return all
}

// flow writes labels in one line.
func flow(all map[string]string) string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		pairs = append(pairs, quote(key)+": "+quote(all[key]))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// quote makes any text a string of YAML: its escapes are among those that YAML
// has between double quotes, in all versions.
func quote(s string) string { return strconv.QuoteToASCII(s) }

// escape keeps Kubernetes from putting variables, such as the join token, into an
// argument: $$ is a $ to it.
func escape(s string) string { return strings.ReplaceAll(s, "$", "$$") }

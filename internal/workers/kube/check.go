package kube

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"redline/internal/text"
)

var (
	// nameForm is of a Service, whose name is the strictest.
	nameForm     = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
	objectForm   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	keyForm      = regexp.MustCompile(`^[-._a-zA-Z0-9]{1,253}$`)
	variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// imageForm is a registry, a repository of lower case, a tag, a digest.
	imageForm = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]{1,5})?/)?[a-z0-9]+(([._/]|__|-+)[a-z0-9]+)*` +
		`(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@sha(256|512):[0-9a-f]{64,128})?$`)
	amountForm = regexp.MustCompile(`^[1-9][0-9]{0,9}(Ki|Mi|Gi|Ti|k|M|G|T)?$`)
	labelForm  = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?=([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
)

const (
	// maxName leaves room for -conductor, and for -workers- with an index.
	maxName    = 40
	maxWorkers = 10_000
	// The words before what is wrong.
	wantName  = "expected the name of a %s: lower-case letters, digits and -, got %s"
	wantLabel = "expected labels as key=value,key=value, such as %s, got %s"
)

// ownVariables are those that the manifests set.
var ownVariables = []string{"HOME", "JOB_COMPLETION_INDEX", "REDLINE_JOIN_TOKEN", "REDLINE_NATS", "REDLINE_NATS_LISTEN", "REDLINE_WORKERS", "REDLINE_WORKERS_WAIT"}

// checkedView is what the manifests are made of, or the first mistake.
func (s Spec) checkedView() (*view, error) {
	for _, check := range []func() error{s.checkRun, s.checkObjects, s.checkPods, s.checkSecrets, s.checkArgs} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return s.view(), nil
}

func (s Spec) checkRun() error {
	switch {
	case s.Image == "":
		return fmt.Errorf("--image: expected an image with redline that the cluster can pull, before the command: redline kube --image registry.example.org/redline:v1 --workers 4 -- run …; make dist makes one (redline-image.tar)")
	case !imageForm.MatchString(s.Image):
		return fmt.Errorf("--image: expected the name of an image such as registry.example.org/redline:v1, its repository in lower case, got %s", text.Quote(s.Image))
	case s.Workers < 1 || s.Workers > maxWorkers:
		return fmt.Errorf("--workers: expected how many pods send the load, 1 to %d, got %d", maxWorkers, s.Workers)
	case !nameForm.MatchString(s.Name) || len(s.Name) > maxName:
		return fmt.Errorf("--name: expected a name of at most %d lower-case letters, digits and -, a letter first, such as redline-nightly, got %s", maxName, text.Quote(s.Name))
	case s.Deadline < time.Second:
		return fmt.Errorf("--deadline: expected a time above 1s, such as 6h, got %v", s.Deadline)
	}
	return nil
}

func (s Spec) checkObjects() error {
	for _, o := range []struct{ flag, kind, name string }{
		{"token-secret", "Secret", s.TokenSecret}, {"claim", "PersistentVolumeClaim", s.Claim}, {"files", "ConfigMap", s.Files}} {
		if o.name == "" && o.flag != "token-secret" {
			continue
		}
		if !objectName(o.name) {
			return fmt.Errorf("--%s: "+wantName, o.flag, o.kind, text.Quote(o.name))
		}
	}
	return nil
}

func objectName(name string) bool { return len(name) <= 253 && objectForm.MatchString(name) }

func (s Spec) checkPods() error {
	switch {
	case s.CPU < 1:
		return fmt.Errorf("--cpu: expected whole CPUs, 1 or more: only those can be a pod's own; got %d", s.CPU)
	case !amountForm.MatchString(s.Memory):
		return fmt.Errorf("--memory: expected an amount such as 2Gi, got %s", text.Quote(s.Memory))
	case s.Claim == "" && !amountForm.MatchString(s.Size):
		return fmt.Errorf("--size: expected an amount such as 10Gi, got %s", text.Quote(s.Size))
	}
	for _, l := range []struct{ flag, such, list string }{{"server-pods", "app=vllm", s.ServerPods}, {"nodes", "pool=load", s.Nodes}} {
		if l.list == "" {
			continue
		}
		for pair := range strings.SplitSeq(l.list, ",") {
			if !labelForm.MatchString(pair) {
				return fmt.Errorf("--%s: "+wantLabel, l.flag, l.such, text.Quote(l.list))
			}
		}
	}
	return nil
}

// checkSecrets never shows what was given: it may be the secret itself.
func (s Spec) checkSecrets() error {
	for _, given := range s.SecretEnv {
		name, from, _ := strings.Cut(given, "=")
		secret, key, _ := strings.Cut(from, "/")
		if !variableForm.MatchString(name) || !objectName(secret) || !keyForm.MatchString(key) {
			return fmt.Errorf("--secret-env: expected NAME=SECRET/KEY, such as OPENAI_API_KEY=llm/api-key: the Secret's name and key, never the value")
		}
		if slices.Contains(ownVariables, name) {
			return fmt.Errorf("--secret-env: %s is a variable that redline kube sets itself: leave it out; --token-secret names the Secret of the join token", name)
		}
	}
	return nil
}

func (s Spec) checkArgs() error {
	for _, arg := range s.Args {
		if !utf8.ValidString(arg) {
			return fmt.Errorf("%s is not UTF-8, which a manifest has to be", text.Quote(arg))
		}
	}
	return nil
}

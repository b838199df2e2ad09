package main

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/drive/client"
	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/traffic/hub"
	"redline/internal/workers/kube"
)

// inner is the command that the conductor will run.
type inner struct {
	command *cobra.Command
	given   map[string][]string // options
	words   []string            // what is no flag
}

// innerCommand reads a command as the pod's redline will; nil where it asks for
// its help, which is shown.
func (p *process) innerCommand(args []string) (*inner, error) {
	if len(args) == 0 {
		return nil, usage("give the command to run after --, such as: redline kube --image IMAGE --workers 4 -- sweep --url http://vllm:8000 --find-limit --slo 'ttft:p99<500ms'")
	}
	root := (&process{page: p.page}).root()
	root.SetOut(p.stdout)
	c, rest, err := root.Find(args)
	if err != nil || c == root {
		return nil, unknownCommand(root, args[0])
	}
	if !conducts(c) {
		return nil, usage("%s has no load that workers could send; these have: %s", c.CommandPath(), conductors(root))
	}
	if err := c.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) {
		return nil, c.Help()
	} else if err != nil {
		return nil, flagMistake(c, err)
	}
	in := &inner{command: c, given: map[string][]string{}, words: c.Flags().Args()}
	c.Flags().Visit(func(f *pflag.Flag) {
		if v, ok := f.Value.(flagValue); ok {
			in.given[f.Name] = *v.given
		}
	})
	return in, c.ValidateArgs(in.words)
}

// conducts reports whether workers can do a command's work. What tune starts is
// a server in the conductor's own pod.
func conducts(c *cobra.Command) bool {
	f := c.Flags().Lookup("workers")
	if f == nil {
		return false
	}
	_, option := f.Value.(flagValue)
	return option && c.Name() != "tune"
}

func conductors(root *cobra.Command) string {
	var names []string
	for _, c := range root.Commands() {
		if conducts(c) {
			names = append(names, c.Name())
		}
	}
	return strings.Join(names, ", ")
}

// check finds what only a pod would find, and what must not be in a manifest.
func (in *inner) check(s *kube.Spec) error {
	for _, flag := range []string{"workers", "nats", "nats-listen"} {
		if in.given[flag] != nil {
			return usage("--%s: leave it out behind --: redline kube sets it for conductor and workers alike", flag)
		}
	}
	for i := range config.Options {
		if o := &config.Options[i]; in.given[o.Flag] != nil {
			if err := checkInner(o, in.given[o.Flag], s); err != nil {
				return err
			}
		}
	}
	if err := public("the address of a server", "REDLINE_HEADER", map[string][]string{"url": in.words}); err != nil {
		return err
	}
	if err := in.checkOutput(); err != nil {
		return err
	}
	return in.checkServers(s)
}

// checkServers wants a server, outside the conductor.
func (in *inner) checkServers(s *kube.Spec) error {
	if resume := in.command.Flags().Lookup("resume"); resume != nil && resume.Changed {
		return nil
	}
	if in.command.Name() == "compare" {
		if len(in.words) != 2 || !isURL(in.words[0]) || !isURL(in.words[1]) {
			return usage("%s: expected the URLs of two servers: workers send no load to stored runs; compare those where they are, without redline kube", in.command.CommandPath())
		}
		return nil
	}
	if in.given["url"] == nil && in.given["plan"] == nil && in.given["on-url"] == nil && len(in.words) == 0 && !fromSecret(s, "REDLINE_URL") {
		return usage("%s: expected --url with the server to load: the embedded engine is in the conductor's pod, where no worker reaches it", in.command.CommandPath())
	}
	return nil
}

// fromSecret reports whether pods have a variable.
func fromSecret(s *kube.Spec, name string) bool {
	return slices.ContainsFunc(s.SecretEnv, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

// checkInner looks at one option of the command.
func checkInner(o *config.Option, values []string, s *kube.Spec) error {
	if err := public("--"+o.Flag, o.Env(), map[string][]string{o.Flag: values}); err != nil {
		return err
	}
	if name := values[0]; o.Flag == "api-key-env" && !fromSecret(s, name) {
		return usage("--%s: no pod has the variable %s: name the Secret with its value before --: --secret-env %s=SECRET/KEY", o.Flag, name, name)
	}
	for _, value := range values {
		name := text.Shell(value)
		switch {
		case strings.HasPrefix(value, kube.FilesPath+"/"):
			if s.Files == "" {
				return usage("--%s: no pod has the file %s: kubectl create configmap NAME --from-file %s, then --files NAME before --", o.Flag, name, text.Shell(path.Base(value)))
			}
		case isMissingFile(o, value):
			return usage("--%s: no pod has the file %s: kubectl create configmap NAME --from-file %s, then --files NAME before --, and --%s %s behind it",
				o.Flag, name, name, o.Flag, text.Shell(kube.FilesPath+"/"+path.Base(filepath.ToSlash(value))))
		}
	}
	return nil
}

// isMissingFile reports whether a value is a file that pods do not have. Those of
// absolute paths that are not here may be part of the image, or among the results,
// which workers do not see.
func isMissingFile(o *config.Option, value string) bool {
	var file, workers bool // whether it can be nothing but a file, and whether workers read it
	switch {
	case o.Flag == "workload":
		cfg, err := configFromFlags(map[string][]string{o.Flag: {value}})
		file, workers = err == nil && cfg.Workload.File != "" && !strings.HasPrefix(value, hub.Prefix), true
	case o.Flag == "tokenizer":
		file, workers = strings.HasSuffix(value, ".json") && !strings.HasPrefix(value, hub.Prefix), true
	case o.Value == "FILE":
		file, workers = !slices.Contains(o.Values, value), strings.HasPrefix(o.Key, "provider.tls.")
	case !strings.Contains(o.Value, "FILE"):
		return false
	}
	info, err := os.Stat(value)
	return err == nil && info.Mode().IsRegular() || file && (!path.IsAbs(value) || workers && strings.HasPrefix(value, kube.ResultsPath+"/"))
}

// checkOutput refuses paths that a pod cannot write to.
func (in *inner) checkOutput() error {
	written := map[string][]string{"out": in.given["out"]}
	for _, f := range reportFormats {
		if flag := in.command.Flags().Lookup(f.name); flag != nil && flag.Changed {
			written[f.name] = []string{flag.Value.String()}
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(written)) {
		for _, given := range written[flag] {
			at := path.Clean(given)
			if !path.IsAbs(at) {
				at = path.Join(kube.ResultsPath, at)
			}
			if !strings.HasPrefix(at, kube.ResultsPath+"/") && !strings.HasPrefix(at, "/tmp/") {
				return usage("--%s: a pod can write to %s, which is kept, and to /tmp alone: give a path in %s, got %s", flag, kube.ResultsPath, kube.ResultsPath, text.Quote(given))
			}
		}
	}
	return nil
}

// public refuses values that are wrong, and those that hold a secret: whoever may
// read a Job would read it.
func public(what, env string, given map[string][]string) error {
	cfg, err := configFromFlags(given)
	if err != nil {
		return err
	}
	secret := cfg.HasSecret()
	for _, values := range given {
		secret = secret || slices.ContainsFunc(values, func(v string) bool {
			u, err := url.Parse(v)
			return err == nil && u.User != nil
		})
	}
	if secret {
		return usage("%s holds a secret, which a manifest would show: keep that in a Secret, as the value of %s, and name it: --secret-env %s=SECRET/KEY", what, env, env)
	}
	return nil
}

// unreachable says which servers and files pods will probably not reach.
func (in *inner) unreachable(s *kube.Spec) (lines []string) {
	for _, given := range slices.Concat(in.given["url"], in.given["on-url"], in.given["off-url"], in.words) {
		u, err := url.Parse(client.Address(given))
		if err != nil {
			continue
		}
		switch ip := net.ParseIP(u.Hostname()); {
		case u.Hostname() == "localhost" || ip != nil && ip.IsLoopback():
			lines = append(lines, u.Host+" is the pod itself, in a pod: give the name of the server's Service")
		case s.ServerPods != "" && (ip != nil || outside(u.Hostname())):
			lines = append(lines, fmt.Sprintf("%s does not look like a Service, and with --server-pods nothing goes out but to the pods %s: give the name of their Service, such as vllm.default.svc, or leave out --server-pods",
				u.Host, s.ServerPods))
		}
	}
	for _, flag := range []string{"workload", "tokenizer"} {
		for _, given := range in.given[flag] {
			if s.ServerPods != "" && strings.HasPrefix(given, hub.Prefix) {
				lines = append(lines, fmt.Sprintf("--%s: with --server-pods nothing goes out but to the pods %s, so %s cannot be fetched: put the file into a ConfigMap (--files) or the image, or leave out --server-pods",
					flag, s.ServerPods, given))
			}
		}
	}
	return lines
}

// outside reports whether a host has a name that Services do not have.
func outside(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return strings.Contains(host, ".") && !strings.HasSuffix(host, ".svc") && !strings.Contains(host, ".svc.") && !strings.HasSuffix(host, ".cluster.local")
}

package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"redline/internal/plan/config"
	"redline/internal/run/kube"
	"redline/internal/text"
)

const kubeHelp = `Print the Kubernetes manifests that run a command with several workers: a Job
of workers, a Job of the conductor, a Service for the NATS server inside it, a
claim for the results, a network policy. Nothing is sent to the cluster: pipe
them to kubectl apply -f -.

The join token and API keys stand in Secrets, which the manifests only name.
docs/KUBERNETES.md says how to get the results out, and why pods are pinned.`

const kubeExamples = `  redline kube --image registry.example.org/redline:v1 --workers 4 -- sweep --url http://vllm:8000 --slo 'ttft:p99<500ms' --find-limit | kubectl apply -f -
  redline kube --image registry.example.org/redline:v1 --workers 2 --server-pods app=vllm --nodes pool=load -- doctor --url http://vllm:8000
  redline kube --image registry.example.org/redline:v1 --workers 8 --nats nats://nats:4222 --secret-env OPENAI_API_KEY=llm/api-key -- run --url http://gateway:8000 --rate 400 --duration 5m
  redline kube --image registry.example.org/redline:v1 --workers 4 --files plans -- bench --plan /etc/redline/plan.yaml`

func (p *process) kubeCommand() *cobra.Command {
	c := &cobra.Command{Use: "kube [flags] -- COMMAND", SuggestFor: []string{"kubernetes", "k8s", "helm", "kubectl", "manifests"},
		Short: "print Kubernetes manifests that run a command with several workers", Long: kubeHelp, Example: kubeExamples}
	s := &kube.Spec{}
	f := c.Flags()
	f.SortFlags = false
	f.SetInterspersed(false)
	f.StringVar(&s.Image, "image", "", "image that has redline; the same for conductor and workers")
	f.IntVar(&s.Workers, "workers", 0, "pods that send the load")
	f.StringVar(&s.Name, "name", "redline", "name of the run in the cluster")
	f.IntVar(&s.CPU, "cpu", 2, "whole CPUs of each pod, requested and the limit")
	f.StringVar(&s.Memory, "memory", "2Gi", "memory of each pod, requested and the limit")
	f.StringVar(&s.ServerPods, "server-pods", "", "labels of the pods under test, such as app=vllm: no pod of redline runs on their nodes, or connects to anything else")
	f.StringVar(&s.Nodes, "nodes", "", "labels of the nodes to run on, such as pool=load")
	f.BoolVar(&s.OnePerNode, "one-per-node", false, "leave pods of redline pending rather than put two on a node")
	f.StringVar(&s.TokenSecret, "token-secret", "redline-join-token", "Secret with the join token, under the key token")
	f.StringArrayVar(&s.SecretEnv, "secret-env", nil, "variable with a value from a Secret, such as OPENAI_API_KEY=llm/api-key; may be repeated")
	f.StringVar(&s.Files, "files", "", "ConfigMap with files for the command, found in "+kube.FilesPath)
	f.StringVar(&s.Claim, "claim", "", "PersistentVolumeClaim that exists, for the results (default: a new one of --size)")
	f.StringVar(&s.Size, "size", "10Gi", "size of a new claim")
	f.StringVar(&s.NATS, "nats", "", "NATS server of your own (default: one inside the conductor)")
	f.DurationVar(&s.Deadline, "deadline", 6*time.Hour, "time after which the cluster ends both Jobs")
	c.RunE = func(_ *cobra.Command, args []string) error {
		s.Args = args
		return p.manifests(s)
	}
	return c
}

// manifests prints them, and on stderr what has to be there first.
func (p *process) manifests(s *kube.Spec) error {
	if s.NATS != "" {
		if err := config.NATSAddress(s.NATS); err != nil {
			return usage("--nats: %v", err)
		}
	}
	inner, err := innerCommand(s.Args)
	if err != nil {
		return err
	}
	out, err := s.Manifests()
	if err != nil {
		return usage("%v", err)
	}
	if err := inner.check(s); err != nil {
		return err
	}
	for _, host := range inner.loopback() {
		fmt.Fprintf(p.stderr, "redline: %s is the pod itself, in a pod: give the name of the server's Service\n", p.line(host))
	}
	fmt.Fprintf(p.stderr, "redline: these need the Secret of the join token; once in each namespace: %s\n", s.SecretCommand())
	_, err = p.stdout.Write(out)
	return err
}

// inner is the command that the conductor will run.
type inner struct {
	command *cobra.Command
	given   map[string][]string // options
	words   []string            // what is no flag
}

// innerCommand reads a command as the pod's redline will.
func innerCommand(args []string) (*inner, error) {
	if len(args) == 0 {
		return nil, usage("want the command to run behind --, such as: redline kube --image IMAGE --workers 4 -- sweep --url http://vllm:8000 --find-limit --slo 'ttft:p99<500ms'")
	}
	root := (&process{}).root()
	c, rest, err := root.Find(args)
	if err != nil || c == root {
		return nil, unknownCommand(root, args[0])
	}
	if !conducts(c) {
		return nil, usage("%s has no load that workers could send; these have: %s", c.CommandPath(), conductors(root))
	}
	if err := c.ParseFlags(rest); err != nil {
		return nil, usage("%v; %s", err, flagHint(c, err))
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
			if err := checkInner(o, in.given[o.Flag]); err != nil {
				return err
			}
		}
	}
	if err := public("the address of a server", "REDLINE_HEADER", map[string][]string{"url": in.words}); err != nil {
		return err
	}
	named := func(name string) bool {
		return in.given[name] != nil || slices.ContainsFunc(s.SecretEnv, func(v string) bool { return strings.HasPrefix(v, "REDLINE_URL=") })
	}
	if resume := in.command.Flags().Lookup("resume"); !named("url") && !named("plan") && !named("on-url") && len(in.words) == 0 && (resume == nil || !resume.Changed) {
		return usage("%s: want --url with the server to load: the embedded engine is in the conductor's pod, where no worker reaches it", in.command.CommandPath())
	}
	return nil
}

// checkInner looks at one option of the command.
func checkInner(o *config.Option, values []string) error {
	if err := public("--"+o.Flag, o.Env(), map[string][]string{o.Flag: values}); err != nil {
		return err
	}
	if !strings.Contains(o.Value, "FILE") && o.Flag != "workload" && o.Flag != "tokenizer" {
		return nil
	}
	for _, value := range values {
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() && !strings.HasPrefix(value, kube.FilesPath+"/") {
			name := text.Shell(value)
			return usage("--%s: %s is a file of this machine, which no pod has: kubectl create configmap NAME --from-file %s, then --files NAME before --, and --%s %s/… behind it",
				o.Flag, name, name, o.Flag, kube.FilesPath)
		}
	}
	return nil
}

// public refuses values that are wrong, and those that hold a secret: whoever may
// read a Job would read it.
func public(what, env string, given map[string][]string) error {
	cfg, err := only(given)
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

// loopback are the servers that would be looked for in the pod itself.
func (in *inner) loopback() (hosts []string) {
	for _, given := range slices.Concat(in.given["url"], in.given["on-url"], in.given["off-url"], in.words) {
		u, err := url.Parse(given)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
			hosts = append(hosts, u.Host)
		}
	}
	return hosts
}

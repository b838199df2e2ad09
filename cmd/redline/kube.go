package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"redline/internal/plan/config"
	"redline/internal/text"
	"redline/internal/workers/kube"
)

const kubeHelp = `Print the Kubernetes manifests that run a command with several workers: a Job
of workers, a Job of the conductor, a Service for the NATS server inside it, a
claim for the results, a network policy. Nothing is sent to the cluster: pipe
them to kubectl apply -f -.

The join token and API keys stand in Secrets, which the manifests only name.
docs/reference/WORKERS.md says how to get the results out, and why pods are
pinned.`

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
		if strings.Contains(s.NATS, ",") {
			return usage("--nats: expected one address, that of the Service before the servers, got %s", text.Quote(s.NATS))
		}
	}
	inner, err := p.innerCommand(s.Args)
	if err != nil || inner == nil {
		return err
	}
	out, err := s.Manifests()
	if err != nil {
		return usage("%v", err)
	}
	if err := inner.check(s); err != nil {
		return err
	}
	for _, line := range inner.unreachable(s) {
		fmt.Fprintln(p.stderr, "redline:", p.line(line))
	}
	fmt.Fprintf(p.stderr, "redline: these need the Secret of the join token; once in each namespace: %s\n", s.SecretCommand())
	_, err = p.stdout.Write(out)
	return err
}

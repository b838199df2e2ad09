//go:build unix

package accelerator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
)

// Tools run under a guard, which is this program in another role.
// script writes a tool that says its process id into a file and then does what
// the body says; $PIDS and $ONCE are its own.
func script(t *testing.T, name, body string) (path, pids string) {
	t.Helper()
	dir := t.TempDir()
	path, pids = filepath.Join(dir, name), filepath.Join(dir, "pids")
	text := fmt.Sprintf("#!/bin/sh\nONCE=%s/once\necho $$ >> %s\n%s\n", dir, pids, body)
	must.Do(t, os.WriteFile(path, []byte(text), 0o755))
	return path, pids
}

// rows is a shell function that prints one look at two devices.
const rows = `rows() {
echo "0, 2, NVIDIA H200, 580.1, 90, 20, 1000, 143771, 1500, 3201, 600.50, 60, 0x0000000000000004"
echo "1, 2, NVIDIA H200, 580.1, 80, 20, 1000, 143771, 1700, 3201, 500.25, 58, 0x0000000000000000"
}
case "$1" in --version) echo "CUDA Version : 13.0"; exit 0;; esac
`

// options runs a script by its shell: a file that was just written may be busy
// when it is run itself.
func options(path string) Options {
	source, _ := telemetry.ParseAccelerator("sh '" + path + "'")
	return Options{Source: source, Every: 10 * time.Millisecond,
		startWithin: 20 * time.Second, minSilence: 20 * time.Second, pauseBetween: time.Millisecond}
}

// await waits for a watch to have what is asked for, as long as it takes.
func await(t *testing.T, w *Watch, what string, ok func([]telemetry.AcceleratorReading) bool) []telemetry.AcceleratorReading {
	t.Helper()
	for range 3000 {
		if all := w.Readings(); ok(all) {
			return all
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s never came: %+v", what, w.Readings())
	return nil
}

// alive lists the processes of a script that still run.
func alive(t *testing.T, pids string) []int {
	t.Helper()
	text := must.Read(t, pids)
	var left []int
	for word := range strings.FieldsSeq(string(text)) {
		pid := must.Get(strconv.Atoi(word))(t)
		if err := syscall.Kill(pid, 0); err == nil || !errors.Is(err, syscall.ESRCH) {
			left = append(left, pid)
		}
	}
	return left
}

func good(n int) func([]telemetry.AcceleratorReading) bool {
	return func(all []telemetry.AcceleratorReading) bool {
		seen := 0
		for _, r := range all {
			if r.Failed == "" {
				seen++
			}
		}
		return seen >= n
	}
}

func hasFailures(n int) func([]telemetry.AcceleratorReading) bool {
	return func(all []telemetry.AcceleratorReading) bool { return len(all)-count(all, good(1)) >= n }
}

func count(all []telemetry.AcceleratorReading, one func([]telemetry.AcceleratorReading) bool) (n int) {
	for i := range all {
		if one(all[i : i+1]) {
			n++
		}
	}
	return n
}

func TestToolThatStreams(t *testing.T) {
	t.Parallel()
	path, pids := script(t, "nvidia-smi", rows+"while :; do rows; sleep 0.05; done")
	var kept bytes.Buffer
	log := must.Get(telemetry.NewLog(&kept, telemetry.Header{Run: "r"}))(t)
	o := options(path)
	o.Log = log
	w := Start(clock.New(), o)
	must.Do(t, w.Settle(context.Background()))
	w.StartLoad()
	await(t, w, "the CUDA version", func(all []telemetry.AcceleratorReading) bool {
		b := telemetry.BoardBy(all, 1<<62)
		return b != nil && b.CUDA == "13.0" && !all[len(all)-1].Idle
	})
	w.Stop()
	if left := alive(t, pids); left != nil {
		t.Errorf("left behind: %v", left)
	}
	all := w.Readings()
	want := []telemetry.DeviceReading{
		{Utilization: new(0.9), MemoryTime: new(0.2), MemoryMB: new(1000.0), ClockMHz: new(1500.0), MemoryClockMHz: new(3201.0), TemperatureC: new(60.0),
			Watts: new(600.5), Throttles: true, Throttled: []string{"sw_power_cap"}},
		{Utilization: new(0.8), MemoryTime: new(0.2), MemoryMB: new(1000.0), ClockMHz: new(1700.0), MemoryClockMHz: new(3201.0), TemperatureC: new(58.0),
			Watts: new(500.25), Throttles: true},
	}
	boards := 0
	for _, r := range all {
		if diff := cmp.Diff(want, r.Devices); diff != "" {
			t.Fatal(diff)
		}
		if r.Board != nil {
			boards++
		}
	}
	if boards < 1 || boards > 2 {
		t.Errorf("what the devices are is told %d times", boards)
	}
	if !all[0].Idle || all[len(all)-1].Idle {
		t.Error("the load's beginning is not marked")
	}
	logged := must.Get(telemetry.ReadLog(&kept))(t)
	expect.NoDiff(t, cmp.Diff(all, logged.Accelerators()), "the log differs")
}

// Whatever a tool does, the watch goes on, says what was wrong, and leaves no
// process behind.
func TestToolsThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, body string
		until      func([]telemetry.AcceleratorReading) bool
		says       string // of the first failure
		starts     int    // at most, beside those that only ask for versions
	}{
		{"prints garbage", "echo hello; echo 1,2,3; exec sleep 60", hasFailures(1), "nvidia-smi: says nothing more, its last word: 1,2,3", maxStarts},
		{"dies at once", "echo 'No devices were found'; exit 6", hasFailures(maxStarts), "nvidia-smi: ended with exit status 6, its last word: No devices were found", maxStarts},
		{"complains", "echo 'ssh: no route to host' >&2; exit 255", hasFailures(maxStarts), "nvidia-smi: ended with exit status 255: ssh: no route to host", maxStarts},
		{"hangs", "exec sleep 60", hasFailures(2), "nvidia-smi: says nothing more", maxStarts},
		{"falls silent, with a child", "rows; sleep 60 & wait", func(all []telemetry.AcceleratorReading) bool { return good(1)(all) && hasFailures(1)(all) }, "nvidia-smi: says nothing more", maxStarts},
		{"dies once", "rows; rows; [ -e $ONCE ] && exec sleep 60; touch $ONCE; exit 1", func(all []telemetry.AcceleratorReading) bool { return good(4)(all) && hasFailures(1)(all) },
			"nvidia-smi: ended with exit status 1", maxStarts},
		{"endless line", "yes | tr -d '\\n'", hasFailures(1), "nvidia-smi: writes a line of more than 64 KiB", maxStarts},
		{"other columns", `case "$*" in *event_reasons*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2;; esac; while :; do rows; sleep 0.05; done`,
			good(1), "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path, pids := script(t, "nvidia-smi", rows+c.body)
			o := options(path)
			if strings.Contains(c.says, "says nothing more") {
				o.startWithin, o.minSilence = 2*time.Second, 2*time.Second
			}
			w := Start(clock.New(), o)
			all := await(t, w, "the failure", c.until)
			w.Stop()
			if left := alive(t, pids); left != nil {
				t.Errorf("left behind: %v", left)
			}
			for _, r := range all {
				if r.Failed != "" {
					if r.Failed != c.says {
						t.Errorf("says %q, want %q", r.Failed, c.says)
					}
					break
				}
			}
			if got := count(w.Readings(), hasFailures(1)); got > c.starts {
				t.Errorf("failed %d times", got)
			}
		})
	}
}

func TestNoTool(t *testing.T) {
	t.Parallel()
	w := Start(clock.New(), Options{Source: telemetry.AcceleratorSource{Kind: "nvidia-smi", Command: []string{"no-such-tool-here", "nvidia-smi"}}})
	defer w.Stop()
	if err := w.Settle(context.Background()); err == nil || err.Error() != "nvidia-smi: is not on the PATH" {
		t.Error(err)
	}
}

// Arguments go behind the user's own, through whatever runs the tool.
func TestToolBehindACommand(t *testing.T) {
	t.Parallel()
	tool, _ := script(t, "nvidia-smi", rows+`echo "$@" >> $ONCE; while :; do rows; sleep 0.05; done`)
	source := must.Get(telemetry.ParseAccelerator("env X='a b' sh " + tool + " -i 0,1"))(t)
	o := options(tool)
	o.Source = source
	w := Start(clock.New(), o)
	await(t, w, "a reading", good(2))
	w.Stop()
	text, err := os.ReadFile(filepath.Join(filepath.Dir(tool), "once"))
	if err != nil || !strings.HasPrefix(string(text), "-i 0,1 --query-gpu=index,count,name,") || !strings.HasSuffix(string(text), " --format=csv,noheader,nounits -lms 10\n") {
		t.Errorf("called with %q %v", text, err)
	}
}

func TestAMDToolIsPolled(t *testing.T) {
	t.Parallel()
	data := must.Get(filepath.Abs("testdata/amd-smi.json"))(t)
	path, pids := script(t, "amd-smi", `case "$1" in static) echo '[{"gpu":0,"asic":{"market_name":"MI300X"}}]';; metric) cat `+data+`;; esac`)
	w := Start(clock.New(), options(path))
	all := await(t, w, "a reading", good(1))
	w.Stop()
	if all[0].Source != "amd-smi" || all[0].Board.Names[0] != "MI300X" || *all[0].Devices[0].Watts != 612 {
		t.Errorf("%+v", all[0])
	}
	if left := alive(t, pids); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

func TestAMDToolThatHangs(t *testing.T) {
	t.Parallel()
	path, pids := script(t, "amd-smi", "sleep 60 & wait")
	o := options(path)
	o.startWithin = 2 * time.Second
	w := Start(clock.New(), o)
	all := await(t, w, "a failure", hasFailures(1))
	w.Stop()
	if want := "amd-smi: no answer within 2s"; all[0].Failed != want {
		t.Errorf("%q", all[0].Failed)
	}
	if left := alive(t, pids); left != nil {
		t.Errorf("left behind: %v", left)
	}
}

// An exporter over a real connection, whose energy counter is what counts.
func TestExporterIsPolled(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := asked.Add(1)
		if n == 2 {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu=\"0\"} %d\nDCGM_FI_DEV_GPU_UTIL{gpu=\"0\"} 50\n", 1000*n)
	}))
	defer server.Close()
	o := options("nvidia-smi")
	o.Source = telemetry.AcceleratorSource{Kind: telemetry.AcceleratorPage, URL: server.URL}
	o.Fetch = func(ctx context.Context) ([]byte, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return nil, errors.New(response.Status)
		}
		return io.ReadAll(response.Body)
	}
	w := Start(clock.New(), o)
	defer w.Stop()
	if err := w.Settle(context.Background()); err != nil && !strings.Contains(err.Error(), "503") {
		t.Fatal(err)
	}
	all := await(t, w, "readings", good(5))
	if all[1].Failed != "the exporter: 503 Service Unavailable" {
		t.Errorf("%+v", all[1])
	}
	use := telemetry.AcceleratorOver(all, all[0].At, all[4].At)
	// One joule more at every page, the second of which failed.
	if use.Source != "dcgm" || use.Samples != 4 || use.Joules == nil || *use.Joules < 3.999 || *use.Joules > 4.001 || use.Failure != all[1].Failed {
		t.Errorf("%+v", use)
	}
}

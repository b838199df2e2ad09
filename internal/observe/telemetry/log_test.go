package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
)

func fullHost() *HostUse {
	return &HostUse{Wall: time.Second, CPU: 500 * time.Millisecond, Share: 0.25, GCPause: 3, SchedP99: 4, SchedMax: 5, ClockStep: 6,
		MachineUse: MachineUse{Cores: []float64{0.25, 0.75}, MachineShare: new(0.5), StealShare: new(0.125), ThermalThrottles: new(uint64(1)),
			QuotaThrottles: new(uint64(2)), QuotaHeld: new(time.Duration(3)), OpenFiles: new(40), FileLimit: new(1024)}}
}

// TestLineIsClosedAndNamed holds the keys of a line, which a schema names too.
func TestLineIsClosedAndNamed(t *testing.T) {
	t.Parallel()
	n, h := new(1.0), &Histogram{SumS: 2, Count: 3, LE: []float64{0.5}, N: []float64{1}}
	line := Line{At: 9, Host: fullHost(), Server: &Scrape{At: 9, Took: 7, Failed: "f", BadLines: 1, Reading: &Reading{Engine: "e", Replicas: 2,
		StartedUnixS: n, Running: n, Waiting: n, KVUsage: n, PrefixHits: n, PrefixQueries: n, Preemptions: n, PromptTokens: n,
		GenerationTokens: n, Requests: n, TTFT: h, ITL: h, Queue: h, Prefill: h, Decode: h, E2E: h, Config: map[string]string{"a": "b"}}}}
	text := must.Get(json.Marshal(line))(t)
	histogram := `{"sum_s":2,"count":3,"le":[0.5],"n":[1]}`
	want := `{"at":9,"host":{"wall_ns":1000000000,"cpu_ns":500000000,"cpu_share":0.25,"gc_pause_ns":3,"sched_p99_ns":4,"sched_max_ns":5,` +
		`"clock_step_ns":6,"cores":[0.25,0.75],"machine_share":0.5,"steal_share":0.125,"thermal_throttles":1,"quota_throttles":2,` +
		`"quota_held_ns":3,"open_files":40,"file_limit":1024},"server":{"took_ns":7,"failed":"f","bad_lines":1,"reading":{"engine":"e",` +
		`"replicas":2,"started_unix_s":1,"running":1,"waiting":1,"kv_usage":1,"prefix_hits":1,"prefix_queries":1,"preemptions":1,` +
		`"prompt_tokens":1,"generation_tokens":1,"requests":1,"ttft":` + histogram + `,"itl":` + histogram + `,"queue":` + histogram +
		`,"prefill":` + histogram + `,"decode":` + histogram + `,"e2e":` + histogram + `,"config":{"a":"b"}}}}`
	expect.Same(t, want, string(text))
	var file bytes.Buffer
	subject := &Subject{Command: "redline run", Model: "m", Engine: "vllm", EngineVersion: "1", API: "openai-chat", URL: "http://h"}
	log := must.Get(NewLog(&file, Header{Run: "x", Subject: subject}))(t)
	log.Add(line)
	got := must.Get(ReadLog(&file))(t)
	expect.NoDiff(t, cmp.Diff(&LogFile{Header: Header{Schema: Schema, Run: "x", Subject: subject}, Lines: []Line{line}}, got), "read back (-want +got)")
}

func TestReadLogOfBadFiles(t *testing.T) {
	t.Parallel()
	const head = `{"schema":"redline/telemetry/1","run":"r","origin_unix_ns":1,"origin_mono_ns":2}` + "\n"
	for _, c := range []struct {
		name, text string
		lines      int
		cut        bool
		err        string
	}{
		{"empty", "", 0, false, "line 1: the telemetry log is empty"},
		{"cut in the header", head[:20], 0, false, "line 1: the telemetry log is empty"},
		{"another log", `{"schema":"redline/record/1"}` + "\n", 0, false, `line 1: schema is "redline/record/1", expected "redline/telemetry/1"`},
		{"not JSON", "hello\n", 0, false, "line 1: not a telemetry log: invalid character 'h' looking for beginning of value"},
		{"header alone", head, 0, false, ""},
		{"a killed run", head + `{"at":1}` + "\n" + `{"at":2,"ho`, 1, true, ""},
		{"a bad line in the middle", head + `{"at":1}` + "\n{\n" + `{"at":3}` + "\n", 1, false, "line 3: unexpected end of JSON input"},
	} {
		got, err := ReadLog(strings.NewReader(c.text))
		said := ""
		if err != nil {
			said = err.Error()
		}
		if said != c.err || len(got.Lines) != c.lines || got.Cut != c.cut {
			t.Errorf("%s: %d lines, cut %v, error %q; want %d, %v, %q", c.name, len(got.Lines), got.Cut, said, c.lines, c.cut, c.err)
		}
	}
}

// fullDisk takes so many writes.
type fullDisk struct {
	bytes.Buffer
	left int
}

var errFull = errors.New("no space left on device")

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left--; d.left < 0 {
		return 0, errFull
	}
	return d.Buffer.Write(p)
}

func TestLogKeepsItsFirstError(t *testing.T) {
	t.Parallel()
	if _, err := NewLog(&fullDisk{}, Header{}); !errors.Is(err, errFull) {
		t.Errorf("a log on a full disk began with %v", err)
	}
	disk := &fullDisk{left: 2}
	log := must.Get(NewLog(disk, Header{}))(t)
	log.Add(Line{At: 1})
	if log.Err() != nil {
		t.Error(log.Err())
	}
	log.Add(Line{At: 2})
	disk.left = 5
	log.Add(Line{At: 3})
	if !errors.Is(log.Err(), errFull) {
		t.Errorf("error %v, want %v", log.Err(), errFull)
	}
	got, err := ReadLog(&disk.Buffer)
	if err != nil || len(got.Lines) != 1 {
		t.Errorf("%v, %v; want the one line that was written whole", got, err)
	}
	var none *Log
	none.Add(Line{})
	if none.Err() != nil {
		t.Error("no log has an error")
	}
}

func TestLoggedHostJoinsItsLines(t *testing.T) {
	t.Parallel()
	long := fullHost()
	long.Wall, long.CPU, long.Share, long.SchedMax, long.OpenFiles = 3*time.Second, 1, 0.5, 50, new(60)
	long.MachineShare, long.Cores = new(0.75), []float64{0.5, 1}
	bare := &HostUse{Wall: time.Second, Share: 0.5, GCPause: 9}
	log := &LogFile{Lines: []Line{{At: second, Host: fullHost()}, {At: 2 * second, Server: &Scrape{}}, {At: 4 * second, Host: long}, {At: 5 * second, Host: bare}}}
	joined := HostUse{Wall: 4 * time.Second, CPU: 500*time.Millisecond + 1, Share: 0.4375, GCPause: 3, SchedP99: 4, SchedMax: 50, ClockStep: 6,
		MachineUse: MachineUse{Cores: []float64{0.4375, 0.9375}, MachineShare: new(0.6875), StealShare: new(0.125), ThermalThrottles: new(uint64(2)),
			QuotaThrottles: new(uint64(4)), QuotaHeld: new(time.Duration(6)), OpenFiles: new(60), FileLimit: new(1024)}}
	for _, c := range []struct {
		name       string
		start, end int64
		want       HostUse
	}{
		{"nothing", 7 * second, 9 * second, HostUse{}},
		{"one line", 0, second, *fullHost()},
		{"two, from the middle of one to that of the other", second / 2, 2 * second, joined},
		{"what one line lacks is not known of both", 3 * second, 5 * second, HostUse{Wall: 4 * time.Second, CPU: 1, Share: 0.5, GCPause: 9,
			SchedP99: 4, SchedMax: 50, ClockStep: 6, MachineUse: MachineUse{OpenFiles: new(60)}}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, log.Host(c.start, c.end), nearly), "%s (-want +got)", c.name)
	}
}

func FuzzReadLog(f *testing.F) {
	f.Add([]byte(`{"schema":"redline/telemetry/1"}` + "\n" + `{"at":1,"server":{"took_ns":1,"reading":{"engine":"vllm","ttft":{"le":[1],"n":[]}}}}` + "\n"))
	f.Add([]byte(`{"schema":"redline/telemetry/1"}` + "\n" + `{"at":5,"host":{"wall_ns":1,"cores":[1]}}` + "\n" + `{"at":6,"host":{"wall_ns":2}}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		log, _ := ReadLog(bytes.NewReader(text))
		log.Server(0, 10*second)
		log.Host(0, 10*second)
	})
}

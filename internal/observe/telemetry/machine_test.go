package telemetry

import (
	"bytes"
	"math"
	"os"
	"runtime"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/clock"
	"redline/internal/expect"
	"redline/internal/must"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

var sampleFields = cmp.AllowUnexported(machineSample{}, coreTime{}, growth{})

func TestMachineReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	const heat = "sys/devices/system/cpu/"
	const limits = "Limit                     Soft Limit           Hard Limit           Units\n" +
		"Max processes             7                    7                    processes\n" +
		"Max open files            1024                 524288               files\n"
	for _, c := range []struct {
		name string
		root fstest.MapFS
		want machineSample
	}{
		{"another system", fstest.MapFS{}, machineSample{}},
		{"cores, files and heat", fstest.MapFS{
			"proc/stat":        file("cpu  30 0 0 0 0 0 0 0 0 0\ncpu0 1 2 3 40 5 6 7 8 9 10\ncpu1 10 0 0 90 0 0 0 0 0 0\nintr 5 cpu\nctxt 9\n"),
			"proc/self/limits": file(limits),
			"proc/self/fd/0":   file(""),
			"proc/self/fd/17":  file(""),
			heat + "cpu0/thermal_throttle/core_throttle_count":    file("3\n"),
			heat + "cpu0/thermal_throttle/package_throttle_count": file("4\n"),
			heat + "cpu1/thermal_throttle/core_throttle_count":    file("5\n"),
		},
			machineSample{cores: []coreTime{{busy: 19, steal: 8, total: 72}, {busy: 10, total: 100}}, thermal: new(uint64(12)),
				open: new(2), limit: new(1024)}},
		{"quotas of newer control groups, with those above", fstest.MapFS{
			"proc/self/cgroup":              file("0::/a/b\n"),
			"sys/fs/cgroup/a/b/cpu.stat":    file("usage_usec 99\nnr_periods 9\nnr_throttled 2\nthrottled_usec 30\n"),
			"sys/fs/cgroup/a/cpu.stat":      file("nr_throttled 5\nthrottled_usec 4\n"),
			"sys/fs/cgroup/cpu.stat":        file("usage_usec 99\n"),
			"sys/fs/cgroup/other/cpu.stat":  file("nr_throttled 100\n"),
			"sys/fs/cgroup/a/b/c/cpu.stat":  file("nr_throttled 100\n"),
			"sys/fs/cgroup/cpu/a/cpu.stat":  file("nr_throttled 100\n"),
			"sys/fs/cgroup/memory/cpu.stat": file("nr_throttled 100\n"),
		}, machineSample{quota: new(uint64(7)), held: new(34 * time.Microsecond)}},
		{"quotas of older control groups, seen from inside a container", fstest.MapFS{
			"proc/self/cgroup":                   file("4:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n0::/\n"),
			"sys/fs/cgroup/cpu,cpuacct/cpu.stat": file("nr_periods 9\nnr_throttled 2\nthrottled_time 30\n"),
			"sys/fs/cgroup/memory/cpu.stat":      file("nr_throttled 100\n"),
		}, machineSample{quota: new(uint64(2)), held: new(time.Duration(30))}},
		{"nonsense", fstest.MapFS{
			"proc/stat":                  file("cpu0 1 2 x 4 5 6 7 8\ncpu1\n"),
			"proc/self/limits":           file("Max open files unlimited unlimited files\n"),
			"proc/self/cgroup":           file("0:\n::\n1:cpu:/../../etc\nhello"),
			"sys/fs/cgroup/cpu/cpu.stat": file("nr_throttled many\nthrottled_time -3\n\n"),
			heat + "cpu0/thermal_throttle/core_throttle_count": file("?"),
		}, machineSample{}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, newMachine(c.root).read(0), sampleFields), "%s (-want +got)", c.name)
	}
}

func TestMachineOverAWindow(t *testing.T) {
	t.Parallel()
	at := func(at int64, n uint64, open int) machineSample {
		return machineSample{at: at, cores: []coreTime{{busy: n, steal: 2 * n, total: 4 * n}, {busy: 3 * n, total: 4 * n}},
			thermal: new(n), quota: new(2 * n), held: new(time.Duration(3 * n)), open: &open, limit: new(100)}
	}
	samples := []machineSample{at(0, 10, 99), at(10, 20, 7), at(20, 30, 9), at(30, 50, 8), at(40, 90, 99)}
	grew := func(n uint64, open int) MachineUse {
		return MachineUse{Cores: []float64{0.25, 0.75}, MachineShare: new(0.5), StealShare: new(0.25), ThermalThrottles: &n,
			QuotaThrottles: new(2 * n), QuotaHeld: new(time.Duration(3 * n)), OpenFiles: &open, FileLimit: new(100)}
	}
	still := grew(0, 99)
	still.Cores, still.MachineShare, still.StealShare = nil, nil, nil
	unplugged := []machineSample{at(0, 10, 1), {at: 10, cores: []coreTime{{total: 99}}}}
	for _, c := range []struct {
		name       string
		samples    []machineSample
		start, end int64
		want       MachineUse
	}{
		{"no samples", nil, 0, 10, MachineUse{}},
		{"on samples", samples, 10, 30, grew(30, 9)},
		{"between samples", samples, 15, 25, grew(30, 9)},
		{"after the last", samples, 50, 60, still},
		{"a core went, and what was known is not any more", unplugged, 0, 10, MachineUse{OpenFiles: new(1)}},
	} {
		expect.NoDiff(t, cmp.Diff(c.want, machineOver(c.samples, c.start, c.end)), "%s (-want +got)", c.name)
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	edges := []float64{0, 0.001, 0.01, 0.1, math.Inf(1)}
	for _, c := range []struct {
		name      string
		gathered  [][]growth
		p99, most time.Duration
	}{
		{"nothing", nil, 0, 0},
		{"one", [][]growth{{{1, 1}}}, 10 * time.Millisecond, 10 * time.Millisecond},
		{"one in a hundred is above the p99", [][]growth{{{0, 50}}, nil, {{0, 49}, {2, 1}}}, time.Millisecond, 100 * time.Millisecond},
		{"two in a hundred are not", [][]growth{{{0, 98}}, {{2, 2}}}, 100 * time.Millisecond, 100 * time.Millisecond},
		{"beyond the last edge", [][]growth{{{3, 1}}}, 100 * time.Millisecond, 100 * time.Millisecond},
	} {
		if p99, most := delayPercentiles(c.gathered, edges); p99 != c.p99 || most != c.most {
			t.Errorf("%s: p99 %v, max %v; want %v, %v", c.name, p99, most, c.p99, c.most)
		}
	}
	expect.NoDiff(t, cmp.Diff([]growth{{1, 4}, {3, 1}}, histogramGrowth([]uint64{5, 1, 0, 0}, []uint64{5, 5, 0, 1}), sampleFields), "grown (-want +got)")
	if got := histogramGrowth(nil, []uint64{1}); got != nil {
		t.Errorf("with nothing before: %v grew", got)
	}
}

// TestHostLogsEverySecond runs in virtual time; what the lines say is this
// machine's.
func TestHostLogsEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		log := must.Get(NewLog(&file, Header{}))(t)
		h := WatchHostTo(clock.Virtual(), log, nil)
		time.Sleep(2500 * time.Millisecond)
		h.Stop()
		logged := must.Get(ReadLog(&file))(t)
		type stretch struct{ from, to time.Duration }
		var got []stretch
		for _, l := range logged.Lines {
			got = append(got, stretch{time.Duration(l.At) - l.Host.Wall, time.Duration(l.At)})
			if runtime.GOOS == "linux" && (l.Host.OpenFiles == nil || *l.Host.OpenFiles < 3 || l.Host.FileLimit == nil) {
				t.Errorf("open files %v of %v", l.Host.OpenFiles, l.Host.FileLimit)
			}
		}
		want := []stretch{{0, time.Second}, {time.Second, 2 * time.Second}, {2 * time.Second, 2500 * time.Millisecond}}
		expect.NoDiff(t, cmp.Diff(want, got, cmp.AllowUnexported(stretch{})), "lines (-want +got)")
	})
}

// TestHostSeesItsScheduler makes many goroutines wait for one another.
func TestHostSeesItsScheduler(t *testing.T) {
	c := clock.New()
	h := WatchHost(c)
	for range 2000 {
		done := make(chan struct{})
		go close(done)
		<-done
	}
	h.Stop()
	if use := h.Over(0, c.Now()); use.SchedMax <= 0 || use.SchedP99 <= 0 || use.SchedP99 > use.SchedMax {
		t.Errorf("scheduler delays p99 %v, max %v", use.SchedP99, use.SchedMax)
	}
}

func BenchmarkMachine(b *testing.B) {
	m := newMachine(os.DirFS("/"))
	b.ReportAllocs()
	for b.Loop() {
		m.read(0)
	}
}

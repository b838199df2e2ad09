package accelerator

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/must"
	"redline/internal/observe/telemetry"
)

func testdata(t testing.TB, name string) []byte {
	t.Helper()
	text := must.Read(t, "testdata/"+name)
	return text
}

// asCaptured asks for the columns of testdata/h200.csv.
func asCaptured() *nvidiaQuery {
	return &nvidiaQuery{fields: slices.DeleteFunc(slices.Clone(nvidiaFields), func(f nvidiaField) bool { return f.name == "count" })}
}

// What a real H200 said while it idled and then worked.
func TestTranscriptOfARealDevice(t *testing.T) {
	t.Parallel()
	query, all := asCaptured(), round{devices: 1}
	var readings []telemetry.AcceleratorReading
	for i, line := range strings.Split(strings.TrimSpace(string(testdata(t, "h200.csv"))), "\n") {
		one, ok := query.parse(line)
		if !ok {
			t.Fatalf("not a row: %s", line)
		}
		readings = append(readings, *all.add(int64(i)*1e9, one))
	}
	if len(readings) != 14 {
		t.Fatalf("%d readings of 14 lines", len(readings))
	}
	idle := telemetry.AcceleratorReading{Source: "nvidia-smi",
		Board: &telemetry.AcceleratorBoard{Names: []string{"NVIDIA H200"}, MemoryMB: 143771, Driver: "580.159.04"},
		Devices: []telemetry.DeviceReading{{Utilization: new(0.0), MemoryTime: new(0.0), MemoryMB: new(0.0), ClockMHz: new(345.0),
			MemoryClockMHz: new(3201.0), TemperatureC: new(38.0), Watts: new(101.33), Throttles: true}}}
	expect.Same(t, idle, readings[0])
	cappedBuffer := telemetry.DeviceReading{Utilization: new(1.0), MemoryTime: new(0.23), MemoryMB: new(1651.0), ClockMHz: new(1500.0),
		MemoryClockMHz: new(3201.0), TemperatureC: new(57.0), Watts: new(701.12), Throttles: true, Throttled: []string{"sw_power_cap"}}
	expect.Same(t, cappedBuffer, readings[6].Devices[0])
	// From the eighth reading to the fourteenth, a second apart: (697.14 +
	// 691.77)/2 + 692.89 + 691.89 + 691.46 + 692.87 + 693.86 = 4157.425 J.
	use := telemetry.AcceleratorOver(readings, 7e9, 13e9)
	if use.Joules == nil || *use.Joules < 4157.42 || *use.Joules > 4157.43 {
		t.Errorf("joules %v, want 4157.425", use.Joules)
	}
}

func TestDecimals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{"103.26": 103.26, "103,26": 103.26, "97 %": 97, " 0 ": 0, "143771 MiB": 143771, "-1": -1} {
		if got, ok := decimal(text); !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "[N/A]", "[Not Supported]", "N/A", "[Unknown Error]", "[GPU requires reset]", "0x10", "Infinity", "nan", "1_0"} {
		if got, ok := decimal(text); ok {
			t.Errorf("%q is taken for %v", text, got)
		}
	}
}

// A device in MIG mode tells little, and a foreign locale writes a comma.
func TestRowsWithHolesAndCommas(t *testing.T) {
	t.Parallel()
	query := &nvidiaQuery{fields: nvidiaFields}
	got, ok := query.parse("3, 8, NVIDIA A100, 535.1, [N/A], [N/A], 512, 81920, [Not Supported], 1593, 61,75, 44, [N/A]")
	want := row{index: 3, count: 8, name: "NVIDIA A100", driver: "535.1", memoryMB: 81920,
		device: telemetry.DeviceReading{MemoryMB: new(512.0), MemoryClockMHz: new(1593.0), Watts: new(61.75), TemperatureC: new(44.0)}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); !ok || diff != "" {
		t.Error(ok, diff)
	}
	for _, line := range []string{"", "garbage", "No devices were found", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
		"-1" + strings.Repeat(", 1", 12), "x" + strings.Repeat(", 1", 12), "0, 1, 2"} {
		if _, ok := query.parse(line); ok {
			t.Errorf("%q is taken for a row", line)
		}
	}
}

// Older drivers know a column by another name, or not at all.
func TestColumnsThatADriverRefuses(t *testing.T) {
	t.Parallel()
	query := &nvidiaQuery{fields: nvidiaFields}
	refuse := func(name string) error {
		return query.refuse(strings.Replace(string(testdata(t, "refused.txt")), "nonsense", name, 1))
	}
	if err := refuse("clocks_event_reasons.active"); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if asked := query.arguments(1000)[0]; !strings.HasSuffix(asked, ",clocks_throttle_reasons.active") {
		t.Errorf("asks for %s", asked)
	}
	if err := refuse("clocks_throttle_reasons.active"); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if asked := query.arguments(1000)[0]; !strings.HasSuffix(asked, ",temperature.gpu") {
		t.Errorf("asks for %s", asked)
	}
	if err := refuse("index"); err == nil || errors.Is(err, errRefused) {
		t.Errorf("a tool without an index: %v", err)
	}
	if err := refuse("nonsense"); err == nil || errors.Is(err, errRefused) {
		t.Errorf("a column that was not asked for: %v", err)
	}
	if err := query.refuse("0, 1"); err != nil {
		t.Errorf("a row: %v", err)
	}
	if len(nvidiaFields) != 13 {
		t.Error("the table itself was changed")
	}
}

// Rounds are told apart by the indices, whether or not the number of devices
// is known, and one with a row missing is no reading.
func TestRounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		devices int
		indices []int
		want    []int // devices of each reading
	}{
		{"known number", 2, []int{0, 1, 0, 1}, []int{2, 2}},
		{"unknown number: whole when the next begins", 0, []int{0, 1, 2, 0, 1, 2}, []int{3, 3}},
		{"chosen devices", 0, []int{4, 6, 4, 6, 4}, []int{2, 2}},
		{"a row lost", 3, []int{0, 1, 2, 0, 2, 0, 1, 2}, []int{3, 3}},
		{"the first round short", 0, []int{0, 2, 0, 1, 2, 0, 1, 2}, []int{2, 2, 3}},
		{"a device gone for good", 3, []int{0, 1, 2, 0, 1, 0, 1, 0, 1, 0, 1}, []int{3, 2}},
		{"one device", 1, []int{0, 0, 0}, []int{1, 1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			all := round{devices: c.devices}
			var got []int
			for at, index := range c.indices {
				if reading := all.add(int64(at), row{index: index}); reading != nil {
					got = append(got, len(reading.Devices))
				}
			}
			expect.Same(t, c.want, got)
		})
	}
}

func TestCUDAVersion(t *testing.T) {
	t.Parallel()
	for name, text := range map[string][]byte{"--version": testdata(t, "version.txt"), "page": testdata(t, "page.txt"),
		"newer": []byte("| NVIDIA-SMI 590.1  Driver Version: 590.1  CUDA UMD Version: 13.0 |")} {
		if got := cudaOf(text); got != "13.0" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := cudaOf([]byte("CUDA Version: N/A")); got != "" {
		t.Errorf("unknown: %q", got)
	}
}

func FuzzNvidiaRow(f *testing.F) {
	for line := range strings.Lines(string(testdata(f, "h200.csv"))) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		query := asCaptured()
		one, ok := query.parse(line)
		if !ok {
			_ = query.refuse(line)
			return
		}
		all := round{devices: 1}
		if reading := all.add(1, one); reading == nil || len(reading.Devices) != 1 {
			t.Errorf("%q makes %v", line, reading)
		}
	})
}

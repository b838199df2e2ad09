package telemetry

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAcceleratorSources(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]AcceleratorSource{
		"":                                  {Kind: "auto"},
		"auto":                              {Kind: "auto"},
		"off":                               {Kind: "off"},
		"nvidia-smi":                        {Kind: "nvidia-smi", Command: []string{"nvidia-smi"}, Options: []string{}},
		"nvidia-smi -i 0,1":                 {Kind: "nvidia-smi", Command: []string{"nvidia-smi"}, Options: []string{"-i", "0,1"}},
		"/opt/bin/nvidia-smi":               {Kind: "nvidia-smi", Command: []string{"/opt/bin/nvidia-smi"}, Options: []string{}},
		`'C:\a b\nvidia-smi.exe'`:           {Kind: "nvidia-smi", Command: []string{`C:\a b\nvidia-smi.exe`}, Options: []string{}},
		"amd-smi":                           {Kind: "amd-smi", Command: []string{"amd-smi"}, Options: []string{}},
		" ssh  -i 'my key' gpu1 nvidia-smi": {Kind: "nvidia-smi", Command: []string{"ssh", "-i", "my key", "gpu1", "nvidia-smi"}, Options: []string{}},
		"kubectl exec vllm-0 -- nvidia-smi": {Kind: "nvidia-smi", Command: []string{"kubectl", "exec", "vllm-0", "--", "nvidia-smi"}, Options: []string{}},
		"http://gpu1:9400/metrics":          {Kind: "exporter", URL: "http://gpu1:9400/metrics"},
		"dcgm=https://gpu1:9400/metrics":    {Kind: "exporter", URL: "https://gpu1:9400/metrics"},
	} {
		got, err := ParseAccelerator(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
	for text, says := range map[string]string{
		"on": "expected auto, off, nvidia-smi, amd-smi", "rocm-smi": "such as 'ssh gpu1 nvidia-smi'", "ssh gpu1": "a command that runs one of the tools",
		"dcgm=gpu1:9400": "begins with http://", "ftp://a/b": "begins with http://", "ssh 'gpu1 nvidia-smi": "the quote ' is not closed",
		" ": "expected auto",
	} {
		if got, err := ParseAccelerator(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v %v, want %q", text, got, err, says)
		}
	}
}

func FuzzAcceleratorSource(f *testing.F) {
	f.Add("ssh 'a b' nvidia-smi -i 0")
	f.Add("dcgm=http://a")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseAccelerator(text)
		if err == nil && (got.Kind == AcceleratorNvidia || got.Kind == AcceleratorAMD) && toolName(got.Command[len(got.Command)-1]) != got.Kind {
			t.Errorf("%q: %+v", text, got)
		}
	})
}

func TestClockEvents(t *testing.T) {
	t.Parallel()
	for mask, want := range map[uint64][]string{
		0x00: nil, 0x01: nil, 0x02: nil, 0x10: nil, // idle, set clocks, sync boost
		0x04: {"sw_power_cap"}, 0x08: {"hw_slowdown"}, 0x48: {"hw_thermal_slowdown"}, 0x88: {"hw_power_brake_slowdown"},
		0x24: {"sw_power_cap", "sw_thermal_slowdown"},
	} {
		if got := ThrottledBy(mask); !slices.Equal(want, got) {
			t.Errorf("%#x: %v, want %v", mask, got, want)
		}
	}
	for reason, want := range map[string]string{"sw_power_cap": "their power cap", "ppt": "their power cap", "hw_power_brake_slowdown": "the power supply",
		"sw_thermal_slowdown": "heat", "hbm_thermal": "heat", "prochot": "heat", "hw_slowdown": "the hardware"} {
		if got := ThrottleCause(reason); got != want {
			t.Errorf("%s: %s, want %s", reason, got, want)
		}
	}
}

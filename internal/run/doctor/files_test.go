package doctor

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/judge/validity"
	"redline/internal/observe/telemetry"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

const routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" +
	"docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n" +
	"ens5\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"

func TestMachineReadsWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		root fstest.MapFS
		want validity.Machine
	}{
		{"another system", fstest.MapFS{}, validity.Machine{}},
		{"a server", fstest.MapFS{
			"sys/devices/system/cpu/online":                        file("0-3,8\n"),
			"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": file("powersave\n"),
			"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": file("performance\n"),
			"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": file("powersave\n"),
			"proc/loadavg":                          file("1.25 0.80 0.40 2/345 6789\n"),
			"proc/self/limits":                      file("Limit  Soft Limit  Hard Limit  Units\nMax processes  7  7  processes\nMax open files            1024                 unlimited            files\n"),
			"proc/sys/net/ipv4/ip_local_port_range": file("32768\t60999\n"),
			"proc/net/sockstat":                     file("sockets: used 99\nTCP: inuse 5 orphan 0 tw 12 alloc 9 mem 1\nUDP: inuse 1 mem 0\n"),
			"sys/devices/system/clocksource/clocksource0/current_clocksource": file("tsc\n"),
			"proc/net/route":                       file(routes),
			"sys/class/net/ens5/gro_flush_timeout": file("20000\n"),
		}, validity.Machine{Online: 5, Governors: []string{"performance", "powersave"}, Load: new(1.25), Files: &validity.Limit{Soft: new(int64(1024))},
			Ports: &validity.PortRange{Low: 32768, High: 60999, Waiting: 12}, ClockSource: "tsc",
			Interface: &validity.Interface{Name: "ens5", GROFlush: new(int64(20000))}}},
		{"a container of the newer kind: the tightest quota above counts", fstest.MapFS{
			"proc/self/cgroup":              file("0::/pod/app\n"),
			"sys/fs/cgroup/pod/app/cpu.max": file("max 100000\n"),
			"sys/fs/cgroup/pod/cpu.max":     file("150000 100000\n"),
			"sys/fs/cgroup/cpu.max":         file("400000 100000\n"),
		}, validity.Machine{QuotaCores: new(1.5)}},
		{"a container of the older kind", fstest.MapFS{
			"proc/self/cgroup":                            file("4:memory:/x\n3:cpu,cpuacct:/docker/x\n0::/\n"),
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  file("50000\n"),
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": file("100000\n"),
			"sys/fs/cgroup/memory/cpu.max":                file("1 100000\n"),
		}, validity.Machine{QuotaCores: new(0.5)}},
		{"the older kind without a quota", fstest.MapFS{
			"proc/self/cgroup":                    file("1:cpu:/\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  file("-1\n"),
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": file("100000\n"),
		}, validity.Machine{}},
		{"only IPv6 leads out", fstest.MapFS{
			"proc/net/ipv6_route": file("00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo\n" +
				"00000000000000000000000000000000 00 00000000000000000000000000000000 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     wlan0\n"),
		}, validity.Machine{Interface: &validity.Interface{Name: "wlan0"}}},
		{"nonsense", fstest.MapFS{
			"sys/devices/system/cpu/online":         file("3-1"),
			"proc/loadavg":                          file("high"),
			"proc/self/limits":                      file("Max open files"),
			"proc/self/cgroup":                      file("0:\n::\nhello"),
			"proc/sys/net/ipv4/ip_local_port_range": file("60999 32768"),
			"proc/net/route":                        file("../../etc 00000000 0 0 0 0 0 00000000\n"),
		}, validity.Machine{}},
	} {
		var got validity.Machine
		files{c.root}.describe(&got)
		expect.NoDiff(t, cmp.Diff(c.want, got), "%s (-want +got)", c.name)
	}
}

func TestOthersAreWhatIsBusyBesideUs(t *testing.T) {
	t.Parallel()
	use := telemetry.HostUse{Wall: 2e9, CPU: 1e9, MachineUse: telemetry.MachineUse{Cores: make([]float64, 4), MachineShare: new(0.5)}}
	if got := others(use); got == nil || *got != 1.5 {
		t.Errorf("two of four cores busy, half of one by us: %v, want 1.5", got)
	}
	use.MachineShare = new(0.1)
	if got := others(use); got == nil || *got != 0 {
		t.Errorf("less busy than we were: %v, want 0", got)
	}
	if got := others(telemetry.HostUse{Wall: 1}); got != nil {
		t.Errorf("another system: %v", *got)
	}
}

func FuzzMachineRead(f *testing.F) {
	f.Add("0-3,8", "3:cpu,cpuacct:/a/../b\n0::/x", "150000 100000", "Max open files 1 2 files", "1 2", "TCP: inuse 5 orphan 0 tw 12", routes)
	f.Add("", "::", "max 1", "Max open files", "9", "TCP: tw", "a 00000000 b c d e f 00000000")
	f.Fuzz(func(t *testing.T, online, cgroup, quota, limits, ports, sockets, route string) {
		var m validity.Machine
		files{fstest.MapFS{
			"sys/devices/system/cpu/online":         file(online),
			"proc/self/cgroup":                      file(cgroup),
			"sys/fs/cgroup/cpu.max":                 file(quota),
			"proc/self/limits":                      file(limits),
			"proc/sys/net/ipv4/ip_local_port_range": file(ports),
			"proc/net/sockstat":                     file(sockets),
			"proc/net/route":                        file(route),
		}}.describe(&m)
		if m.Online < 0 || m.QuotaCores != nil && !(*m.QuotaCores > 0) || m.Ports != nil && m.Ports.High < m.Ports.Low {
			t.Errorf("%+v", m)
		}
	})
}

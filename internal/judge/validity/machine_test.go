package validity

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"redline/internal/expect"
	"redline/internal/observe/telemetry"
)

// soundMachine is a machine with which nothing is wrong.
func soundMachine() *Machine {
	return &Machine{
		System: "linux/amd64", Cores: 8, Online: 8, Governors: []string{"performance"},
		Load: new(0.5), Others: new(0.25),
		Files:       &Limit{Soft: new(int64(1 << 20)), Hard: new(int64(1 << 20))},
		Ports:       &PortRange{Low: 32768, High: 60999, Waiting: 12},
		ClockSource: "tsc", ClockRead: 40, Sync: &Sync{Kept: true, MaxError: 2_000_000},
		Interface: &Interface{Name: "eth0", RxUsecs: new(uint32(8)), Adaptive: new(false), GRO: new(true), GROFlush: new(int64(0))},
		Stamps:    Stamps{Kernel: 5000},
		Loopback:  Spread{N: 100, P50: 8000, P99: 25_000},
		Pacing:    Spread{N: 200, P50: 1500, P99: 80_000},
		Tokens:    TokenDrive{{Offered: 50_000, Got: 50_000}},
		Requests:  RequestDrive{Rate: 6100, OK: 9150},
		Host: telemetry.HostUse{Wall: 7 * time.Second, ClockStep: 300,
			MachineUse: telemetry.MachineUse{StealShare: new(0.001), QuotaThrottles: new(uint64(0)), ThermalThrottles: new(uint64(0))}},
	}
}

func TestASoundMachineIsWell(t *testing.T) {
	t.Parallel()
	want := []string{"8 cores", "none", "performance", "0.25 of 8 cores busy, load average 0.5", "none",
		"1,048,576 soft, 1,048,576 hard", "28,232 for one address (32768 to 60999), 12 in TIME_WAIT", "tsc, 40 ns a look",
		"yes, at most 2 ms off", "largest 300 ns in 7 s", "100% of 5,000 reads", "eth0: 8 µs", "eth0: on without waiting",
		"p50 8 µs, p99 25 µs", "p50 1.5 µs, p99 80 µs late",
		"50k/s, each with a time of its own (server and client on these same cores)",
		"6.1k/s of one token (server and client on these same cores)"}
	var got []string
	for _, f := range soundMachine().Findings() {
		got = append(got, f.Figure)
		if f.Mark != OK || f.Cure != "" {
			t.Errorf("%s: %s with cure %q", f.Check, f.Mark, f.Cure)
		}
	}
	expect.NoDiff(t, cmp.Diff(want, got), "figures (-want +got)")
}

// machineCase changes one thing on a sound machine, which must change the one
// check and no other.
type machineCase struct {
	name   string
	change func(*Machine)
	mark   Mark
	figure string
	cure   string // part of it
}

var machineCases = map[string][]machineCase{
	"cores": {
		{"one", func(m *Machine) { m.Cores, m.Online, m.Others = 1, 1, nil }, Warn, "1 core", "at least 2"},
		{"some of many", func(m *Machine) { m.Online = 64 }, OK, "8 of 64 cores may be used", ""},
	},
	"quota": {
		{"below the cores", func(m *Machine) { m.QuotaCores = new(1.5) }, Warn, "1.5 cores", "raise the limit"},
		{"as many as there are", func(m *Machine) { m.QuotaCores = new(8.0) }, OK, "8 cores, more than there are", ""},
	},
	"governor": {
		{"one core sleeps deeply", func(m *Machine) { m.Governors = []string{"performance", "powersave"} }, Warn, "performance, powersave", "-g performance"},
		{"follows the scheduler", func(m *Machine) { m.Governors = []string{"schedutil"} }, OK, "schedutil", ""},
		{"a virtual machine", func(m *Machine) { m.Governors = nil }, Unread, "not readable here", ""},
	},
	"load": {
		{"three cores are busy", func(m *Machine) { m.Others = new(3.0) }, Warn, "3 of 8 cores busy, load average 0.5", "stop"},
		{"another system", func(m *Machine) { m.Others, m.Load = nil, nil }, Unread, "not readable here", ""},
		{"only the load is told", func(m *Machine) { m.Others = nil }, OK, "load average 0.5", ""},
	},
	"taken": {
		{"a noisy neighbour", func(m *Machine) { m.Host.StealShare = new(0.08) }, Warn, "steal: the hypervisor takes 8% of this machine's CPU time", "of its own"},
		{"a quota", func(m *Machine) { m.Host.QuotaHeld = new(1120 * time.Millisecond) },
			Warn, "quota: the CPU quota of this container stops redline 2% of the time", "raise the CPU quota"},
		{"heat", func(m *Machine) { m.Host.ThermalThrottles = new(uint64(2)) }, Warn, "heat: it slowed this machine 2 times", "cool"},
		{"another system", func(m *Machine) { m.Host.MachineUse = telemetry.MachineUse{} }, Unread, "not readable here", ""},
	},
	"files": {
		{"a thousand", func(m *Machine) { m.Files = &Limit{Soft: new(int64(1024)), Hard: new(int64(4096))} }, Warn, "1,024 soft, 4,096 hard", "ulimit"},
		{"no limit", func(m *Machine) { m.Files = &Limit{} }, OK, "no limit soft, no limit hard", ""},
		{"another system", func(m *Machine) { m.Files = nil }, Unread, "not readable here", ""},
	},
	"ports": {
		{"a narrow range", func(m *Machine) { m.Ports = &PortRange{Low: 50000, High: 50999} }, Warn,
			"1,000 for one address (50000 to 50999), 0 in TIME_WAIT", "ip_local_port_range"},
		{"used up by connections that linger", func(m *Machine) { m.Ports.Waiting = 20_000 }, Warn,
			"28,232 for one address (32768 to 60999), 20,000 in TIME_WAIT", "several --url"},
		{"another system", func(m *Machine) { m.Ports = nil }, Unread, "not readable here", ""},
	},
	"clocksource": {
		{"through the kernel", func(m *Machine) { m.ClockSource, m.ClockRead = "hpet", 1400 }, Warn, "hpet, 1.4 µs a look", "clocksource=tsc"},
		{"another system", func(m *Machine) { m.ClockSource = "" }, OK, "source not readable, 40 ns a look", ""},
	},
	"sync": {
		{"nobody keeps it", func(m *Machine) { m.Sync.Kept = false }, Warn, "no", "chrony"},
		{"not yet in step", func(m *Machine) { m.Sync.MaxError = 16e9 }, Warn, "yes, but up to 16 s off", "wait"},
		{"another system", func(m *Machine) { m.Sync = nil }, Unread, "not readable here", ""},
	},
	"step": {
		{"set by hand meanwhile", func(m *Machine) { m.Host.ClockStep = 250 * time.Millisecond }, Bad, "largest 250 ms in 7 s", "stop the time service"},
	},
	"stamps": {
		{"another system", func(m *Machine) { m.Stamps = Stamps{User: 5000} }, Warn, "0% of 5,000 reads", "Linux"},
		{"some missing", func(m *Machine) { m.Stamps.User = 5000 }, Warn, "50% of 10,000 reads", "after the read"},
		{"one missing of many", func(m *Machine) { m.Stamps.User = 1 }, OK, "99.98% of 5,001 reads", ""},
		{"nothing was read", func(m *Machine) { m.Stamps = Stamps{} }, "", "", ""},
	},
	"moderation": {
		{"a card that gathers", func(m *Machine) { m.Interface.RxUsecs, m.Interface.Adaptive = new(uint32(125)), new(true) }, Warn,
			"eth0: 125 µs, adaptive", "ethtool -C eth0"},
		{"a driver that does not tell", func(m *Machine) { m.Interface.RxUsecs = nil }, Unread, "eth0 does not tell", ""},
	},
	"gro": {
		{"held to be joined", func(m *Machine) { m.Interface.GROFlush = new(int64(200_000)) }, Warn, "eth0: on holding packets for 200 µs", "gro_flush_timeout"},
		{"off", func(m *Machine) { m.Interface.GRO, m.Interface.GROFlush = new(false), new(int64(200_000)) }, OK, "eth0: off holding packets for 200 µs", ""},
		{"a driver that does not tell", func(m *Machine) { m.Interface.GRO, m.Interface.GROFlush = nil, nil }, Unread, "eth0 does not tell", ""},
	},
	"loopback": {
		{"waits for a core", func(m *Machine) { m.Loopback.P99 = 4e6 }, Warn, "p50 8 µs, p99 4 ms", "stop"},
		{"not measured", func(m *Machine) { m.Loopback = Spread{} }, "", "", ""},
	},
	"pacing": {
		{"late", func(m *Machine) { m.Pacing.P99 = 2e6 }, Warn, "p50 1.5 µs, p99 2 ms late", "ends of figures"},
		{"very late", func(m *Machine) { m.Pacing.P99 = 40e6 }, Warn, "p50 1.5 µs, p99 40 ms late", "more cores"},
		{"not measured", func(m *Machine) { m.Pacing = Spread{} }, "", "", ""},
	},
	"tokens": {
		{"few", func(m *Machine) { m.Tokens = TokenDrive{{Offered: 5000, Got: 5000}, {Offered: 10_000, Got: 6000}} }, Warn,
			"5k/s, each with a time of its own (server and client on these same cores)", "more idle cores"},
		{"fewer still", func(m *Machine) {
			m.Tokens = TokenDrive{{Offered: 5000, Got: 5000, Coalesced: 0.2}, {Offered: 2500, Got: 100}}
		}, Warn,
			"fewer than 2.5k/s, if each is to have a time of its own (server and client on these same cores)", "more idle cores"},
	},
	"requests": {
		{"few", func(m *Machine) { m.Requests.Rate = 450 }, Warn, "450/s of one token (server and client on these same cores)", "more idle cores"},
		{"some failed", func(m *Machine) { m.Requests.Failed = 850 }, Bad, "850 of 10000 failed on loopback", "open files"},
	},
}

func TestEachMachineCheckFiresAlone(t *testing.T) {
	t.Parallel()
	well := map[string]Finding{}
	for _, f := range soundMachine().Findings() {
		well[f.Check] = f
	}
	for _, c := range checks {
		if c.machine == nil {
			continue
		}
		fires := false
		for _, tt := range machineCases[c.id] {
			m := soundMachine()
			tt.change(m)
			fires = fires || tt.mark == Warn || tt.mark == Bad
			hold(t, c.id, tt.name, m.Findings(), well, Finding{Mark: tt.mark, Figure: tt.figure, Cure: tt.cure})
		}
		if !fires {
			t.Errorf("%s: no case makes it fire", c.id)
		}
	}
}

// hold compares the findings with those of sound evidence: the check must say
// what is wanted, and every other one what it said before.
func hold(t *testing.T, check, name string, got []Finding, well map[string]Finding, want Finding) {
	t.Helper()
	said := Finding{}
	for _, f := range got {
		if f.Check == check {
			said = f
		} else if diff := cmp.Diff(well[f.Check], f); diff != "" && f.Mark != OK {
			t.Errorf("%s, %s: %s changes too (-sound +got):\n%s", check, name, f.Check, diff)
		}
	}
	if said.Mark != want.Mark || said.Figure != want.Figure {
		t.Errorf("%s, %s: %s %q, want %s %q", check, name, said.Mark, said.Figure, want.Mark, want.Figure)
	}
	if !strings.Contains(said.Cure, want.Cure) || (said.Cure == "") != (want.Cure == "") {
		t.Errorf("%s, %s: cure %q, want one with %q", check, name, said.Cure, want.Cure)
	}
}

func TestAMachineThatCannotBeDriven(t *testing.T) {
	t.Parallel()
	m := soundMachine()
	m.Fault, m.Tokens, m.Requests = "loopback: no such device", nil, RequestDrive{}
	m.Interface = nil
	found := map[string]Finding{}
	for _, f := range m.Findings() {
		found[f.Check] = f
	}
	if f := found["tokens"]; f.Mark != Bad || f.Cure != "loopback: no such device" {
		t.Errorf("%+v", f)
	}
	if f, ok := found["requests"]; ok {
		t.Errorf("%+v", f)
	}
	if f := found["moderation"]; f.Figure != "no default route found" {
		t.Errorf("%+v", f)
	}
}

func TestTheSearchForTheLimit(t *testing.T) {
	t.Parallel()
	fine := func(rate float64) Step { return Step{Offered: rate, Got: rate} }
	behind := func(rate float64) Step { return Step{Offered: rate, Got: 0.9 * rate} }
	joined := func(rate float64) Step { return Step{Offered: rate, Got: rate, Coalesced: 0.01} }
	for _, c := range []struct {
		name  string
		steps TokenDrive
		rate  float64
		next  float64
	}{
		{"begins low", nil, 0, 5000},
		{"doubles while all is well", TokenDrive{fine(5000), fine(10_000)}, 10_000, 20_000},
		{"takes the middle after too much", TokenDrive{fine(10_000), behind(40_000)}, 10_000, 20_000},
		{"events that share a read are too much as well", TokenDrive{fine(10_000), joined(40_000)}, 10_000, 20_000},
		{"a first step that failed is tried again", TokenDrive{joined(5000)}, 0, 5000},
		{"and may have been bad luck", TokenDrive{joined(5000), fine(5000)}, 5000, 10_000},
		{"or not: then half of it", TokenDrive{joined(5000), joined(5000)}, 0, 2500},
		{"a slow machine has its limit too", TokenDrive{joined(5000), joined(5000), fine(2500)}, 2500, 2500 * math.Sqrt2},
		{"four failures from the start are enough", TokenDrive{joined(5000), joined(5000), behind(2500), behind(1250)}, 0, 0},
		{"ends when it is close", TokenDrive{fine(20_000), behind(22_000)}, 20_000, 0},
	} {
		if got := c.steps.Rate(); got != c.rate {
			t.Errorf("%s: rate %v, want %v", c.name, got, c.rate)
		}
		if got := c.steps.Next(); math.Abs(got-c.next) > 1e-6 {
			t.Errorf("%s: next %v, want %v", c.name, got, c.next)
		}
	}
}

//go:build linux

package main

import (
	"fmt"
	"time"

	"redline/internal/text"
)

// setting is one way to disturb redline on its two cores.
type setting struct {
	name  string
	about string
	loops int // busy loops beside it, of the same priority
	// quota is the share of its cores' time that redline and the loops may use
	// together in each tenth of a second; 0 for all of it.
	quota float64
	// stopped is the share of the time for which the process is stopped, 1 to
	// 50 ms at a time.
	stopped float64
}

// The settings that are run by themselves, and the runs that no table shows.
const (
	stealSetting    = "steal"
	firstSetting    = "first"
	baselineSetting = "baseline"
)

var settings = []setting{
	{name: "0 loops", about: "nothing else on its cores"},
	{name: "1 loop", about: "one busy loop", loops: 1},
	{name: "2 loops", about: "two busy loops", loops: 2},
	{name: "4 loops", about: "four busy loops", loops: 4},
	{name: "quota 50%", about: "with two busy loops in a control group that has half of its cores' time: about 50 ms of every 100 ms", loops: 2, quota: 0.5},
	{name: "stopped 5%", about: "SIGSTOP and SIGCONT at random, 1–50 ms each, 5% of the time", stopped: 0.05},
	{name: "stopped 15%", about: "15% of the time", stopped: 0.15},
	{name: "stopped 35%", about: "35% of the time", stopped: 0.35},
	{name: stealSetting, about: "whatever the machine's host takes"},
	{name: firstSetting, about: "`redline run` beside two busy loops", loops: 2},
}

// apart reports whether a setting is no part of the whole.
func (s setting) apart() bool { return s.name == stealSetting || s.name == firstSetting }

// coresNeeded is one for the server and two for redline. The README's first
// command has its server in its own process, and what a host steals it steals
// from both.
func (s setting) coresNeeded() int {
	switch s.name {
	case firstSetting:
		return 2
	case stealSetting:
		return 0
	}
	return 3
}

// load is what is asked of which server.
type load struct {
	name   string
	server []string // flags of redline sim
	client []string // flags of redline run
}

// loads have replies that are short against a window of 15 s, and about 300
// requests in it.
var loads = []load{
	{"paced 20 ms", []string{"--pace", "20ms"}, []string{"--rate", "25", "--workload", "fixed(64,40)"}},
	{"paced 5 ms", []string{"--pace", "5ms"}, []string{"--rate", "40", "--workload", "in=fixed(64) out=lognormal(30,0.6,8..120)"}},
	{"8B", nil, []string{"--rate", "25", "--workload", "in=lognormal(300,0.8,20..2000) out=lognormal(60,0.6,8..200)"}},
	{"70B", []string{"--model", "llama-3.1-70b", "--tp", "4"}, []string{"--rate", "20", "--workload", "in=lognormal(200,0.6,20..1000) out=lognormal(40,0.5,8..120)"}},
	{"8B, 16 users", nil, []string{"--concurrency", "16", "--workload", "in=lognormal(300,0.8,20..2000) out=lognormal(60,0.6,8..200)"}},
}

// trial is one run.
type trial struct {
	setting  setting
	number   int // decides load and seed
	load     load
	noStamps bool // without the kernel's
	window   time.Duration
}

// seed is one by whose runs nothing about the ends was chosen: those were below
// 200.
func (t trial) seed() uint64 { return uint64(t.number) + 201 }

func (t trial) String() string {
	return text.Join(", ", t.setting.name, "stamps "+stamps(t.noStamps), fmt.Sprintf("run %d", t.number+1), t.load.name)
}

// stamps names where arrival times come from.
func stamps(none bool) string {
	if none {
		return "none"
	}
	return "kernel"
}

// arguments are those of redline run, but for the server and the directory.
func (t trial) arguments() []string {
	return append([]string{"run", "--quiet", "--warmup", "2s", "--duration", t.window.String(), "--seed", fmt.Sprint(t.seed())}, t.load.client...)
}

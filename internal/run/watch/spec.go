// Package watch runs plans on schedules, one at a time, and reports what is not
// as it was. It takes schedules, a way to run one and ways to tell, and
// keeps what it has done in a file, so that a restart neither repeats nor
// forgets. It measures and judges nothing itself.
package watch

import (
	"cmp"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"redline/internal/text"
)

// Spec is the watch file.
type Spec struct {
	// Runs is the directory of the run directories, "runs" unless set.
	Runs string `yaml:"runs,omitempty"`
	// Listen is where the last results are told to Prometheus; "" for nowhere.
	Listen string `yaml:"listen,omitempty"`
	// Jitter delays every run by some time up to this, so that watchers of one
	// server do not meet.
	Jitter time.Duration `yaml:"jitter,omitempty"`
	// Missed says what becomes of runs that were due while nothing could run:
	// "run" makes up for them with one run, "skip" waits for the next.
	Missed string `yaml:"missed,omitempty"`
	// Timeout ends a run that takes longer; 6h unless set.
	Timeout   time.Duration `yaml:"timeout,omitempty"`
	Schedules []Schedule    `yaml:"schedules"`
	Alerts    Alerts        `yaml:"alerts,omitempty"`
}

// Schedule is a plan and when it is run.
type Schedule struct {
	Name string `yaml:"name"`
	// Cron is five fields, or @daily, @every 6h; CRON_TZ=… before them sets
	// the time zone.
	Cron string `yaml:"cron"`
	Plan string `yaml:"plan"`
	// Command is what carries the plan out: run unless set.
	Command string `yaml:"command,omitempty"`

	times cron.Schedule
}

// Alerts says of what is told, and how.
type Alerts struct {
	// On are kinds of alerts; all of them unless set.
	On []string `yaml:"on,omitempty"`
	// Command is a line for the shell that gets the alert as JSON.
	Command string `yaml:"command,omitempty"`
	// Webhooks are addresses that it is posted to.
	Webhooks []Webhook `yaml:"webhooks,omitempty"`
}

// Webhook is an address that alerts are posted to.
type Webhook struct {
	URL string `yaml:"url"`
	// Format is "json", or "slack" for a text that Slack and its like show.
	Format  string            `yaml:"format,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty"`
}

// commands are those that a schedule may carry out.
var commands = []string{"run", "sweep", "bench", "matrix"}

// The policies for runs that were missed.
const (
	missedRun  = "run"
	missedSkip = "skip"
)

var name = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// A Mistake is what is wrong with a Spec, and at which key.
type Mistake struct{ Key, Text string }

func (m *Mistake) Error() string { return m.Key + ": " + m.Text }

func mistake(key, format string, args ...any) error {
	return &Mistake{key, fmt.Sprintf(format, args...)}
}

// Complete checks the spec and fills in what was left open.
func (s *Spec) Complete() error {
	s.Runs = cmp.Or(s.Runs, "runs")
	s.Timeout = cmp.Or(s.Timeout, 6*time.Hour)
	s.Missed = cmp.Or(s.Missed, missedSkip)
	switch {
	case s.Missed != missedRun && s.Missed != missedSkip:
		return mistake("missed", "expected run or skip, got %s", text.Quote(s.Missed))
	case s.Jitter < 0 || s.Jitter > 24*time.Hour:
		return mistake("jitter", "expected a time from 0 to 24h, got %v", s.Jitter)
	case s.Timeout < time.Second:
		return mistake("timeout", "expected a time of at least a second, got %v", s.Timeout)
	case len(s.Schedules) == 0:
		return mistake("schedules", "expected at least one, such as {name: nightly, cron: '0 3 * * *', plan: plan.yaml}")
	}
	seen := map[string]bool{}
	for i := range s.Schedules {
		if err := s.Schedules[i].complete(fmt.Sprintf("schedules[%d]", i)); err != nil {
			return err
		}
		if n := s.Schedules[i].Name; seen[n] {
			return mistake(fmt.Sprintf("schedules[%d].name", i), "%s is there twice: give each schedule a name of its own", n)
		}
		seen[s.Schedules[i].Name] = true
	}
	return s.Alerts.complete()
}

func (s *Schedule) complete(key string) error {
	if !name.MatchString(s.Name) {
		return mistake(key+".name", "expected a word of letters, digits, dots and dashes, got %s", text.Quote(s.Name))
	}
	if s.Plan == "" {
		return mistake(key+".plan", "expected a plan file")
	}
	s.Command = cmp.Or(s.Command, commands[0])
	if !slices.Contains(commands, s.Command) {
		return mistake(key+".command", "expected %s, got %s", strings.Join(commands, ", "), text.Quote(s.Command))
	}
	times, err := cron.ParseStandard(s.Cron)
	if err != nil {
		return mistake(key+".cron", "expected five fields such as '0 3 * * *', or @daily, got %s (%s)", text.Quote(s.Cron), text.Cut(err.Error(), 200))
	}
	if times.Next(time.Now()).IsZero() {
		return mistake(key+".cron", "%s never comes", text.Quote(s.Cron))
	}
	s.times = times
	return nil
}

// Next is the first time after now at which the schedule is due.
func (s *Schedule) Next(now time.Time) time.Time { return s.times.Next(now) }

func (a *Alerts) complete() error {
	if len(a.On) == 0 {
		a.On = slices.Clone(kinds)
	}
	for i, kind := range a.On {
		if !slices.Contains(kinds, kind) {
			return mistake(fmt.Sprintf("alerts.on[%d]", i), "expected %s, got %s", strings.Join(kinds, ", "), text.Quote(kind))
		}
	}
	for i := range a.Webhooks {
		w, key := &a.Webhooks[i], fmt.Sprintf("alerts.webhooks[%d]", i)
		if u, err := url.Parse(w.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return mistake(key+".url", "expected an address that begins with http:// or https://")
		}
		w.Format = cmp.Or(w.Format, formatJSON)
		if w.Format != formatJSON && w.Format != formatSlack {
			return mistake(key+".format", "expected json or slack, got %s", text.Quote(w.Format))
		}
	}
	return nil
}

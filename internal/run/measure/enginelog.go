package measure

import (
	"fmt"
	"os"

	"redline/internal/observe/enginelog"
	"redline/internal/observe/telemetry"
)

// engineLog is the engine's log on its way into the run directory.
type engineLog struct {
	follower *enginelog.Follower
	file     *os.File
	// unread is why there is none although the plan asks for it.
	unread string
}

// followLog begins to keep the engine's log, where the plan asks for it.
func (r *run) followLog() *engineLog {
	source := r.Config.Telemetry.EngineLog
	if source == "" {
		return nil
	}
	file, err := r.dir.StartEngineLog()
	if err != nil {
		return r.withoutLog(err)
	}
	follower, err := enginelog.Follow(source, file, r.Config.Mask())
	if err != nil {
		_ = file.Close() // nothing was written to it
		_ = os.Remove(file.Name())
		return r.withoutLog(err)
	}
	return &engineLog{follower: follower, file: file}
}

func (r *run) withoutLog(err error) *engineLog {
	l := &engineLog{unread: fmt.Sprintf("the engine's log cannot be followed: %v; expected a file, or a command such as 'docker logs -f vllm'", err)}
	r.say("%s; the run goes on without it", l.unread)
	return l
}

// stop ends the following and gives its account; nil where there is none.
func (l *engineLog) stop() *telemetry.EngineLog {
	if l == nil || l.follower == nil {
		return nil
	}
	use := l.follower.Stop()
	if err := l.file.Close(); err != nil && use.Failure == "" {
		use.Failure = err.Error()
	}
	return &use
}

// whyMissing says why the log is missing or ends early, "" where it does not.
func (l *engineLog) whyMissing(use *telemetry.EngineLog) string {
	switch {
	case l == nil:
		return ""
	case use != nil && use.Failure != "":
		return "the engine's log was not followed to the end: " + use.Failure
	}
	return l.unread
}

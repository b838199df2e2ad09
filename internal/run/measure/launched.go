package measure

import (
	"context"
	"errors"
	"sync"

	"redline/internal/launch"
)

// launched is a server that the run has started itself, and can stop and start again.
type launched struct {
	spec    launch.Spec
	options launch.Options

	mu     sync.Mutex
	server *launch.Server // nil while there is none
}

// startServer launches the server of the plan's command.
func (t *Target) startServer(ctx context.Context, r *run) error {
	l := &launched{spec: r.Config.Server.Spec, options: launch.Options{Port: r.Config.Server.Port, Hide: r.Config.Mask()}}
	if l.options.Port == 0 {
		port, err := launch.FreePorts(1)
		if err != nil {
			return err
		}
		l.options.Port = port
	}
	r.say("starting the server on port %d", l.options.Port)
	t.launched = l
	return l.resume(ctx)
}

// halt ends the server: it is asked to, or killed.
func (l *launched) halt(kill bool) error {
	l.mu.Lock()
	server := l.server
	l.server = nil
	l.mu.Unlock()
	if server == nil {
		return errors.New("the server does not run")
	}
	if kill {
		server.Kill()
		return nil
	}
	server.Stop()
	return nil
}

// resume starts the server where it was, and returns when it is ready.
func (l *launched) resume(ctx context.Context) error {
	l.mu.Lock()
	running := l.server != nil
	l.mu.Unlock()
	if running {
		return errors.New("the server runs already")
	}
	server, err := launch.Start(ctx, l.spec, l.options)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.server = server
	l.mu.Unlock()
	return nil
}

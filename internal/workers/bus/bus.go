package bus

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"redline/internal/text"
)

// Options say where the messages go. The zero value embeds a server on loopback.
type Options struct {
	// URL is of a NATS server, or of several of a cluster with commas between
	// them; "" has a conductor embed one.
	URL string
	// Listen is the host and port of the embedded server, "" for loopback and any
	// free port.
	Listen string
	// Token is the join token, "" at a conductor for a random one.
	Token string
	// Auth is what a NATS server of somebody's asks for: a token, a name and a
	// password with a colon between them, or the path of a file with credentials.
	Auth string
	// Say is given what people should know, in one line each.
	Say func(format string, args ...any)
	// Came is given how many of the workers that a conductor waits for are its
	// own by now; nil is not.
	Came func(have, want int)
}

const (
	helloSubject = "redline.hello" // free workers, once a second
	callSubject  = "redline.call"  // a conductor that wants to hear of them at once

	// maxPayload is the largest message that an embedded server takes.
	maxPayload = 8 << 20
	minToken   = 16
)

func askSubject(worker string) string { return "redline.ask." + worker }

func batchSubject(run string) string { return "redline.batch." + runName(run) }

// plain is what may stand in a subject and in the name of a stream.
var plain = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// runName is a run's id as a part of a subject.
func runName(run string) string {
	if plain.MatchString(run) && !strings.HasPrefix(run, "x_") {
		return run
	}
	return fmt.Sprintf("x_%x", run)
}

// errToken begins every refusal that another token would cure.
const errToken = "the join token is not the conductor's"

// refusal is an error that trying again does not cure.
type refusal struct{ message string }

func (r *refusal) Error() string { return r.message }

func (o *Options) token() (string, error) {
	token := o.Token
	if token != "" && len(token) < minToken {
		return "", fmt.Errorf("the join token has %s: at least %d are needed, for example `openssl rand -hex 16`",
			text.Plural(len(token), "character"), minToken)
	}
	return token, nil
}

func randomToken() string { return rand.Text() }

func (o *Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(format, args...)
	}
}

func safeURLs(list string) string {
	parts := strings.Split(list, ",")
	for i, part := range parts {
		scheme, rest, ok := strings.Cut(strings.TrimSpace(part), "://")
		if !ok {
			scheme, rest = "nats", scheme
		}
		rest = rest[strings.LastIndexByte(rest, '@')+1:]
		parts[i] = text.Line(scheme + "://" + rest)
	}
	return strings.Join(parts, ",")
}

// dialOptions is how both sides connect: a silent cut is found within ten seconds,
// and connections are made again for ever.
func (o *Options) dialOptions(k keys, refuse func(error), where string) []nats.Option {
	config := k.client(refuse)
	return []nats.Option{
		nats.Name("redline"), o.auth(k), nats.Timeout(5 * time.Second),
		nats.PingInterval(2 * time.Second), nats.MaxPingsOutstanding(3), nats.FlusherTimeout(5 * time.Second),
		nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond), nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		// Not nats.Secure: that refuses servers without TLS under nats:// too.
		func(o *nats.Options) error { o.TLSConfig = config; return nil },
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				o.say("the connection to %s is lost: trying again", where)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { o.say("connected to %s again", where) }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if r := o.refusalOf(err, where); r != nil {
				refuse(r)
			} else if errors.Is(err, nats.ErrPermissionViolation) {
				o.say("%s does not allow what redline needs, which is redline.>, _INBOX.> and $JS.API.>: %s", where, cause(err))
			}
		}),
	}
}

// auth shows a server what it asks for: one of a conductor's wants to see that
// the token is known, without the token.
func (o *Options) auth(k keys) nats.Option {
	name, password, both := strings.Cut(o.Auth, ":")
	switch info, err := os.Stat(o.Auth); {
	case o.Auth == "":
		return nats.Token(k.proof())
	case err == nil && info.Mode().IsRegular():
		return nats.UserCredentials(o.Auth)
	case both:
		return nats.UserInfo(name, password)
	}
	return nats.Token(o.Auth)
}

// refusalOf tells what no further try cures from a connection that failed; nil for
// the latter.
func (o *Options) refusalOf(err error, where string) error {
	var r *refusal
	switch {
	case errors.As(err, &r):
		return r
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked), errors.Is(err, nats.ErrAccountAuthExpired):
		if o.Auth != "" {
			return &refusal{where + " does not take REDLINE_NATS_AUTH, which is for a NATS server of your own: give what that asks for, or nothing to a conductor's"}
		}
		return &refusal{fmt.Sprintf("%s: %s refuses it; give the conductor's own as REDLINE_JOIN_TOKEN, or what a NATS server of your own asks for as REDLINE_NATS_AUTH", errToken, where)}
	case errors.Is(err, nats.ErrSecureConnWanted):
		return &refusal{where + " does not speak TLS: give its address with nats://"}
	}
	return nil
}

// cause is an error of NATS without the prefix of its library.
func cause(err error) string { return text.Line(strings.TrimPrefix(err.Error(), "nats: ")) }

// strangers counts what could not be opened or read, and says so once.
type strangers struct {
	count atomic.Int64
	say   func(string, ...any)
}

func (s *strangers) drop(what string) {
	if s.count.Add(1) == 1 {
		s.say("dropped a %s that this join token does not open: somebody else on this NATS uses redline with another token, or something else uses its subjects", what)
	}
}

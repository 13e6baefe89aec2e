package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/outbound"
	"inkstream.dev/pkg/telemetry"
)

// Bus is a connection to JetStream, with what it is used for: each part is in the file of its type. It is safe for
// concurrent use.
type Bus struct {
	*connection
	*publisher
	*eventTrail
	*deadLetterQueue
	*taskPurger
	*callBroker
	*topologyAdmin
	*writeProber
	*queueMonitor
	*processRegistry
}

// connection is a connection to the servers, and how to read a stream over it.
type connection struct {
	nc  *nats.Conn
	js  jetstream.JetStream
	log *slog.Logger
	tel *telemetry.Telemetry
	// connectError is why the last try to connect did not succeed, which the client forgets.
	connectError *atomic.Pointer[error]
}

const (
	// pingInterval and maxPingsLost bound how long a server that hangs goes unnoticed: 30 s, where the client's defaults
	// make it six minutes.
	pingInterval = 10 * time.Second
	maxPingsLost = 2
)

// Connect dials the NATS servers at url (comma-separated) and reconnects until the Bus is closed; name shows in the
// server's connection list. More options, such as an in-process server or credentials, are appended to the defaults.
func Connect(url, name string, log *slog.Logger, tel *telemetry.Telemetry, opts ...nats.Option) (*Bus, error) {
	failed := &atomic.Pointer[error]{}
	all := append([]nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(500 * time.Millisecond),
		nats.RetryOnFailedConnect(true),
		nats.SetCustomDialer(outbound.HedgedDialer{Timeout: nats.DefaultTimeout}),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(maxPingsLost),
		// The server's users may be corrected at any time; until then every failed try is reported.
		nats.IgnoreAuthErrorAbort(),
		// A publish while the connection is away must fail and be retried, not sit in a buffer that a crash would lose.
		nats.ReconnectBufSize(-1),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("nats connection lost", "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) {
			if !errors.Is(err, nats.ErrNoServers) { // that all have been tried says nothing of why
				failed.Store(&err)
			}
		}),
		nats.ConnectHandler(func(*nats.Conn) { failed.Store(nil) }),
		nats.ReconnectHandler(func(*nats.Conn) {
			failed.Store(nil)
			log.Info("nats connection is back")
		}),
		nats.ErrorHandler(func(_ *nats.Conn, sub *nats.Subscription, err error) {
			subject := ""
			if sub != nil {
				subject = sub.Subject
			}
			if errors.Is(err, nats.ErrPermissionViolation) {
				// The call that used the subject gets no error, and waits for an answer that does not come.
				log.Error("nats refuses this user a subject; write the server's configuration anew with 'inkstream nats-config'",
					"error", err)
				return
			}
			log.Error("nats reports an error", "error", err, "subject", subject)
		}),
	}, opts...)
	nc, err := nats.Connect(url, all...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	c := &connection{nc: nc, js: js, log: log, tel: tel, connectError: failed}
	probe := &writeProbe{}
	return &Bus{connection: c, publisher: &publisher{c, probe}, eventTrail: &eventTrail{c},
		deadLetterQueue: &deadLetterQueue{c}, taskPurger: &taskPurger{c}, callBroker: &callBroker{c},
		topologyAdmin: &topologyAdmin{c}, writeProber: &writeProber{c, probe},
		queueMonitor: &queueMonitor{connection: c}, processRegistry: &processRegistry{connection: c}}, nil
}

// JetStream returns the context for what this package has no call for, such as job state.
func (b *connection) JetStream() jetstream.JetStream { return b.js }

// OpenJobBucket returns the bucket of job records.
func (b *connection) OpenJobBucket(ctx context.Context) (jetstream.KeyValue, error) {
	kv, err := b.js.KeyValue(ctx, JobBucket)
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", JobBucket, err)
	}
	return kv, nil
}

// ErrNoLeader says why a cluster does not carry out a request.
var ErrNoLeader = errors.New("the NATS cluster, or a stream of it, has no leader: too few of its servers are up, it takes more than half")

// explainNoLeader adds to an error of JetStream's API that there is no leader, where it comes from that: a server
// says so only when it has been without one for some time, and gives no answer before.
func (b *connection) explainNoLeader(err error) error {
	if api, ok := errors.AsType[*jetstream.APIError](err); ok &&
		(api.ErrorCode == errNoLeader || api.ErrorCode == errStreamOffline || api.ErrorCode == errConsumerOffline) {
		return fmt.Errorf("%w: %w", ErrNoLeader, err)
	}
	// What the user may not ask is not answered either.
	if errors.Is(err, context.DeadlineExceeded) && b.nc.IsConnected() && b.nc.ConnectedClusterName() != "" &&
		!errors.Is(b.nc.LastError(), nats.ErrPermissionViolation) {
		return fmt.Errorf("no answer: the server hangs, or %w: %w", ErrNoLeader, err)
	}
	return err
}

// CheckServer reports whether the server answers. Its error wraps ErrNoLeader where a cluster lacks one.
func (b *connection) CheckServer(ctx context.Context) error {
	if err := b.checkConnection(); err != nil {
		return err
	}
	if _, err := b.js.AccountInfo(ctx); err != nil {
		return fmt.Errorf("nats: %w", b.explainNoLeader(err))
	}
	return nil
}

// checkConnection says why there is no connection, if there is none.
func (b *connection) checkConnection() error {
	if b.nc.IsConnected() {
		return nil
	}
	switch err := b.connectFailureReason(); {
	case errors.Is(err, nats.ErrAuthorization):
		return b.explainRefusal(err)
	case err != nil:
		return fmt.Errorf("no connection to NATS at %s: %w", b.serverHosts(), err)
	}
	return fmt.Errorf("no connection to NATS at %s", b.serverHosts())
}

// connectFailureReason returns why there is no connection, as far as that is known.
func (b *connection) connectFailureReason() error {
	if err := b.nc.LastError(); err != nil {
		return err
	}
	if err := b.connectError.Load(); err != nil {
		return *err
	}
	return nil
}

// explainRefusal says what to do about servers that do not know the user. It remembers the refusal, which the client
// forgets before it tries again.
func (b *connection) explainRefusal(err error) error {
	b.connectError.Store(&err)
	return fmt.Errorf("no connection to NATS at %s: it does not know this user's key: check that the file of --nats.nkey or --nats.creds is one that its "+
		"configuration was written with: %w", b.serverHosts(), err)
}

// serverHosts returns where the servers are, without the credentials that their URLs may hold.
func (b *connection) serverHosts() string {
	var hosts []string
	for _, server := range b.nc.Servers() {
		if u, err := url.Parse(server); err == nil {
			hosts = append(hosts, u.Host)
		}
	}
	return strings.Join(hosts, ", ")
}

// Close flushes what is on its way and closes the connection.
func (b *connection) Close() {
	if b.nc.IsConnected() {
		// The connection may go at that very moment; then there is nothing to flush.
		_ = b.nc.FlushTimeout(2 * time.Second)
	}
	b.nc.Close()
}

package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// topologyAdmin makes streams and consumers, and holds those that are there against what they should be.
type topologyAdmin struct{ *connection }

// Provision creates or updates every stream, consumer and bucket. It is safe to call from several processes at once,
// and at every start: it has as many servers keep a stream as did before, or more where the topology asks for more.
func (b *topologyAdmin) Provision(ctx context.Context, t Topology) error {
	t = t.withDefaults()
	m := provisioner{bus: b, topology: t}
	var err error
	if m.otherReplicas, err = m.currentReplicas(ctx, jobStream); err != nil {
		return fmt.Errorf("stream %s: %w", jobStream, err)
	}
	if m.otherReplicas == 0 && t.Replicas == 0 && b.nc.ConnectedClusterName() != "" {
		m.otherReplicas = ClusterReplicas
	}
	for _, s := range AllStages() {
		if err := m.ensureStream(ctx, t.stageStreamConfig(s)); err != nil {
			return err
		}
		for _, l := range []Lane{Interactive, Batch} {
			if err := b.ensureConsumer(ctx, s.StreamName(), t.consumerConfig(s, l)); err != nil {
				return err
			}
		}
	}
	for _, cfg := range t.otherStreamConfigs() {
		if err := m.ensureStream(ctx, cfg); err != nil {
			return err
		}
	}
	for stream, cfg := range t.otherConsumerConfigs() {
		if err := b.ensureConsumer(ctx, stream, cfg); err != nil {
			return err
		}
	}
	if err := m.ensureStream(ctx, t.jobStreamConfig()); err != nil {
		return err
	}
	for _, cfg := range t.otherBucketConfigs() {
		if err := m.applyWithReplicas(ctx, "KV_"+cfg.Bucket, func(ctx context.Context, replicas int) error {
			cfg.Replicas = replicas
			_, err := b.js.CreateKeyValue(ctx, cfg)
			if errors.Is(err, jetstream.ErrBucketExists) {
				_, err = b.js.UpdateKeyValue(ctx, cfg)
			}
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// provisioner makes the streams of a topology.
type provisioner struct {
	bus      *topologyAdmin
	topology Topology
	// otherReplicas is how many servers keep what is there already.
	otherReplicas int
}

// ensureStream updates a stream only where it is not as it should be: the server also carries out an update that
// changes nothing, and does not keep it apart from the consumers that another process creates at the same time while
// it provisions (v2.15.2, fileStore.UpdateConfig and ConsumerStore).
func (m *provisioner) ensureStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	return m.applyWithReplicas(ctx, cfg.Name, func(ctx context.Context, replicas int) error {
		cfg := withReplicas(cfg, replicas)
		_, err := m.bus.js.CreateStream(ctx, cfg) // one that is there, and the same, will do
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			_, err = m.bus.js.UpdateStream(ctx, cfg)
		}
		return err
	})
}

// applyWithReplicas makes a stream, with as many replicas as it is to have.
func (m *provisioner) applyWithReplicas(ctx context.Context, stream string,
	do func(ctx context.Context, replicas int) error) error {
	now, err := m.currentReplicas(ctx, stream)
	if err != nil {
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	replicas := m.topology.wantedReplicas(now, m.otherReplicas)
	if err := m.bus.retryUntilDone(ctx, func(ctx context.Context) error { return do(ctx, replicas) }); err != nil {
		if api, ok := errors.AsType[*jetstream.APIError](err); ok &&
			(api.ErrorCode == errNoPeers || api.ErrorCode == errNoCluster) {
			err = fmt.Errorf("%d replicas need %d servers of a NATS cluster that are up and have room: start them, or ask for fewer replicas with "+
				"--nats.replicas: %w", replicas, replicas, err)
		}
		return fmt.Errorf("stream %s: %w", stream, err)
	}
	if replicas < now {
		m.topology.OnLowerReplicas(stream, now, replicas)
	}
	return nil
}

// currentReplicas returns how many servers keep a stream, none where it is not there.
func (m *provisioner) currentReplicas(ctx context.Context, stream string) (int, error) {
	s, err := m.bus.lookUpStream(ctx, stream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().Config.Replicas, nil
}

func (b *topologyAdmin) ensureConsumer(ctx context.Context, stream string, cfg jetstream.ConsumerConfig) error {
	if err := b.retryUntilDone(ctx, func(ctx context.Context) error {
		_, err := b.js.CreateOrUpdateConsumer(ctx, stream, cfg)
		return err
	}); err != nil {
		return fmt.Errorf("consumer %s of %s: %w", cfg.Durable, stream, err)
	}
	return nil
}

// retryUntilDone makes a request, and repeats it while it is not answered, for up to leaderPatience: a cluster that
// elects a leader forgets what the one before it had under way, and does not tell the client.
func (b *topologyAdmin) retryUntilDone(ctx context.Context, request func(context.Context) error) error {
	deadline := time.Now().Add(leaderPatience)
	var err error
	if perr := b.pollUntilReady(ctx, logLeaderWait, func(try context.Context) error {
		err = request(try)
		api, ok := errors.AsType[*jetstream.APIError](err)
		leaderless := errors.Is(err, context.DeadlineExceeded) || ok && api.ErrorCode == errNoLeader
		if leaderless && time.Now().Before(deadline) {
			return err
		}
		return nil
	}); perr != nil {
		return perr
	}
	return err
}

// CheckTopology reports whether everything is there, or what the named stages' services need of it: their consumers
// and the bucket of jobs. Its error wraps ErrNoLeader where that cannot be told for want of one.
func (b *topologyAdmin) CheckTopology(ctx context.Context, services ...Stage) error {
	all := len(services) == 0
	for _, s := range AllStages() {
		if !all && !slices.Contains(services, s) {
			continue
		}
		for _, l := range []Lane{Interactive, Batch} {
			if _, err := b.js.Consumer(ctx, s.StreamName(), DurableName(s, l)); err != nil {
				return fmt.Errorf("consumer %s: %w", DurableName(s, l), b.explainNoLeader(err))
			}
		}
	}
	buckets := []string{JobBucket}
	if all {
		for stream, cfg := range (Topology{}).otherConsumerConfigs() {
			if _, err := b.js.Consumer(ctx, stream, cfg.Durable); err != nil {
				return fmt.Errorf("consumer %s of %s: %w", cfg.Durable, stream, b.explainNoLeader(err))
			}
		}
		buckets = append(buckets, KeyBucket, WebhookBucket)
	}
	for _, bucket := range buckets {
		if _, err := b.js.KeyValue(ctx, bucket); err != nil {
			return fmt.Errorf("bucket %s: %w", bucket, b.explainNoLeader(err))
		}
	}
	return nil
}

// CheckProvisioned is CheckServer for a service that waits in AwaitProvisioned for the same.
func (b *topologyAdmin) CheckProvisioned(ctx context.Context, services ...Stage) error {
	if err := b.CheckServer(ctx); err != nil {
		return err
	}
	err := b.CheckTopology(ctx, services...)
	if isNotProvisioned(err) {
		return fmt.Errorf("%s: %w", noStreamsMessage, err)
	}
	return err
}

// isNotProvisioned reports whether an error says that something has not been made.
func isNotProvisioned(err error) bool {
	return errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrConsumerNotFound) ||
		errors.Is(err, jetstream.ErrBucketNotFound)
}

// AwaitProvisioned waits until everything is there, or what the named stages' services need of it: a service that
// starts before the broker is provisioned waits so. It gives up where the server refuses the user.
func (b *topologyAdmin) AwaitProvisioned(ctx context.Context, services ...Stage) error {
	return b.pollUntilReady(ctx, logStreamsWait,
		func(ctx context.Context) error { return b.CheckTopology(ctx, services...) })
}

const (
	// peersPatience is how long a cluster that answers may go on without all the servers that a stream is to be kept on.
	peersPatience = 30 * time.Second
	// errNoPeers is the broker's code for that, and errNoCluster the one of a server that is no cluster's.
	errNoPeers   jetstream.ErrorCode = 10005
	errNoCluster jetstream.ErrorCode = 10074
	// leaderPatience is how long a cluster may go on without a leader. The longest election measured took 9 s.
	leaderPatience = 30 * time.Second
	// errNoLeader is the broker's code for a cluster that has noticed it.
	errNoLeader jetstream.ErrorCode = 10008
	// errStreamOffline and errConsumerOffline are the codes of one that knows that those are away who keep something.
	errStreamOffline   jetstream.ErrorCode = 10118
	errConsumerOffline jetstream.ErrorCode = 10119
)

// ProvisionWhenUp waits until the server answers, and provisions. It is for services that may start before their
// server, or before all of a cluster's.
func (b *topologyAdmin) ProvisionWhenUp(ctx context.Context, t Topology) error {
	if err := b.pollUntilReady(ctx, logServerWait, b.CheckServer); err != nil {
		return err
	}
	deadline := time.Now().Add(peersPatience)
	var err error
	if perr := b.pollUntilReady(ctx, logPeersWait, func(context.Context) error {
		err = b.Provision(ctx, t)
		if api, ok := errors.AsType[*jetstream.APIError](err); ok && api.ErrorCode == errNoPeers &&
			time.Now().Before(deadline) {
			return err
		}
		return nil
	}); perr != nil {
		return perr
	}
	if err != nil && errors.Is(b.nc.LastError(), nats.ErrPermissionViolation) {
		return fmt.Errorf("this user may not make streams: run 'inkstream provision' as the administrator, and services with "+
			"--nats.provision=false: %w", err)
	}
	return err
}

const (
	// pollInterval is how often what is waited for is looked at.
	pollInterval = 500 * time.Millisecond
	// waitLogInterval is how often it is said that something is still waited for.
	waitLogInterval = time.Minute
	// minTry is how long the first look may take, and maxTry the last: a cluster that has just started does not answer a
	// request about a stream or consumer without a leader, and does answer the same request a moment later.
	minTry, maxTry = 500 * time.Millisecond, 5 * time.Second
	// reasonPatience is how long the client may take to tell why there is no connection: it does not tell of its first
	// try.
	reasonPatience = 2 * time.Second

	noStreamsMessage = "no streams yet: run 'inkstream provision'"
)

// What may be waited for, as the log tells of it.
func logServerWait(ctx context.Context, log *slog.Logger, err error) {
	log.WarnContext(ctx, "waiting for NATS", "error", err)
}

func logStreamsWait(ctx context.Context, log *slog.Logger, err error) {
	if isNotProvisioned(err) {
		log.WarnContext(ctx, noStreamsMessage, "error", err)
		return
	}
	log.WarnContext(ctx, "waiting for NATS to tell of its streams", "error", err)
}

func logPeersWait(ctx context.Context, log *slog.Logger, err error) {
	log.WarnContext(ctx, "waiting for the other servers of the NATS cluster", "error", err)
}

func logLeaderWait(ctx context.Context, log *slog.Logger, err error) {
	log.WarnContext(ctx, "waiting for the leader of the NATS cluster", "error", err)
}

// pollUntilReady calls ok until it succeeds, ctx is done, or the server refuses the user, which waiting does not
// change. It tells the log what it waits for at once, and then rarely; without a connection, that is what it waits
// for.
func (b *topologyAdmin) pollUntilReady(ctx context.Context, tell func(context.Context, *slog.Logger, error),
	ok func(context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	begun := time.Now()
	var told time.Time
	var connected bool // when that was told
	for patience := minTry; ; patience = min(2*patience, maxTry) {
		try, cancel := context.WithTimeout(ctx, patience)
		err := ok(try)
		cancel()
		if err == nil {
			return nil
		}
		switch last := b.nc.LastError(); {
		case errors.Is(last, nats.ErrAuthorization):
			return b.explainRefusal(last)
		case errors.Is(last, nats.ErrPermissionViolation):
			return fmt.Errorf("nats: %w", last)
		}
		is := b.nc.IsConnected()
		known := is || b.connectFailureReason() != nil || time.Since(begun) >= reasonPatience
		if ctx.Err() == nil && known && (is != connected || time.Since(told) >= waitLogInterval) {
			say := tell
			if !is {
				say = logServerWait
				if why := b.checkConnection(); why != nil { // what a request says is of the buffer that there is none of
					err = why
				}
			}
			say(ctx, b.log.With("nats", b.serverHosts()), err)
			told, connected = time.Now(), is
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

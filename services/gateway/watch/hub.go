package watch

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/reqctx"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
)

const (
	// maxWatchers bounds the watches under way: each holds a connection and a goroutine. maxTenantWatchers bounds those
	// of one tenant.
	maxWatchers, maxTenantWatchers = 4096, 3072
	// minWatchInterval is the least time between two looks at a job, so that a watcher gets at most ten messages a second.
	minWatchInterval = 100 * time.Millisecond
	// watchPollInterval is how often a watched job is looked at without a sign that it changed, should a sign get lost.
	watchPollInterval = 5 * time.Second
	// watchRetry is the wait before another try when the broker is away.
	watchRetry = time.Second
	// watchLoadTimeout bounds one look at a job.
	watchLoadTimeout = 5 * time.Second
)

// watchedKeys are the keys of the job bucket that say something about a job: job.<tenant>.<id> and prog.<tenant>.<id>.
var watchedKeys = []string{"job.*.*", "prog.*.*"}

// hub tells the watchers of jobs what became of them. One watch of the job bucket serves them all:
//
//	bucket ──> listen ──touch──> topic of a job (one look per change) ──wait──> watcher, watcher, …
//
// A topic exists while its job has watchers. It keeps the newest view only, so a slow watcher delays nothing and
// costs no memory: it finds the newest view when it comes for it.
type hub struct {
	load     func(context.Context, jobview.Ref) (*inkstreamv1.Job, error)
	log      *slog.Logger
	stopping <-chan struct{}
	// perClient bounds the watches from one address; 0 for no bound.
	perClient int
	tenants   limits.TenantSlots // of the tenants in watchers
	running   sync.WaitGroup     // the topics' goroutines

	mu       sync.Mutex // guards what follows
	topics   map[jobview.Ref]*topic
	changes  map[string]map[*changeSet]struct{} // by tenant
	watchers int
	clients  map[string]int // watches by address
}

func newHub(load func(context.Context, jobview.Ref) (*inkstreamv1.Job, error), log *slog.Logger,
	stopping <-chan struct{}) *hub {
	return &hub{load: load, log: log, stopping: stopping, topics: make(map[jobview.Ref]*topic), clients: make(map[string]int),
		changes: make(map[string]map[*changeSet]struct{}), tenants: limits.TenantSlots{MaxPerTenant: maxTenantWatchers}}
}

// topic is a job that is being watched.
type topic struct {
	changed  chan struct{} // holds one sign that the job may have changed
	cancel   context.CancelFunc
	watchers int // guarded by hub.mu

	mu      sync.Mutex // guards what follows
	view    *view
	version int
	err     error         // the topic has ended with it
	updated chan struct{} // closed, and replaced, when something above changes
}

// view is a job as it stood when its topic looked.
type view struct {
	job *inkstreamv1.Job
	// event returns what shows it in an event stream. It is made for the first watcher that asks, and is the same for all.
	event func() (watchEvent, error)
}

// watchBucket passes the bucket's changes on to the topics until ctx is done.
func (h *hub) watchBucket(ctx context.Context, b *bus.Bus) {
	for ctx.Err() == nil {
		err := h.followChanges(ctx, b)
		if ctx.Err() != nil {
			return
		}
		h.log.WarnContext(ctx, "watch of the job bucket broke off, will be tried again", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(watchRetry):
		}
	}
}

func (h *hub) followChanges(ctx context.Context, b *bus.Bus) error {
	kv, err := b.OpenJobBucket(ctx)
	if err != nil {
		return err
	}
	watch, err := kv.WatchFiltered(ctx, append([]string(nil), watchedKeys...), jetstream.UpdatesOnly(),
		jetstream.MetaOnly())
	if err != nil {
		return err
	}
	defer func() {
		// The connection may be gone, and the watch with it.
		_ = watch.Stop()
	}()
	h.notifyAllTopics() // for what happened while no watch was open
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case entry, ok := <-watch.Updates():
			if !ok {
				return errors.New("the watch was closed")
			}
			if entry == nil {
				continue // a mark between old entries and new ones
			}
			if ref, ok := jobRefOfKey(entry.Key()); ok {
				h.notifyTopic(ref)
			}
		}
	}
}

// jobRefOfKey returns the job that a key of the bucket is about.
func jobRefOfKey(key string) (jobview.Ref, bool) {
	parts := strings.Split(key, ".")
	if len(parts) != 3 {
		return jobview.Ref{}, false
	}
	return jobview.Ref{Tenant: parts[1], ID: job.ID(parts[2])}, true
}

func (h *hub) notifyTopic(ref jobview.Ref) {
	h.mu.Lock()
	t := h.topics[ref]
	for set := range h.changes[ref.Tenant] {
		set.addJob(ref.ID)
	}
	h.mu.Unlock()
	if t != nil {
		t.markChanged()
	}
}

func (h *hub) notifyAllTopics() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.topics {
		t.markChanged()
	}
	for _, sets := range h.changes {
		for set := range sets {
			set.resetAll()
		}
	}
}

// waitForTopics returns when the goroutines of all topics have ended; their watchers must be gone.
func (h *hub) waitForTopics() { h.running.Wait() }

// admitWatcher takes a place for one more watcher, who calls dismiss in the end. The caller holds mu, both times.
func (h *hub) admitWatcher(ctx context.Context, tenant string) (dismiss func(), err error) {
	if h.watchers >= maxWatchers || !h.tenants.AcquireSlot(tenant) {
		return nil, fault.New(fault.QueueFull, "the server has as many watches under way as it takes; try later")
	}
	client := reqctx.ClientIPFrom(ctx)
	if client != "" && h.perClient > 0 && h.clients[client] >= h.perClient {
		h.tenants.ReleaseSlot(tenant)
		return nil, fault.New(fault.QueueFull,
			"%d watches are under way from this address, which is as many as the server takes", h.perClient)
	}
	h.watchers++
	h.clients[client]++
	return func() {
		h.watchers--
		h.tenants.ReleaseSlot(tenant)
		if h.clients[client]--; h.clients[client] == 0 {
			delete(h.clients, client)
		}
	}, nil
}

// joinTopic returns the topic of a job for one more watcher, who calls leave in the end.
func (h *hub) joinTopic(ctx context.Context, ref jobview.Ref) (t *topic, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dismiss, err := h.admitWatcher(ctx, ref.Tenant)
	if err != nil {
		return nil, nil, err
	}
	t = h.topics[ref]
	if t == nil || t.hasEnded() {
		// The topic's life is not that of the request which happens to start it.
		life, cancel := context.WithCancel(context.WithoutCancel(ctx))
		t = &topic{changed: make(chan struct{}, 1), cancel: cancel, updated: make(chan struct{})}
		h.topics[ref] = t
		h.running.Go(func() {
			t.keepUpdated(life, func(ctx context.Context) (*inkstreamv1.Job, error) { return h.load(ctx, ref) })
		})
	}
	t.watchers++
	return t, func() { h.leaveTopic(ref, t, dismiss) }, nil
}

func (h *hub) leaveTopic(ref jobview.Ref, t *topic, dismiss func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dismiss()
	if t.watchers--; t.watchers > 0 {
		return
	}
	t.cancel()
	if h.topics[ref] == t {
		delete(h.topics, ref)
	}
}

// markChanged leaves a sign that the job may have changed. One sign is as good as many.
func (t *topic) markChanged() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// keepUpdated keeps the view up to date until the job has ended, is gone, or ctx is done.
func (t *topic) keepUpdated(ctx context.Context, load func(context.Context) (*inkstreamv1.Job, error)) {
	poll := time.NewTicker(watchPollInterval)
	defer poll.Stop()
	for ctx.Err() == nil {
		look, cancel := context.WithTimeout(ctx, watchLoadTimeout)
		v, err := load(look)
		cancel()
		pause := minWatchInterval
		switch {
		case err == nil:
			t.publishView(v)
			if isFinalView(v) {
				return
			}
		case isJobGone(err) || !t.hasView():
			// A watch that cannot even begin says so; one that is under way outlasts the broker's absence.
			t.endWithError(err)
			return
		default:
			pause = watchRetry
			t.markChanged()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		select {
		case <-ctx.Done():
		case <-t.changed:
		case <-poll.C:
		}
	}
}

// isJobGone reports whether err means that there is no job to watch.
func isJobGone(err error) bool {
	c := fault.CodeOf(err)
	return c == fault.JobNotFound || c == apierror.JobDeleted || c == apierror.JobExpired
}

// publishView makes v the newest view, unless it says nothing new.
func (t *topic) publishView(v *inkstreamv1.Job) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.view != nil && proto.Equal(t.view.job, v) {
		return
	}
	t.view = &view{job: v, event: sync.OnceValues(func() (watchEvent, error) { return newJobEvent(v) })}
	t.version++
	t.wakeWatchers()
}

func (t *topic) endWithError(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = err
	t.wakeWatchers()
}

// wakeWatchers wakes those who wait. The caller holds mu.
func (t *topic) wakeWatchers() {
	close(t.updated)
	t.updated = make(chan struct{})
}

func (t *topic) hasView() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.view != nil
}

func (t *topic) hasEnded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err != nil || t.view != nil && isFinalView(t.view.job)
}

// newestView returns the newest view and its version, or a channel that is closed when there is one beyond seen.
func (t *topic) newestView(seen int) (v *view, version int, news <-chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.version > seen {
		return t.view, t.version, nil, nil
	}
	return nil, seen, t.updated, t.err
}

// explainEnd returns why a watch has ended whose context is done.
func explainEnd(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), access.ErrCredentialEnded) {
		return fault.New(apierror.Unauthenticated, "the credentials that the watch was begun with have ended")
	}
	return ctx.Err()
}

// isFinalView reports whether the job has ended.
func isFinalView(v *inkstreamv1.Job) bool { return job.State(v.GetState().String()).HasEnded() }

// watchJob calls send with the job now and at every change, the newest state only, until it has ended; then it
// returns nil. While nothing changes it calls idle every so often; zero means never. Views are shared between
// watchers: send must not change them.
func (h *hub) watchJob(ctx context.Context, ref jobview.Ref, send func(*view) error, every time.Duration,
	idle func() error) error {
	ctx, release := access.WithLifetime(ctx)
	defer release()
	t, leave, err := h.joinTopic(ctx, ref)
	if err != nil {
		return err
	}
	defer leave()
	var beat <-chan time.Time
	if every > 0 {
		tick := time.NewTicker(every)
		defer tick.Stop()
		beat = tick.C
	}
	for seen := 0; ; {
		v, version, news, err := t.newestView(seen)
		if err != nil {
			return err
		}
		if v != nil {
			seen = version
			if err := send(v); err != nil || isFinalView(v.job) {
				return err
			}
			continue
		}
		select {
		case <-news:
		case <-beat:
			err = idle()
		case <-ctx.Done():
			err = explainEnd(ctx)
		case <-h.stopping:
			err = errStopping()
		}
		if err != nil {
			return err
		}
	}
}

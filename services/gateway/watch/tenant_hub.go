package watch

import (
	"context"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
)

const (
	// changeInterval is the least time between two looks at the jobs of a tenant that have changed.
	changeInterval = 500 * time.Millisecond
	// maxChanges bounds the changed jobs that a watcher has yet to look at. Beyond it the client reads its list again.
	maxChanges = 500
)

// changeSet is the jobs of a tenant that have changed since a watcher looked at them. It grows with the jobs, not with
// the changes, and has a bound, so a slow watcher delays nothing.
type changeSet struct {
	wake chan struct{} // holds one sign that there is something

	mu    sync.Mutex // guards what follows
	ids   map[job.ID]struct{}
	reset bool
}

func newChangeSet() *changeSet {
	return &changeSet{wake: make(chan struct{}, 1), ids: map[job.ID]struct{}{}}
}

func (c *changeSet) addJob(id job.ID) {
	c.mu.Lock()
	if len(c.ids) < maxChanges {
		c.ids[id] = struct{}{}
	} else if _, known := c.ids[id]; !known {
		c.reset = true
		clear(c.ids)
	}
	c.mu.Unlock()
	c.signal()
}

// resetAll has the client read its list again.
func (c *changeSet) resetAll() {
	c.mu.Lock()
	c.reset = true
	clear(c.ids)
	c.mu.Unlock()
	c.signal()
}

func (c *changeSet) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *changeSet) takeAll() (ids []job.ID, reset bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.ids {
		ids = append(ids, id)
	}
	reset = c.reset
	clear(c.ids)
	c.reset = false
	return ids, reset
}

// joinTenant has the changes of a tenant's jobs gathered for one more watcher, who calls leave in the end.
func (h *hub) joinTenant(ctx context.Context, tenant string) (set *changeSet, leave func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	dismiss, err := h.admitWatcher(ctx, tenant)
	if err != nil {
		return nil, nil, err
	}
	set = newChangeSet()
	set.resetAll() // what changed before it began
	if h.changes[tenant] == nil {
		h.changes[tenant] = map[*changeSet]struct{}{}
	}
	h.changes[tenant][set] = struct{}{}
	return set, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		dismiss()
		if delete(h.changes[tenant], set); len(h.changes[tenant]) == 0 {
			delete(h.changes, tenant)
		}
	}, nil
}

// watchTenant calls send with a reset, and then with every job of the tenant that changes, until ctx is done. While
// nothing changes it calls idle every so often; zero means never.
func (h *hub) watchTenant(ctx context.Context, tenant string, filter *inkstreamv1.JobFilter,
	send func(*inkstreamv1.JobChange) error, every time.Duration, idle func() error) error {
	ctx, release := access.WithLifetime(ctx)
	defer release()
	set, leave, err := h.joinTenant(ctx, tenant)
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
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
			select {
			case <-set.wake:
				err = h.sendChanges(ctx, tenant, filter, set, send)
				pause.Reset(changeInterval)
			case <-beat:
				err = idle()
				pause.Reset(0)
			case <-ctx.Done():
				err = explainEnd(ctx)
			case <-h.stopping:
				err = errStopping()
			}
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

func errStopping() error {
	return fault.New(apierror.ShuttingDown, "the server is stopping; watch again")
}

func (h *hub) sendChanges(ctx context.Context, tenant string, filter *inkstreamv1.JobFilter, set *changeSet,
	send func(*inkstreamv1.JobChange) error) error {
	ids, reset := set.takeAll()
	if reset {
		if err := send(&inkstreamv1.JobChange{Reset_: true}); err != nil {
			return err
		}
	}
	for _, id := range ids {
		look, cancel := context.WithTimeout(ctx, watchLoadTimeout)
		v, err := h.load(look, jobview.Ref{Tenant: tenant, ID: id})
		cancel()
		change := &inkstreamv1.JobChange{Job: v}
		switch code := fault.CodeOf(err); {
		case err == nil:
			change.Matches = matchesFilter(v, filter)
		case code == apierror.JobExpired:
			change.Job = &inkstreamv1.Job{Id: string(id), State: inkstreamv1.Job_EXPIRED}
		case code == apierror.JobDeleted, code == fault.JobNotFound:
			change.Job = &inkstreamv1.Job{Id: string(id), State: inkstreamv1.Job_DELETED}
		case ctx.Err() != nil:
			return ctx.Err()
		default: // the broker is away; what is missed, the next list has
			set.resetAll()
			return nil
		}
		if err := send(change); err != nil {
			return err
		}
	}
	return nil
}

// matchesFilter reports whether a job is one of the filter, as lists have it.
func matchesFilter(v *inkstreamv1.Job, f *inkstreamv1.JobFilter) bool {
	if len(f.GetState()) > 0 {
		found := false
		for _, state := range f.GetState() {
			found = found || state == v.GetState()
		}
		if !found {
			return false
		}
	}
	created := v.GetCreateTime().AsTime()
	switch {
	case f.GetFilename() != "" && !strings.Contains(strings.ToLower(v.GetFilename()), strings.ToLower(f.GetFilename())),
		f.GetCreateAfter() != nil && created.Before(f.GetCreateAfter().AsTime()),
		f.GetCreateBefore() != nil && !created.Before(f.GetCreateBefore().AsTime()),
		f.GetBatch() != "" && f.GetBatch() != v.GetBatch(),
		f.GetCode() != "" && f.GetCode() != v.GetError().GetCode():
		return false
	}
	for _, label := range f.GetLabel() {
		name, value, exact := strings.Cut(label, "=")
		if got, ok := v.GetLabels()[name]; !ok || exact && got != value {
			return false
		}
	}
	return true
}

// Package limits bounds what clients may ask of the gateway. An upload meets its throttles in one order:
//
//	rate         Rates, when the request comes            RATE_LIMITED
//	daily bytes  CheckExpectedBytes, where a length is    QUOTA_EXCEEDED   nothing of the body is read yet
//	             said; nothing is counted. Resumable
//	             uploads reserve it: ReserveDailyBytes
//	dependency   AdmitUpload: the broker, the blob store  UNAVAILABLE
//	backlog      AdmitUpload: documents wait for ingest   QUEUE_FULL
//	slot         AdmitUpload: uploads under way, of all   QUEUE_FULL
//	             and of the tenant
//	job quota    AdmitUpload: the caller's jobs           QUOTA_EXCEEDED
//	stall, pace  while the bytes come; MinThroughput      REQUEST_TIMEOUT
//	daily bytes  ConsumeDailyBytes, when they are stored  QUOTA_EXCEEDED
package limits

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/lifecycle"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/services/gateway/access"
)

// Config says how much clients may ask for.
type Config struct {
	// Rates bound every caller.
	Rates RatesConfig
	// MaxBacklog is the number of documents waiting for ingest from which on uploads are refused; 0 means nine tenths of
	// what the queue takes.
	MaxBacklog int64
	// AnswerMemory is how many bytes the answers may take that are held in memory; 0 means a part of the process's memory
	// limit.
	AnswerMemory int64
	// StallTimeout ends an answer of which the client takes nothing for that long.
	StallTimeout time.Duration
}

// Service holds the throttles. It is safe for concurrent use.
type Service struct {
	cfg    Config
	deps   stage.Deps
	status *lifecycle.Status
	// index is nil where the gateway was started without one.
	index   search.Store
	workers *sync.WaitGroup

	rates       *Rates
	backlog     *backlogGuard
	quota       *quota
	uploadSlots chan struct{} // a slot for each upload under way
	tenantSlots TenantSlots   // of the tenants in uploadSlots
	memory      *memory
	shared      shared
}

// New returns a Service under whose limits nothing is under way yet. The index may be nil. Its goroutines are counted
// among the workers.
func New(cfg Config, deps stage.Deps, status *lifecycle.Status, index search.Store, workers *sync.WaitGroup) *Service {
	return &Service{
		cfg: cfg, deps: deps, status: status, index: index, workers: workers, rates: NewRates(cfg.Rates),
		backlog: newBacklogGuard(deps.Bus, cfg.MaxBacklog), quota: newQuota(),
		uploadSlots: make(chan struct{}, maxUploads), tenantSlots: TenantSlots{MaxPerTenant: maxTenantUploads},
		memory: newMemory(cmp.Or(cfg.AnswerMemory, answerMemory(processMemoryLimit(), heapGrowth()))),
		shared: newShared(),
	}
}

// Rates returns the rates of callers' requests.
func (s *Service) Rates() *Rates { return s.rates }

// UploadsUnderWay returns how many uploads are under way.
func (s *Service) UploadsUnderWay() int { return len(s.uploadSlots) }

// AdmitUpload makes sure that there is room for the job that an upload stands for, and takes one of the places for
// uploads; the caller calls release in the end.
func (s *Service) AdmitUpload(ctx context.Context) (release func(), err error) {
	if err = s.checkDependencies(); err == nil {
		err = s.backlog.check(ctx)
	}
	if err != nil {
		s.deps.Tel.Metrics.CountUpload(ctx, string(fault.CodeOf(err)), 0)
		return nil, err
	}
	leave, err := s.AcquireUploadSlot(ctx)
	if err != nil {
		return nil, err
	}
	free, err := s.ReserveJobs(ctx, 1)
	if err != nil {
		leave()
		return nil, err
	}
	return func() { free(); leave() }, nil
}

// CheckBacklog returns a QUEUE_FULL fault while the queue is as full as uploads may make it.
func (s *Service) CheckBacklog(ctx context.Context) error { return s.backlog.check(ctx) }

// CallerOfJobs names whose jobs count together with those of the request: its caller, where that has a quota of its
// own; else it is empty.
func (s *Service) CallerOfJobs(ctx context.Context) string {
	_, caller := s.rates.JobLimit(access.CallerFrom(ctx))
	return caller
}

// checkDependencies returns an UNAVAILABLE fault while a dependency is known to be away that an upload cannot do
// without. Otherwise each upload would wait for it, and hold its place and its bytes as long. A stream that does
// not answer is none of them: the reconciler queues the job when it does.
func (s *Service) checkDependencies() error {
	for _, dependency := range []string{"nats", "blobs"} { // one by one, or a silent stream would hide that the blobs are away
		if err := s.status.DependencyError(dependency); err != nil && !errors.Is(err, bus.ErrUnresponsive) {
			return fault.Wrap(fault.Busy, fault.Unavailable, err)
		}
	}
	return nil
}

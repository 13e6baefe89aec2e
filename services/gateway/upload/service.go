// Package upload takes documents in: over REST as a form, as a body, or in pieces by the tus protocol, as JSON that names
// where a document is, and over gRPC. All of them go one way:
//
//	limits.AdmitUpload -> storeDocument -> registerJob: idempotency claim -> record -> 202; task, event
package upload

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/webhook"
)

const (
	// DefaultCreateTimeout is how long an upload tries to write its record when the broker is away: longer than two
	// exchanges of pkg/job, of 5 s each, so that what the first try has written is found by another, and shorter than
	// clients and proxies wait for an answer. An upload with the same idempotency key waits a little longer than that
	// before it takes the key over.
	DefaultCreateTimeout = 12 * time.Second
	// publishTimeout bounds how long the task of an upload may take to be queued. The record is durable by then, so the
	// answer does not wait for it.
	publishTimeout = 3 * time.Second
)

// Config says what uploads are taken.
type Config struct {
	// MaxUploadBytes bounds a document.
	MaxUploadBytes config.Bytes
	// Retention is how long a job and its results are kept from its creation on; 0 keeps them without a limit.
	Retention time.Duration
	// StallTimeout ends an upload of which no byte comes for that long.
	StallTimeout time.Duration
	// CreateTimeout is how long an upload tries to write its record.
	CreateTimeout time.Duration
	// Sources are where documents may be fetched from.
	Sources Sources
	// CallWebhooks says that the server calls the addresses that jobs come with, those that the policy allows.
	CallWebhooks  bool
	WebhookPolicy webhook.Policy
}

// Service takes documents in. It is safe for concurrent use.
type Service struct {
	cfg    Config
	deps   stage.Deps
	log    *slog.Logger
	jobs   *jobview.Service
	limits *limits.Service
	errors *apierror.Reporter
	index  search.Store // nil where the gateway was started without one

	languages  *languageCache
	rejections *rejectionAudit
	sources    *sources
	workers    *sync.WaitGroup
}

// New returns a Service; the index may be nil. Its goroutines are counted among the workers.
func New(cfg Config, deps stage.Deps, reader *jobview.Service, limit *limits.Service, report *apierror.Reporter,
	index search.Store, workers *sync.WaitGroup) (*Service, error) {
	places, err := newSources(cfg.Sources)
	if err != nil {
		return nil, err
	}
	return &Service{
		cfg: cfg, deps: deps, log: deps.Log, jobs: reader, limits: limit, errors: report, index: index, sources: places,
		languages: &languageCache{load: deps.Jobs.LoadLanguages}, rejections: newRejectionAudit(deps.Bus.PublishEvent),
		workers: workers,
	}, nil
}

// Run publishes what was refused to the audit trail until ctx is done.
func (s *Service) Run(ctx context.Context) { s.rejections.publishQueued(ctx) }

// Close closes the places that documents were fetched from.
func (s *Service) Close() error { return s.sources.closeStores() }

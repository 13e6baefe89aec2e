// Package results answers what jobs have yielded: artifacts, one by one or in an archive, and pages, as data and drawn.
package results

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"inkstream.dev/pkg/fairshare"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
)

// Service answers what jobs have yielded. It is safe for concurrent use.
type Service struct {
	deps   stage.Deps
	jobs   *jobview.Service
	limits *limits.Service
	errors *apierror.Reporter

	artifacts *artifactStore
	summaries *lru.Cache[summaryKey, *inkstreamv1.PageSummary]
	images    *imageCache

	imageSlots       chan struct{}    // a slot for each drawn page that is changed before it is answered
	imageAnswerSlots *fairshare.Slots // a slot for each drawn page that is being answered over REST
}

// New returns a Service.
func New(deps stage.Deps, reader *jobview.Service, limit *limits.Service, report *apierror.Reporter) *Service {
	// The only error is a size of less than one.
	summaries, _ := lru.New[summaryKey, *inkstreamv1.PageSummary](maxCachedSummaries)
	return &Service{deps: deps, jobs: reader, limits: limit, errors: report, artifacts: &artifactStore{deps.Blobs, limit},
		summaries: summaries, images: newImageCache(),
		imageSlots: make(chan struct{}, maxBoxedImages), imageAnswerSlots: fairshare.NewSlots(maxImageAnswers-spareImageAnswers, spareImageAnswers)}
}

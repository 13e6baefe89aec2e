// Package results answers what jobs have yielded: artifacts, one by one or in an archive, and pages, as data and drawn.
package results

import (
	"inkstream.dev/pkg/stage"
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

	imageSlots       chan struct{} // a slot for each page that boxes are being drawn into
	imageAnswerSlots chan struct{} // a slot for each drawn page that is being answered over REST
}

// New returns a Service.
func New(deps stage.Deps, reader *jobview.Service, limit *limits.Service, report *apierror.Reporter) *Service {
	return &Service{deps: deps, jobs: reader, limits: limit, errors: report,
		imageSlots: make(chan struct{}, maxBoxedImages), imageAnswerSlots: make(chan struct{}, maxImageAnswers)}
}

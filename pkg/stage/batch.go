package stage

import (
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// NewFailedPage returns the result of a page that could not be read.
func NewFailedPage(page int, stage string, err error) *inkstreamv1.Page {
	code := fault.CodeOf(err)
	return &inkstreamv1.Page{
		Number: int32(page), Outcome: job.OutcomeFailed, Reason: code.ShortReason(),
		Error: &inkstreamv1.Error{
			Code: string(code), Stage: stage, Page: int32(page), Message: fault.UserMessageOf(err),
			Retryable: code.IsRetryable(),
		},
	}
}

const (
	// MaxBatchBytes bounds a stored page or batch of pages that a service reads back.
	MaxBatchBytes = 256 << 20
	// ContentTypeProtobuf is the content type of batches.
	ContentTypeProtobuf = "application/vnd.google.protobuf"
)

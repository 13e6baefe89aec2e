package jobview

import (
	"context"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/limits"
)

const (
	// MaxPageBytes bounds the stored result of one page.
	MaxPageBytes = 64 << 20
	// PageWeight is how many bytes of memory an answer takes for each byte of the stored page: those bytes, the page as a
	// message, which is seven times as long, and for gRPC its words once more, encoded. The JSON is written piece by piece.
	PageWeight = 16
)

// UseStoredPage calls use with the page that is stored under key, which is in memory as long as use runs, within the
// tenant's share of memory and processors. The error is that of the blob store where there is none.
func UseStoredPage(ctx context.Context, blobs *blob.Store, limit *limits.Service, key string,
	use func(*inkstreamv1.Page)) error {
	attrs, err := blobs.ReadAttributes(ctx, key)
	if err != nil {
		return err
	}
	release, err := limit.AcquireMemory(ctx, attrs.Size*PageWeight)
	if err != nil {
		return err
	}
	defer release()
	data, err := blobs.ReadBytes(ctx, key, MaxPageBytes)
	if err != nil {
		return err
	}
	done, err := limit.AcquireProcessor(ctx)
	if err != nil {
		return err
	}
	defer done()
	page, err := document.DecodePage(data)
	if err == nil {
		use(page)
	}
	return err
}

package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

// BeginUpload begins a blob.
func (b *s3Bucket) BeginUpload(ctx context.Context, key string, opts PutOptions) (Upload, error) {
	ctx, cancel := context.WithCancel(ctx)
	return &s3Upload{ctx: ctx, cancel: cancel, bucket: b, key: aws.String(b.prefix + key), contentType: &opts.ContentType,
		pending: new(bytes.Buffer)}, nil
}

// s3Upload gathers a blob. One of at most s3PartBytes is put by one request, a larger one in parts.
type s3Upload struct {
	ctx         context.Context //nolint:containedctx // an upload is one call that its caller makes in pieces
	cancel      context.CancelFunc
	bucket      *s3Bucket
	key         *string
	contentType *string
	// pending is what was not sent yet.
	pending *bytes.Buffer
	// parts is nil until the upload in parts has begun.
	parts *s3Parts
}

// s3Parts are the parts of an upload.
type s3Parts struct {
	id     *string
	group  *errgroup.Group
	ctx    context.Context //nolint:containedctx // that of the group: it ends with the first part that fails
	buffer sync.Pool
	last   int32

	mu   sync.Mutex
	sent []types.CompletedPart
}

// Write adds p to the blob.
func (u *s3Upload) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		if u.pending.Len() == s3PartBytes {
			if err := u.sendPart(); err != nil {
				return written, err
			}
		}
		n, _ := u.pending.Write(p[:min(len(p), s3PartBytes-u.pending.Len())]) // a buffer takes all
		written, p = written+n, p[n:]
	}
	return written, nil
}

// sendPart sends what is pending as the next part, beside the one before.
func (u *s3Upload) sendPart() error {
	if u.parts == nil {
		if err := u.beginParts(); err != nil {
			return err
		}
	}
	parts, part := u.parts, u.pending
	if parts.ctx.Err() != nil { // a part has failed, or the caller has given up
		return context.Cause(parts.ctx)
	}
	parts.last++
	number := parts.last
	parts.group.Go(func() error { // which waits while s3PartsAtOnce are on their way
		defer parts.buffer.Put(part)
		out, err := u.bucket.client.UploadPart(parts.ctx, &s3.UploadPartInput{
			Bucket: &u.bucket.name, Key: u.key, UploadId: parts.id, PartNumber: &number,
			ChecksumAlgorithm: u.bucket.checksum, Body: bytes.NewReader(part.Bytes()),
		})
		if err != nil {
			return fmt.Errorf("part %d: %w", number, err)
		}
		parts.mu.Lock()
		defer parts.mu.Unlock()
		parts.sent = append(parts.sent, types.CompletedPart{PartNumber: &number, ETag: out.ETag,
			ChecksumCRC32: out.ChecksumCRC32})
		return nil
	})
	u.pending = parts.buffer.Get().(*bytes.Buffer)
	u.pending.Reset()
	return nil
}

func (u *s3Upload) beginParts() error {
	out, err := u.bucket.client.CreateMultipartUpload(u.ctx, &s3.CreateMultipartUploadInput{
		Bucket: &u.bucket.name, Key: u.key, ContentType: u.contentType, ChecksumAlgorithm: u.bucket.checksum,
	})
	if err != nil {
		return err
	}
	u.parts = &s3Parts{id: out.UploadId}
	u.parts.buffer.New = func() any { return bytes.NewBuffer(make([]byte, 0, s3PartBytes)) }
	u.parts.group, u.parts.ctx = errgroup.WithContext(u.ctx)
	u.parts.group.SetLimit(s3PartsAtOnce)
	return nil
}

// Commit makes the blob appear. A server that has said yes keeps it.
func (u *s3Upload) Commit() error {
	defer u.cancel()
	if u.parts == nil {
		_, err := u.bucket.client.PutObject(u.ctx, &s3.PutObjectInput{
			Bucket: &u.bucket.name, Key: u.key, ContentType: u.contentType,
			ContentLength: aws.Int64(int64(u.pending.Len())), Body: bytes.NewReader(u.pending.Bytes()),
		})
		return err
	}
	err := u.sendPart()
	if waitErr := u.parts.group.Wait(); err == nil {
		err = waitErr
	}
	if err != nil {
		return errors.Join(err, u.dropParts())
	}
	slices.SortFunc(u.parts.sent, func(a, b types.CompletedPart) int { return int(*a.PartNumber - *b.PartNumber) })
	_, err = u.bucket.client.CompleteMultipartUpload(u.ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.bucket.name, Key: u.key, UploadId: u.parts.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts.sent},
	})
	if err != nil {
		return errors.Join(err, u.dropParts())
	}
	return nil
}

// Abort drops the blob.
func (u *s3Upload) Abort() error {
	u.cancel()
	if u.parts == nil {
		return nil
	}
	_ = u.parts.group.Wait() // that parts failed is what was asked for
	return u.dropParts()
}

// errPartsLeft is wrapped by errors of uploads whose parts are still on the server; SweepAbandoned will find them.
var errPartsLeft = errors.New("the parts of the upload were not dropped")

// dropParts drops the parts of an upload that failed. The context of the upload is as a rule what has ended.
func (u *s3Upload) dropParts() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), s3DropTimeout)
	defer cancel()
	_, err := u.bucket.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &u.bucket.name, Key: u.key, UploadId: u.parts.id,
	})
	if err != nil && serverErrorCode(err) != "NoSuchUpload" {
		return fmt.Errorf("%w: %w", errPartsLeft, err)
	}
	return nil
}

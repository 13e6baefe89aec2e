package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	gcaws "gocloud.dev/aws"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

const (
	// s3SmallBytes is up to where a blob is held in memory and put by one request. Nearly all are smaller: pages, texts,
	// facts.
	s3SmallBytes = 512 << 10
	// s3PartBytes and s3PartsAtOnce bound what a large upload holds: parts are sent again when a request fails. 10,000
	// parts of 8 MiB are 80 GB.
	s3PartBytes   = 8 << 20
	s3PartsAtOnce = 2
	// s3Connections are kept open for the next request; more are made where more are wanted at once.
	s3Connections = 64
	// s3ResponseTimeout is how long a server may take to begin an answer, or to take or send another piece of a blob;
	// without it, a server that hangs would block its caller without end. What the kernels hold of a part that was sent
	// counts as taken, so a connection must carry some 210 KB a second. s3Attempts is how often a request is made, with up
	// to s3MaxBackoff in between. All of them together are two minutes, below what a job may stand still: a server that
	// hangs is waited for, and has to be known as such before.
	s3ResponseTimeout = 40 * time.Second
	s3Attempts        = 3
	s3MaxBackoff      = 2 * time.Second
	// s3DialTimeout bounds the making of a connection.
	s3DialTimeout = 10 * time.Second
	// s3IdleTimeout closes connections before s3ResponseTimeout does, which would do it under a request that has just
	// begun.
	s3IdleTimeout = 15 * time.Second
	// s3AbandonedAge is how old an upload in parts must be at least before it is taken for one that a crash left.
	s3AbandonedAge = 24 * time.Hour
	// s3DropTimeout bounds the dropping of an upload's parts, whose caller may be waiting for nothing else.
	s3DropTimeout = 10 * time.Second
	// s3BucketCheckAge is how long a bucket that was seen is believed to be there.
	s3BucketCheckAge = 10 * time.Second
	// s3DefaultRegion goes into the signatures of servers that have no regions.
	s3DefaultRegion = "us-east-1"
)

// s3Bucket is a Driver over a bucket of an S3 server. What it does by itself and not through gocloud: small blobs go
// in one request without the buffers of an upload in parts; deleting asks no questions first, and takes a thousand
// blobs at a time; and a bucket that is not there is told from a blob that is not there.
type s3Bucket struct {
	*bucket
	client *s3.Client
	name   string
	prefix string
	// abandoned is s3AbandonedAge but in tests.
	abandoned time.Duration
	seenAt    atomic.Int64 // when the bucket was last known to be there, in Unix nanoseconds
}

// s3Params are the parameters of an s3 URL.
var s3Params = []string{"endpoint", "region", "path_style", "profile", "prefix", "checksums"}

// openS3Bucket returns the bucket that the URL names. It asks the server nothing: services start before their stores.
func openS3Bucket(ctx context.Context, u *url.URL, dial dialer) (*s3Bucket, error) {
	if u.User != nil {
		return nil,
			errors.New("blob URL: has a user name or password; credentials are taken from the environment or a profile")
	}
	if u.Host == "" || u.Path != "" && u.Path != "/" {
		return nil, errors.New("blob URL: want s3://bucket, and a folder in it as prefix=folder")
	}
	q := u.Query()
	for name, values := range q {
		if !slices.Contains(s3Params, name) || len(values) != 1 {
			return nil, fmt.Errorf("blob URL: parameter %s: want each of %s once at most", name, strings.Join(s3Params, ", "))
		}
	}
	prefix := strings.Trim(q.Get("prefix"), "/")
	if prefix != "" {
		if err := checkKey(prefix); err != nil {
			return nil, fmt.Errorf("blob URL: parameter prefix: %w", err)
		}
		prefix += "/"
	}
	client, opts, err := newS3Client(ctx, q, dial)
	if err != nil {
		return nil, err
	}
	blobs, err := s3blob.OpenBucket(ctx, client, u.Host, opts)
	if err != nil {
		return nil, fmt.Errorf("open bucket: %w", err)
	}
	if prefix != "" {
		blobs = blob.PrefixedBucket(blobs, prefix)
	}
	return &s3Bucket{bucket: newBucket(blobs), client: client, name: u.Host, prefix: prefix, abandoned: s3AbandonedAge},
		nil
}

// setChecksums says which checksums the client makes and wants, by the parameter checksums.
func setChecksums(cfg *aws.Config, q url.Values) error {
	switch q.Get("checksums") {
	case "":
		if q.Has("endpoint") { // not every server knows the checksums that Amazon's has learned
			cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
			cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
		}
	case "on":
		cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenSupported
		cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenSupported
	case "off":
		cfg.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		cfg.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	default:
		return errors.New("blob URL: parameter checksums: want on or off")
	}
	return nil
}

// newS3Client returns a client of the server that the parameters name, with the credentials of the environment.
func newS3Client(ctx context.Context, q url.Values, dial dialer) (*s3.Client, *s3blob.Options, error) {
	pathStyle := q.Get("endpoint") != "" // few servers beside Amazon's have a host name for each bucket
	switch v := q.Get("path_style"); v {
	case "":
	case "true", "false":
		pathStyle = v == "true"
	default:
		return nil, nil, errors.New("blob URL: parameter path_style: want true or false")
	}
	params := url.Values{}
	for _, name := range []string{"endpoint", "region", "profile"} {
		if q.Has(name) {
			params.Set(name, q.Get(name))
		}
	}
	if e, err := url.Parse(q.Get("endpoint")); err != nil || q.Has("endpoint") &&
		(e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil) {
		return nil, nil, errors.New("blob URL: parameter endpoint: want http:// or https://, a host, and no credentials")
	}
	cfg, err := gcaws.V2ConfigFromURLParams(ctx, params)
	if err != nil {
		return nil, nil, fmt.Errorf("configuration of the S3 client: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = s3DefaultRegion
	}
	if err := setChecksums(&cfg, q); err != nil {
		return nil, nil, err
	}
	cfg.HTTPClient = awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns, t.MaxIdleConnsPerHost = s3Connections, s3Connections
		t.ResponseHeaderTimeout, t.IdleConnTimeout = s3ResponseTimeout, s3IdleTimeout
		t.ForceAttemptHTTP2 = false // there a reader that takes its time silences the connection of all
		t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := dial(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return idleTimeoutConn{c}, nil
		}
	})
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = pathStyle
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff, r.RateLimiter = s3Attempts, s3MaxBackoff, ratelimit.None
		})
		o.DisableLogOutputChecksumValidationSkipped = true
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("InkstreamHearOut", awaitMultipartAnswer),
				middleware.Before)
		})
	})
	return client, &s3blob.Options{RequestChecksumCalculation: cfg.RequestChecksumCalculation}, nil
}

// awaitMultipartAnswer waits for a while for what a server answers to the beginning of an upload in parts, and to a
// part that it has begun to take, though the caller has given up. A caller that does not know the upload's name
// cannot drop it, and a part that the server is still busy with may be stored after the upload was dropped
// (AbortMultipartUpload in the S3 reference). For the dropping itself it waits no longer than s3DropTimeout.
func awaitMultipartAnswer(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	switch in.Parameters.(type) {
	case *s3.CreateMultipartUploadInput, *s3.UploadPartInput:
	case *s3.AbortMultipartUploadInput: // the uploader drops the parts by itself as well, where one has waited for a hanging server in vain
		ctx, cancel := context.WithTimeout(ctx, s3DropTimeout)
		defer cancel()
		return next.HandleInitialize(ctx, in)
	default:
		return next.HandleInitialize(ctx, in)
	}
	if ctx.Err() != nil {
		return next.HandleInitialize(ctx, in)
	}
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		enough := time.NewTimer(s3DropTimeout)
		defer enough.Stop()
		select {
		case <-enough.C:
			cancel()
		case <-longer.Done():
		}
	})
	defer stop()
	return next.HandleInitialize(longer, in)
}

// BeginUpload begins a blob.
func (b *s3Bucket) BeginUpload(ctx context.Context, key string, opts PutOptions) (Upload, error) {
	return &s3Upload{ctx: ctx, bucket: b, key: key, opts: opts}, nil
}

// s3Upload gathers a blob, and begins an upload in parts only when there is much of it.
type s3Upload struct {
	ctx    context.Context //nolint:containedctx // an upload is one call that its caller makes in pieces
	bucket *s3Bucket
	key    string
	opts   PutOptions
	small  bytes.Buffer
	large  *bucketUpload
}

// Write adds p to the blob.
func (u *s3Upload) Write(p []byte) (int, error) {
	if u.large == nil && u.small.Len()+len(p) > s3SmallBytes {
		if err := u.beginMultipart(); err != nil {
			return 0, err
		}
	}
	if u.large != nil {
		return u.large.Write(p)
	}
	return u.small.Write(p)
}

// beginMultipart begins an upload in parts, and passes on what there is.
func (u *s3Upload) beginMultipart() error {
	// gocloud drops a blob only when its context ends before Close, so each upload has one of its own.
	ctx, cancel := context.WithCancel(u.ctx)
	w, err := u.bucket.blobs.NewWriter(ctx, u.key, &blob.WriterOptions{
		ContentType: u.opts.ContentType, BufferSize: s3PartBytes, MaxConcurrency: s3PartsAtOnce,
	})
	if err != nil {
		cancel()
		return err
	}
	u.large = &bucketUpload{w: w, cancel: cancel}
	_, err = u.large.Write(u.small.Bytes())
	u.small = bytes.Buffer{}
	return err
}

// Commit makes the blob appear. A server that has said yes keeps it.
func (u *s3Upload) Commit() error {
	if u.large != nil {
		return u.dropParts(u.large.Commit())
	}
	_, err := u.bucket.client.PutObject(u.ctx, &s3.PutObjectInput{
		Bucket: &u.bucket.name, Key: aws.String(u.bucket.prefix + u.key), ContentType: &u.opts.ContentType,
		ContentLength: aws.Int64(int64(u.small.Len())), Body: bytes.NewReader(u.small.Bytes()),
	})
	return err
}

// Abort drops the blob.
func (u *s3Upload) Abort() error {
	if u.large == nil {
		return nil
	}
	u.large.cancel()
	// What Close answers is that it was cancelled, in one shape or another. That the parts are gone is what counts.
	if err := u.dropParts(u.large.w.Close()); errors.Is(err, errPartsLeft) {
		return err
	}
	return nil
}

// errPartsLeft is wrapped by errors of uploads whose parts are still on the server; Sweep will find them.
var errPartsLeft = errors.New("the parts of the upload were not dropped")

// dropParts drops the parts of an upload that failed with err, and returns err. The uploader does so itself, but with
// the context of the upload, which as a rule is what has ended.
func (u *s3Upload) dropParts(err error) error {
	up, ok := errors.AsType[interface {
		error
		UploadID() string
	}](err)
	if !ok {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.ctx), s3DropTimeout)
	defer cancel()
	_, dropErr := u.bucket.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
		Bucket: &u.bucket.name, Key: aws.String(u.bucket.prefix + u.key), UploadId: aws.String(up.UploadID()),
	})
	if dropErr != nil && serverErrorCode(dropErr) != "NoSuchUpload" {
		return errors.Join(err, fmt.Errorf("%w: %w", errPartsLeft, dropErr))
	}
	return err
}

// OpenRange reads a part of the blob. Ranges that begin at its end or past it, which S3 refuses, are empty.
func (b *s3Bucket) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.bucket.OpenRange(ctx, key, offset, length)
	if serverErrorCode(err) == "InvalidRange" || httpStatusOf(err) == http.StatusRequestedRangeNotSatisfiable {
		return http.NoBody, nil
	}
	if err != nil {
		return nil, b.reportMissingBucket(ctx, err)
	}
	return r, nil
}

// OpenFile copies the blob to a file without a name.
func (b *s3Bucket) OpenFile(ctx context.Context, key string) (*os.File, error) {
	from, err := b.OpenRange(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	return copyToUnnamedFile(from)
}

// ReadAttributes describes the blob.
func (b *s3Bucket) ReadAttributes(ctx context.Context, key string) (Attributes, error) {
	a, err := b.bucket.ReadAttributes(ctx, key)
	return a, b.reportMissingBucket(ctx, err)
}

// CopyBlob has the server copy the blob.
func (b *s3Bucket) CopyBlob(ctx context.Context, from, to string) error {
	return b.reportMissingBucket(ctx, b.mapNotFound(b.blobs.Copy(ctx, to, from, nil)))
}

// DeleteBlob removes the blob. It never answers ErrNotFound.
func (b *s3Bucket) DeleteBlob(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + key)})
	if code := serverErrorCode(err); code == "NoSuchKey" || code == "NotFound" {
		return nil // servers of folders and files may say so
	}
	return err
}

// DeleteFolder removes the blobs below folder, as many at a time as a list has.
func (b *s3Bucket) DeleteFolder(ctx context.Context, folder string) error {
	list := s3.NewListObjectsV2Paginator(b.client,
		&s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(b.prefix + folder + "/")})
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return err
		}
		if len(page.Contents) == 0 {
			continue
		}
		objects := make([]types.ObjectIdentifier, len(page.Contents))
		for i, o := range page.Contents {
			objects[i].Key = o.Key
		}
		res, err := b.client.DeleteObjects(ctx,
			&s3.DeleteObjectsInput{Bucket: &b.name, Delete: &types.Delete{Objects: objects, Quiet: aws.Bool(true)}})
		if err != nil {
			return err
		}
		for _, e := range res.Errors {
			if code := aws.ToString(e.Code); code != "NoSuchKey" {
				return fmt.Errorf("delete: %s: %s", code, aws.ToString(e.Message))
			}
		}
	}
	return nil
}

// SweepAbandoned ends uploads in parts that no process goes on with, which servers keep, and charge for, without
// showing them. S3 does not tell which writers are alive, so that it takes a day's age as well.
func (b *s3Bucket) SweepAbandoned(ctx context.Context, olderThan time.Duration) (int, error) {
	before := time.Now().Add(-max(olderThan, b.abandoned))
	list := s3.NewListMultipartUploadsPaginator(b.client,
		&s3.ListMultipartUploadsInput{Bucket: &b.name, Prefix: &b.prefix})
	swept := 0
	for list.HasMorePages() {
		page, err := list.NextPage(ctx)
		if err != nil {
			return swept, err
		}
		for _, up := range page.Uploads {
			if aws.ToTime(up.Initiated).After(before) {
				continue
			}
			_, err := b.client.AbortMultipartUpload(ctx,
				&s3.AbortMultipartUploadInput{Bucket: &b.name, Key: up.Key, UploadId: up.UploadId})
			switch {
			case err == nil:
				swept++
			case serverErrorCode(err) != "NoSuchUpload": // ended since the listing
				return swept, err
			}
		}
	}
	return swept, nil
}

// reportMissingBucket takes ErrNotFound out of an error if it is the bucket that is missing: blobs in a bucket with a
// wrong name are not gone.
func (b *s3Bucket) reportMissingBucket(ctx context.Context, err error) error {
	if !errors.Is(err, ErrNotFound) {
		return err
	}
	if serverErrorCode(err) != "NoSuchBucket" { // which an answer to HEAD, having no body, cannot say
		now := time.Now()
		if now.Sub(time.Unix(0, b.seenAt.Load())) < s3BucketCheckAge {
			return err
		}
		_, headErr := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.name})
		switch {
		case headErr == nil:
			b.seenAt.Store(now.UnixNano())
			return err
		case httpStatusOf(headErr) != http.StatusNotFound:
			return headErr
		}
	}
	return fmt.Errorf("there is no bucket %s", b.name)
}

// serverErrorCode returns what the server calls an error, empty if it is none of the server's.
func serverErrorCode(err error) string {
	if e, ok := errors.AsType[smithy.APIError](err); ok {
		return e.ErrorCode()
	}
	return ""
}

// httpStatusOf returns the HTTP status of an error, 0 if it has none.
func httpStatusOf(err error) int {
	if e, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		return e.HTTPStatusCode()
	}
	return 0
}

package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
)

const (
	// s3PartBytes is up to where a blob is held in memory and put by one request; nearly all are far smaller: pages,
	// texts, facts. With s3PartsAtOnce it bounds what a larger upload holds: parts are sent again when a request fails.
	// 10,000 parts of 8 MiB are 80 GB.
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

// s3Bucket is a Driver over a bucket of an S3 server. Deleting asks no questions first, and takes a thousand blobs at a
// time; a bucket that is not there is told from a blob that is not there. Uploads are in s3_upload.go.
type s3Bucket struct {
	client *s3.Client
	name   string
	prefix string
	// checksum is the algorithm of the parts' checksums, "" for none.
	checksum types.ChecksumAlgorithm
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
	client, err := newS3Client(ctx, q, dial)
	if err != nil {
		return nil, err
	}
	b := &s3Bucket{client: client, name: u.Host, prefix: prefix, abandoned: s3AbandonedAge}
	if client.Options().RequestChecksumCalculation == aws.RequestChecksumCalculationWhenSupported {
		b.checksum = types.ChecksumAlgorithmCrc32
	}
	return b, nil
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
func newS3Client(ctx context.Context, q url.Values, dial dialer) (*s3.Client, error) {
	pathStyle := q.Get("endpoint") != "" // few servers beside Amazon's have a host name for each bucket
	switch v := q.Get("path_style"); v {
	case "":
	case "true", "false":
		pathStyle = v == "true"
	default:
		return nil, errors.New("blob URL: parameter path_style: want true or false")
	}
	if e, err := url.Parse(q.Get("endpoint")); err != nil || q.Has("endpoint") &&
		(e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.User != nil) {
		return nil, errors.New("blob URL: parameter endpoint: want http:// or https://, a host, and no credentials")
	}
	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(q.Get("region")),
		config.WithSharedConfigProfile(q.Get("profile")))
	if err != nil {
		return nil, fmt.Errorf("configuration of the S3 client: %w", err)
	}
	if cfg.Region == "" {
		cfg.Region = s3DefaultRegion
	}
	if err := setChecksums(&cfg, q); err != nil {
		return nil, err
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
	return s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.UsePathStyle = pathStyle
		if q.Has("endpoint") {
			o.BaseEndpoint = aws.String(q.Get("endpoint"))
		}
		o.Retryer = retry.NewStandard(func(r *retry.StandardOptions) {
			r.MaxAttempts, r.MaxBackoff, r.RateLimiter = s3Attempts, s3MaxBackoff, ratelimit.None
		})
		o.DisableLogOutputChecksumValidationSkipped = true
		o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("InkstreamHearOut", awaitMultipartAnswer),
				middleware.Before)
		})
	}), nil
}

// awaitMultipartAnswer waits for a while for what a server answers to the beginning of an upload in parts, and to a
// part that it has begun to take, though the caller has given up. A caller that does not know the upload's name
// cannot drop it, and a part that the server is still busy with may be stored after the upload was dropped
// (AbortMultipartUpload in the S3 reference).
func awaitMultipartAnswer(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	switch in.Parameters.(type) {
	case *s3.CreateMultipartUploadInput, *s3.UploadPartInput:
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

// OpenRange reads a part of the blob. Ranges that begin at its end or past it, which S3 refuses, are empty.
func (b *s3Bucket) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	in := &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + key)}
	switch {
	case length >= 0: // there is no range without a byte, so that of none has one
		in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+max(length, 1)-1))
	case offset > 0:
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	out, err := b.client.GetObject(ctx, in)
	switch {
	case isRangeRefused(err):
		return http.NoBody, nil
	case err != nil:
		return nil, b.explainNotFound(ctx, err)
	case length == 0:
		return http.NoBody, out.Body.Close()
	default:
		return out.Body, nil
	}
}

// OpenFile copies the blob to a file without a name. It begins again where the body ends too soon: the client asks
// again only where no answer comes.
func (b *s3Bucket) OpenFile(ctx context.Context, key string) (f *os.File, err error) {
	for range s3Attempts {
		from, openErr := b.OpenRange(ctx, key, 0, -1)
		if openErr != nil {
			return nil, openErr
		}
		f, err = copyToUnnamedFile(from)
		_ = from.Close() // all of it was read, or that failed
		if err == nil || ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	return f, err
}

// ReadTail describes the blob and returns its end, by one request.
func (b *s3Bucket) ReadTail(ctx context.Context, key string, n int) ([]byte, Attributes, error) {
	if n > 0 {
		out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + key),
			Range: aws.String(fmt.Sprintf("bytes=-%d", n))})
		switch {
		case err == nil:
			return readTailAnswer(out)
		case !isRangeRefused(err): // which that of an empty blob is
			return nil, Attributes{}, b.explainNotFound(ctx, err)
		}
	}
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + key)})
	if err != nil {
		return nil, Attributes{}, b.explainNotFound(ctx, err)
	}
	return nil, Attributes{Size: aws.ToInt64(out.ContentLength), ModTime: aws.ToTime(out.LastModified),
		ContentType: aws.ToString(out.ContentType)}, nil
}

// readTailAnswer reads what a server answers to a request for the end of a blob.
func readTailAnswer(out *s3.GetObjectOutput) ([]byte, Attributes, error) {
	attrs := Attributes{ModTime: aws.ToTime(out.LastModified), ContentType: aws.ToString(out.ContentType)}
	tail, err := io.ReadAll(out.Body)
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return nil, attrs, fmt.Errorf("read the end: %w", err)
	}
	_, size, found := strings.Cut(aws.ToString(out.ContentRange), "/")
	if attrs.Size, err = strconv.ParseInt(size, 10, 64); !found { // all of it: it is shorter
		attrs.Size, err = int64(len(tail)), nil
	}
	if err != nil {
		return nil, attrs, fmt.Errorf("size of the blob: %w", err)
	}
	return tail, attrs, nil
}

// isRangeRefused reports whether a server refused to send a part that the blob does not have.
func isRangeRefused(err error) bool {
	return serverErrorCode(err) == "InvalidRange" || httpStatusOf(err) == http.StatusRequestedRangeNotSatisfiable
}

// ListEntries yields the blobs with that prefix.
func (b *s3Bucket) ListEntries(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for objects, err := range b.listObjects(ctx, prefix) {
			if err != nil {
				yield(Entry{}, err)
				return
			}
			for _, o := range objects {
				if !yield(Entry{Key: strings.TrimPrefix(aws.ToString(o.Key), b.prefix), Size: aws.ToInt64(o.Size),
					ModTime: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
		}
	}
}

// listObjects yields what the server has below the prefix, as many at a time as one answer holds. A folder is asked for
// without its final slash, and what has that name in common is left out here: where a folder is not there, a server
// over a file system (versitygw 1.8) reads the one above it, which is then the job's and not that of all jobs. With
// 100,000 of them that takes 0.1 s of CPU.
func (b *s3Bucket) listObjects(ctx context.Context, prefix string) iter.Seq2[[]types.Object, error] {
	return func(yield func([]types.Object, error) bool) {
		want := b.prefix + prefix
		list := s3.NewListObjectsV2Paginator(b.client,
			&s3.ListObjectsV2Input{Bucket: &b.name, Prefix: aws.String(strings.TrimSuffix(want, "/"))})
		for list.HasMorePages() {
			page, err := list.NextPage(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			below := slices.DeleteFunc(page.Contents,
				func(o types.Object) bool { return !strings.HasPrefix(aws.ToString(o.Key), want) })
			if len(below) > 0 && !yield(below, nil) {
				return
			}
		}
	}
}

// CopyBlob has the server copy the blob.
func (b *s3Bucket) CopyBlob(ctx context.Context, from, to string) error {
	_, err := b.client.CopyObject(ctx, &s3.CopyObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + to),
		CopySource: aws.String(url.QueryEscape(b.name + "/" + b.prefix + from))})
	return b.explainNotFound(ctx, err)
}

// DeleteBlob removes the blob. It never answers ErrNotFound.
func (b *s3Bucket) DeleteBlob(ctx context.Context, key string) error {
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.name, Key: aws.String(b.prefix + key)})
	if code := serverErrorCode(err); code == "NoSuchKey" || code == "NotFound" {
		return nil // servers of folders and files may say so
	}
	return err
}

// DeleteFolder removes the blobs below folder, as many at a time as a list has. Where temporary ones may be there are
// none as a rule, nor the folder above, so that all of those are listed; see listObjects.
func (b *s3Bucket) DeleteFolder(ctx context.Context, folder string) error {
	within := folder
	if above := path.Dir(folder); IsTemporary(above) {
		within = above
	}
	for found, err := range b.listObjects(ctx, within+"/") {
		if err != nil {
			return err
		}
		var objects []types.ObjectIdentifier
		for _, o := range found {
			if strings.HasPrefix(aws.ToString(o.Key), b.prefix+folder+"/") {
				objects = append(objects, types.ObjectIdentifier{Key: o.Key})
			}
		}
		if len(objects) == 0 {
			continue
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

// Close has nothing to do: idle connections end by themselves.
func (b *s3Bucket) Close() error { return nil }

// explainNotFound adds ErrNotFound to an error if it is the blob that is missing, and not the bucket: blobs in a bucket
// with a wrong name are not gone.
func (b *s3Bucket) explainNotFound(ctx context.Context, err error) error {
	if err == nil || httpStatusOf(err) != http.StatusNotFound {
		return err
	}
	if serverErrorCode(err) != "NoSuchBucket" { // which an answer to HEAD, having no body, cannot say
		now, missing := time.Now(), fmt.Errorf("%w: %w", ErrNotFound, err)
		if now.Sub(time.Unix(0, b.seenAt.Load())) < s3BucketCheckAge {
			return missing
		}
		_, headErr := b.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &b.name})
		switch {
		case headErr == nil:
			b.seenAt.Store(now.UnixNano())
			return missing
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

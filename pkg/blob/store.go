package blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/fault"
)

// ErrNotFound is wrapped by what Get, OpenRange, ReadBytes, OpenFile and ReadAttributes return for a key without a
// blob.
var ErrNotFound = errors.New("no such blob")

// ErrTooLarge is wrapped by what ReadBytes returns for a blob of more bytes than its caller wants to hold.
var ErrTooLarge = errors.New("blob is too large")

// Store keeps blobs by key. Keys are 1 to 512 bytes of [A-Za-z0-9._/-] without empty, "." or ".." elements; others
// are INVALID_ARGUMENT faults. Errors that may pass (disk full, I/O, network) are faults of kind Busy with the code
// UNAVAILABLE. No key may be the folder of another (a and a/b): a folder refuses the second of them. A Store is safe
// for concurrent use. Of several writers of one key the last to commit wins, whole.
type Store struct {
	driver     Driver
	reads      bundledDriver // the same, with what is in bundles
	probe      writeProbe
	noCompress bool // blobs are stored as they come
}

// New returns a Store over driver, which it owns.
func New(driver Driver) *Store {
	return &Store{driver: driver, reads: bundledDriver{driver}, probe: writeProbe{key: newProbeKey()}}
}

// Open returns the Store at url, making its folder where it is missing:
//
//	file:///abs/dir            a folder; blobs are fsynced unless temporary
//	file:///abs/dir?fsync=off  the same, but a power cut may take what was acknowledged
//	mem://                     memory; every Open gets a store of its own
//	s3://bucket                a bucket of Amazon S3
//	s3://bucket?endpoint=https://host&path_style=true
//	                           a bucket of another server that speaks S3
//
// Buckets are not made. Their credentials are those of the environment (AWS_ACCESS_KEY_ID …), of the profile that
// profile= names, or of the machine's role. region= names the region, path_style= is true by default where there is
// an endpoint, prefix= names a folder of the bucket that holds all keys, and checksums=on sends Amazon's newer
// checksums to other servers too. compress=off, for a folder and for a bucket, has new blobs stored as they come, so that
// services of an older version can read them.
func Open(ctx context.Context, rawURL string) (*Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, errors.New("blob URL does not parse") // without the URL: it may hold a secret
	}
	compress, err := takeCompressParam(u)
	if err != nil {
		return nil, err
	}
	driver, err := openDriver(ctx, u)
	if err != nil {
		return nil, err
	}
	s := New(driver)
	s.noCompress = !compress
	return s, nil
}

func openDriver(ctx context.Context, u *url.URL) (Driver, error) {
	switch u.Scheme {
	case "file":
		opts, err := parseFolderOptions(u)
		if err != nil {
			return nil, err
		}
		driver, err := openFolder(u.Path, opts)
		if err != nil {
			return nil, fmt.Errorf("open blob folder: %w", err)
		}
		return driver, nil
	case "mem":
		return newMemory(), nil
	case "s3":
		return openS3Bucket(ctx, u, dialTCP)
	default:
		return nil, fmt.Errorf("blob URL scheme %q, want file, s3 or mem", u.Scheme)
	}
}

// takeCompressParam takes the parameter compress out of a URL, and reports whether blobs may be compressed.
func takeCompressParam(u *url.URL) (bool, error) {
	q := u.Query()
	values := q["compress"]
	q.Del("compress")
	switch {
	case len(values) == 0:
		return true, nil
	case len(values) > 1 || values[0] != "on" && values[0] != "off":
		return false, errors.New("blob URL: parameter compress: want on or off")
	}
	u.RawQuery = q.Encode()
	return values[0] == "on", nil
}

// Compresses reports whether the store compresses what its writers allow it to. Where it does not, services of an older
// version may read what is stored.
func (s *Store) Compresses() bool { return !s.noCompress }

// Driver returns what the Store stands on, for a driver that wants to stand in between.
func (s *Store) Driver() Driver { return s.driver }

// copyBuffers spare each Put the buffer it copies through.
var copyBuffers = sync.Pool{New: func() any { b := make([]byte, 256<<10); return &b }}

// Put stores what r yields, and returns how many bytes that was. When it returns, the blob is durable unless its key
// is temporary. If r fails, nothing is stored, and the error wraps that of r and is no Busy fault for it.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, opts PutOptions) (int64, error) {
	up, err := s.beginUpload(ctx, key, opts)
	if err != nil {
		return 0, err
	}
	size, err := fillUpload(ctx, up, key, r)
	if err != nil {
		return 0, err
	}
	return size, commitUpload(ctx, up, key)
}

// fillUpload writes all that r yields, and drops the upload if that fails.
func fillUpload(ctx context.Context, up Upload, key string, r io.Reader) (size int64, err error) {
	buf := copyBuffers.Get().(*[]byte)
	defer copyBuffers.Put(buf)
	for {
		n, readErr := r.Read(*buf)
		if n > 0 {
			if _, err := up.Write((*buf)[:n]); err != nil {
				return 0, errors.Join(classifyError(ctx, "write blob", key, err), up.Abort())
			}
			size += int64(n)
		}
		if readErr == nil {
			readErr = ctx.Err()
		}
		if errors.Is(readErr, io.EOF) {
			return size, nil
		}
		if readErr != nil {
			return 0, errors.Join(fmt.Errorf("read what is to be stored as %s: %w", key, readErr), up.Abort())
		}
	}
}

// PutBytes stores b. An empty contentType means the one that the key's extension stands for.
func (s *Store) PutBytes(ctx context.Context, key string, b []byte, contentType string) error {
	return s.putObject(ctx, Object{Key: key, Data: b, ContentType: contentType})
}

func (s *Store) putObject(ctx context.Context, o Object) error {
	up, err := s.uploadObject(ctx, o)
	if err != nil {
		return err
	}
	return commitUpload(ctx, up, o.Key)
}

// NewWriter begins a blob that the caller writes piece by piece. The caller ends it with Close or Abort.
func (s *Store) NewWriter(ctx context.Context, key string, opts PutOptions) (*Writer, error) {
	up, err := s.beginUpload(ctx, key, opts)
	if err != nil {
		return nil, err
	}
	return newWriter(ctx, up, key), nil
}

func (s *Store) beginUpload(ctx context.Context, key string, opts PutOptions) (Upload, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil { // not every driver looks
		return nil, fmt.Errorf("create blob %s: %w", key, err)
	}
	if opts.ContentType == "" {
		opts.ContentType = contentTypeOf(key)
	}
	up, err := s.driver.BeginUpload(ctx, key, opts)
	if err != nil {
		return nil, classifyError(ctx, "create blob", key, err)
	}
	return newStoredUpload(up, opts.Compress && !s.noCompress), nil
}

// commitUpload ends an upload, unless ctx is done.
func commitUpload(ctx context.Context, up Upload, key string) error {
	if err := ctx.Err(); err != nil {
		return errors.Join(fmt.Errorf("store blob %s: %w", key, err), up.Abort())
	}
	return classifyError(ctx, "store blob", key, up.Commit())
}

// Get opens the blob for reading; the caller closes it. The error wraps ErrNotFound if there is none.
func (s *Store) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	return s.OpenRange(ctx, key, 0, -1)
}

// OpenRange opens length bytes of the blob from offset, or all that follow if length is negative. What lies past the
// blob's end reads as empty. The error wraps ErrNotFound if there is no blob.
func (s *Store) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fault.New(fault.InvalidArgument, "blob offset %d, want at least 0", offset)
	}
	if length < 0 {
		length = -1
	}
	l, _, err := readLayout(ctx, s.reads, key)
	var r io.ReadCloser
	if err == nil {
		r, err = openPlainRange(ctx, s.reads, key, l, offset, length)
	}
	if err != nil {
		return nil, classifyError(ctx, "open blob", key, err)
	}
	return &blobReader{ctx: ctx, from: r, key: key}, nil
}

// ReadBytes returns the whole blob. The error wraps ErrNotFound if there is none, ErrTooLarge if it has more than
// limit bytes.
func (s *Store) ReadBytes(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, err
	}
	stored, err := readStored(ctx, s.reads, key, limit+maxTrailerBytes(limit)+1)
	if err != nil {
		return nil, err
	}
	l, err := parseTrailer(stored, int64(len(stored)))
	if err != nil {
		return nil, classifyError(ctx, "read blob", key, err)
	}
	switch {
	case l.plainSize > limit:
		return nil, fmt.Errorf("read blob %s: %w: more than %d bytes", key, ErrTooLarge, limit)
	case l.form == plainForm:
		return stored[:l.plainSize], nil
	}
	plain, err := l.decompress(stored)
	return plain, classifyError(ctx, "read blob", key, err)
}

// readStored returns what is stored under key, limit bytes of it at most.
func readStored(ctx context.Context, driver Driver, key string, limit int64) ([]byte, error) {
	from, err := driver.OpenRange(ctx, key, 0, limit)
	if err != nil {
		return nil, classifyError(ctx, "open blob", key, err)
	}
	r := &blobReader{ctx: ctx, from: from, key: key}
	defer from.Close()
	var buf bytes.Buffer
	if known, ok := from.(interface{ Size() int64 }); ok { // else it grows by doubling
		buf.Grow(int(min(known.Size(), limit)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(r); err != nil {
		return nil, err // the reader says what was being read
	}
	return buf.Bytes(), nil
}

// OpenFile opens the blob as a file that can only be read, for handing to a child process. It is the stored file
// itself where blobs are files and this one is not compressed, else a copy that has no name and goes when it is closed.
// The error wraps ErrNotFound if there is none.
func (s *Store) OpenFile(ctx context.Context, key string) (*os.File, error) {
	r, err := s.OpenBlob(ctx, key)
	if err != nil {
		return nil, err
	}
	if info, err := r.file.Stat(); err == nil && r.layout.trailer == 0 && r.body.Size() == info.Size() {
		return r.file, nil
	}
	defer r.Close()
	f, err := copyToUnnamedFile(r)
	return f, classifyError(ctx, "open blob file", key, err)
}

// ReadAttributes describes the blob. The error wraps ErrNotFound if there is none.
func (s *Store) ReadAttributes(ctx context.Context, key string) (Attributes, error) {
	if err := checkKey(key); err != nil {
		return Attributes{}, err
	}
	_, attrs, err := readLayout(ctx, s.reads, key)
	return attrs, classifyError(ctx, "stat blob", key, err)
}

// BlobExists reports whether there is a blob under key.
func (s *Store) BlobExists(ctx context.Context, key string) (bool, error) {
	if err := checkKey(key); err != nil {
		return false, err
	}
	_, _, err := s.reads.ReadTail(ctx, key, 0)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, classifyError(ctx, "stat blob", key, err)
}

// ListBlobs yields the blobs whose keys begin with prefix, in the order of their keys. The empty prefix is every
// blob. An error ends it.
func (s *Store) ListBlobs(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if err := checkPrefix(prefix); err != nil {
			yield(Entry{}, err)
			return
		}
		for entry, err := range s.reads.ListEntries(ctx, prefix) {
			if err != nil {
				yield(Entry{}, classifyError(ctx, "list blobs under", prefix, err))
				return
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// Delete removes the blob. A missing one is no error.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	err := s.reads.DeleteBlob(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return classifyError(ctx, "delete blob", key, err)
}

// DeletePrefix removes every blob below the folder prefix, with or without its final slash: a/run-1 takes a/run-1/x
// with it, but neither a/run-10/x nor the blob a/run-1 itself. The empty prefix is refused.
func (s *Store) DeletePrefix(ctx context.Context, prefix string) error {
	folder := strings.TrimSuffix(prefix, "/")
	if err := checkKey(folder); err != nil {
		return err
	}
	return classifyError(ctx, "delete blobs under", folder, s.reads.DeleteFolder(ctx, folder))
}

// SweepTemp removes what writers that were killed left behind, if it is older than olderThan, and returns how many
// pieces that was. Writers still at work are spared, in this process and in others, however slow they are.
func (s *Store) SweepTemp(ctx context.Context, olderThan time.Duration) (int, error) {
	n, err := s.driver.SweepAbandoned(ctx, olderThan)
	return n, classifyError(ctx, "sweep", "what killed writers left", err)
}

// Close ends the Store. Blobs stay, but for those of a store in memory.
func (s *Store) Close() error { return s.driver.Close() }

// classifyError says what was being done, and makes an error that may pass a Busy fault. A missing blob stays what it
// is, and so does one that is damaged, what is a fault already, and the end of the caller's own ctx. That of another
// context does not: the timeouts of a connection say they are such an end too.
func classifyError(ctx context.Context, doing, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotFound), errors.Is(err, errDamaged), ctx.Err() != nil &&
		(errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)):
		return fmt.Errorf("%s %s: %w", doing, key, err)
	}
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return fmt.Errorf("%s %s: %w", doing, key, err)
	}
	return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("%s %s: %w", doing, key, err))
}

// blobReader sorts the errors of a blob being read.
type blobReader struct {
	ctx  context.Context //nolint:containedctx // an io.Reader takes none; tells the caller's own end from a timeout
	from io.ReadCloser
	key  string
}

func (r *blobReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = classifyError(r.ctx, "read blob", r.key, err)
	}
	return n, err
}

func (r *blobReader) Close() error { return r.from.Close() }

package blob

import (
	"context"
	"io"
	"iter"
	"os"
	"time"
)

// Driver is a kind of storage. A Store hands it valid keys only, and sorts the errors that it returns; a missing blob
// is an error that wraps ErrNotFound. Drivers are safe for concurrent use. It is an interface of many methods because
// a driver that stands in front of another, as those of blobtest do, has to reach all of what storage does.
type Driver interface {
	// BeginUpload begins a blob. Nothing shows under its key before Commit.
	BeginUpload(ctx context.Context, key string, opts PutOptions) (Upload, error)
	// OpenRange reads length bytes from offset, or all that follow it if length is negative. What lies past the end is
	// not there to read.
	OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// OpenFile opens the blob as a file that can only be read.
	OpenFile(ctx context.Context, key string) (*os.File, error)
	// ReadTail describes the blob as it is stored, and returns its last n bytes, or all of a shorter one.
	ReadTail(ctx context.Context, key string, n int) ([]byte, Attributes, error)
	// ListEntries yields the blobs whose keys begin with prefix, in the order of their keys.
	ListEntries(ctx context.Context, prefix string) iter.Seq2[Entry, error]
	// DeleteBlob removes the blob. It may answer ErrNotFound.
	DeleteBlob(ctx context.Context, key string) error
	// DeleteFolder removes every blob below folder, which ends without a slash.
	DeleteFolder(ctx context.Context, folder string) error
	// SweepAbandoned removes what killed writers left more than olderThan ago, and counts it.
	SweepAbandoned(ctx context.Context, olderThan time.Duration) (int, error)
	// Close ends the driver. Blobs stay.
	Close() error
}

// Upload is a blob being written. Exactly one of Commit and Abort ends it.
type Upload interface {
	io.Writer
	// Commit makes the blob appear under its key, durably if the key is no temporary one. If it fails, no trace is left.
	Commit() error
	// Abort leaves nothing behind.
	Abort() error
}

// PutOptions says more about a blob to be written.
type PutOptions struct {
	// ContentType is kept where the storage keeps it; a folder does not, and derives it from the key's extension. Empty
	// means that the extension decides.
	ContentType string
	// Compress has the blob stored compressed, where that makes it smaller. Readers see no difference: sizes, ranges and
	// bytes are those that were written. What is compressed already, such as a PDF or a picture, gains nothing.
	Compress bool
}

// Attributes describe a blob.
type Attributes struct {
	Size        int64
	ModTime     time.Time
	ContentType string
}

// Entry is a blob in a list.
type Entry struct {
	Key string
	// Size is how many bytes are stored, which are fewer than the blob's where it is compressed.
	Size    int64
	ModTime time.Time
	// Bundled says that the blob is in the bundle of its folder; see [Store.Bundle].
	Bundled bool
}

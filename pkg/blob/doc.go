// Package blob stores documents, page texts, artifacts and rasters by key, in a folder, in memory, or in a bucket.
//
// A [Store] checks keys and sorts errors; a [Driver] does the storing. There are three drivers:
//
//   - file:///abs/dir is a driver of this package. A key is the path below the folder, byte for byte, so that an operator finds a job's
//     files by looking, and [Store.OpenFile] hands out the stored file itself. A blob is written under a name of its own in the folder
//     ~incoming (a name that no key can have), fsynced, and renamed; then its folder is fsynced, and every parent up to the root that
//     may be new, each once for all blobs of a [Store.PutAll]. So what Put has acknowledged survives a power cut, and no reader ever sees
//     half a blob. gocloud.dev's fileblob was tried first and does not do: it does not fsync before it renames, puts its temporary files in the
//     system's temp folder (another device as a rule: the rename fails) or between the blobs (where List then shows them), and its List
//     leaves out what it cannot read.
//   - s3://bucket is a bucket of an S3 server, through Amazon's SDK. What the server has acknowledged is as durable as
//     the server makes it.
//   - mem:// is memory, for tests.
//
// What the pipeline writes as text, JSON and protobuf is stored compressed (see [PutOptions]), in frames of zstd's
// seekable format, so that a part of it costs the frames that it lies in. It is still one file under its key, which zstdcat
// prints. Reading, sizes and ranges are of the plain bytes everywhere; [Store.OpenBlob] hands out the compressed ones as
// well. Blobs that are stored as they came, those of versions that did not compress among them, read as before.
//
// Small blobs of a folder whose name begins with "run-" may be stored as one, its bundle; see [Store.Bundle]. Readers see
// no difference.
//
// Blobs with an element "tmp" in their key may be lost in a crash: they are not fsynced. A folder shows none that is
// older than the machine's start, since a power cut may have left it with its name and without its bytes.
package blob

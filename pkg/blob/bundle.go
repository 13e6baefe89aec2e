package blob

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// A bundle is one blob that holds several small ones of a folder, which cost one write and one wait for the disk
// together, and one request to a bucket: their bytes as each would be stored, one after the other, and behind them a
// table of contents as JSON, its length in 8 bytes, and a mark.
const (
	// bundledFolder is how the names of folders begin whose blobs may be in a bundle.
	bundledFolder = "run-"
	// bundleName is the name of the bundle in its folder. It comes before all others there.
	bundleName = "0.bundle"
	bundleMark = "inkstream.bundle.1"
	// bundleTail is what is read of a bundle's end at first: the whole table of a small document's artifacts.
	bundleTail        = 4 << 10
	bundleFooterBytes = 8 + len(bundleMark)
	maxBundleTable    = 1 << 20
)

var errBadBundle = errors.New("the bundle is damaged")

// bundleEntry says where a blob of the bundle's folder is.
type bundleEntry struct {
	Name string `json:"name"` // below the folder
	At   int64  `json:"at,omitempty"`
	Size int64  `json:"size"` // as it is stored
	// From is the name, beside the folder, of the blob that this one is the same as; empty for one whose bytes are here.
	From string `json:"from,omitempty"`
}

// BundleKey returns the key of the bundle of a folder, which ends with a slash.
func BundleKey(folder string) string { return folder + bundleName }

// bundleOf returns the key of the bundle that may hold the blob under key, empty where there can be none.
func bundleOf(key string) string {
	at := strings.LastIndex("/"+key, "/"+bundledFolder)
	if at < 0 || IsTemporary(key) {
		return ""
	}
	end := strings.IndexByte(key[at:], '/')
	if end < 0 || key[at+end+1:] == bundleName {
		return ""
	}
	return BundleKey(key[:at+end+1])
}

// Bundle returns a blob for PutAll that holds others, whose keys begin with folder: its last element begins with "run-"
// and ends with a slash. Once it is stored, each of them is read, listed, copied and deleted under its own key. Where
// there is a blob of its own under that key, that one counts. An object with From holds none of those bytes, but
// stays the same as that blob, which must stand beside the folder and go only with it.
func (s *Store) Bundle(ctx context.Context, folder string, objects []Object) (Object, error) {
	var body bytes.Buffer
	var table []bundleEntry
	beside := path.Dir(strings.TrimSuffix(folder, "/")) + "/"
	for _, o := range objects {
		if bundleOf(o.Key) != BundleKey(folder) || o.From != "" && !strings.HasPrefix(o.From, beside) {
			return Object{}, fmt.Errorf("bundle of %s: blob %s does not belong to it", folder, o.Key)
		}
		e := bundleEntry{Name: strings.TrimPrefix(o.Key, folder), At: int64(body.Len())}
		if o.From != "" {
			_, attrs, err := s.driver.ReadTail(ctx, o.From, 0)
			if err != nil {
				return Object{}, classifyError(ctx, "bundle blob", o.From, err)
			}
			e.At, e.Size, e.From = 0, attrs.Size, strings.TrimPrefix(o.From, beside)
		} else if err := writeStored(&body, o, s.noCompress); err != nil {
			return Object{}, fmt.Errorf("bundle blob %s: %w", o.Key, err)
		} else {
			e.Size = int64(body.Len()) - e.At
		}
		table = append(table, e)
	}
	data, err := appendBundleTable(body.Bytes(), table)
	return Object{Key: BundleKey(folder), Data: data}, err
}

// writeStored writes the bytes that are stored of an object.
func writeStored(to *bytes.Buffer, o Object, noCompress bool) error {
	up := newStoredUpload(bufferUpload{to}, o.Compress && !noCompress)
	_, err := up.Write(o.Data)
	if err == nil {
		_, err = up.finish()
	}
	return err
}

// bufferUpload is an upload to a buffer, which is none of its own.
type bufferUpload struct{ *bytes.Buffer }

// Commit implements Upload.
func (bufferUpload) Commit() error { return nil }

// Abort implements Upload.
func (bufferUpload) Abort() error { return nil }

func appendBundleTable(body []byte, table []bundleEntry) ([]byte, error) {
	slices.SortFunc(table, func(a, b bundleEntry) int { return cmp.Compare(a.Name, b.Name) })
	encoded, err := json.Marshal(table)
	if err != nil {
		return nil, fmt.Errorf("encode the table of a bundle: %w", err)
	}
	body = append(body, encoded...)
	body = binary.LittleEndian.AppendUint64(body, uint64(len(encoded)))
	return append(body, bundleMark...), nil
}

// bundle is the table of one that is stored.
type bundle struct {
	key     string
	folder  string // with its slash
	modTime time.Time
	entries []bundleEntry // in the order of their names
}

// readBundle reads the table of the bundle under key.
func readBundle(ctx context.Context, driver Driver, key string) (*bundle, error) {
	tail, attrs, err := driver.ReadTail(ctx, key, bundleTail)
	if err != nil {
		return nil, err
	}
	if size := bundleTableBytes(tail, attrs.Size); size > len(tail) {
		if tail, attrs, err = driver.ReadTail(ctx, key, size); err != nil {
			return nil, err
		}
	}
	b, err := parseBundle(key, tail, attrs.Size)
	if err == nil {
		b.modTime = attrs.ModTime
	}
	return b, err
}

// parseBundle returns the table of a bundle that is stored as so many bytes, of which tail are the last.
func parseBundle(key string, tail []byte, stored int64) (*bundle, error) {
	size := bundleTableBytes(tail, stored)
	if size == 0 || size > len(tail) {
		return nil, fmt.Errorf("%s: %w", key, errBadBundle)
	}
	b := &bundle{key: key, folder: strings.TrimSuffix(key, bundleName)}
	if err := json.Unmarshal(tail[len(tail)-size:len(tail)-bundleFooterBytes], &b.entries); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", key, errBadBundle, err)
	}
	body := stored - int64(size)
	for _, e := range b.entries {
		if e.Size < 0 || e.At < 0 || e.From == "" && (e.At > body || e.Size > body-e.At) || e.From != "" && checkKey(e.From) != nil {
			return nil, fmt.Errorf("%s: %w", key, errBadBundle)
		}
	}
	return b, nil
}

// findEntry returns the entry of a blob. The error wraps ErrNotFound where the bundle has none.
func (b *bundle) findEntry(key string) (bundleEntry, error) {
	i, found := slices.BinarySearchFunc(b.entries, strings.TrimPrefix(key, b.folder),
		func(e bundleEntry, name string) int { return cmp.Compare(e.Name, name) })
	if !found {
		return bundleEntry{}, fmt.Errorf("%w: %s", ErrNotFound, key)
	}
	return b.entries[i], nil
}

// bundleTableBytes returns how many bytes the table and what is behind it have, 0 where there is no table.
func bundleTableBytes(tail []byte, stored int64) int {
	if len(tail) < bundleFooterBytes || !bytes.HasSuffix(tail, []byte(bundleMark)) {
		return 0
	}
	n := binary.LittleEndian.Uint64(tail[len(tail)-bundleFooterBytes:])
	if n > maxBundleTable || int64(n) > stored-int64(bundleFooterBytes) {
		return 0
	}
	return int(n) + bundleFooterBytes
}

// fromKey returns the key of the blob that an entry is the same as.
func (b *bundle) fromKey(e bundleEntry) string {
	return path.Dir(strings.TrimSuffix(b.folder, "/")) + "/" + e.From
}

// bundledDriver is a Driver whose blobs may be in bundles. What it reads of a blob it reads in one go with the table that
// says where it is: a handler that ends a run once more may put another bundle in the place of the first.
type bundledDriver struct{ Driver }

// OpenRange implements Driver.
func (d bundledDriver) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := d.Driver.OpenRange(ctx, key, offset, length)
	at := bundleOf(key)
	if at == "" || !errors.Is(err, ErrNotFound) {
		return r, err
	}
	data, err := readAllRange(ctx, d.Driver, at, 0, -1)
	if err != nil {
		return nil, err
	}
	b, err := parseBundle(at, data, int64(len(data)))
	if err != nil {
		return nil, err
	}
	e, err := b.findEntry(key)
	if err != nil {
		return nil, err
	}
	if e.From != "" {
		return d.Driver.OpenRange(ctx, b.fromKey(e), offset, length)
	}
	part := data[e.At:][min(offset, e.Size):e.Size]
	if length >= 0 {
		part = part[:min(length, int64(len(part)))]
	}
	return io.NopCloser(bytes.NewReader(part)), nil
}

// openSection opens the file that holds a blob, or a bundle with it, and returns the part of it that is the blob as it is
// stored.
func (d bundledDriver) openSection(ctx context.Context, key string) (*os.File, *io.SectionReader, error) {
	f, whole, err := openWhole(ctx, d.Driver, key)
	at := bundleOf(key)
	if at == "" || !errors.Is(err, ErrNotFound) {
		return f, whole, err
	}
	if f, whole, err = openWhole(ctx, d.Driver, at); err != nil {
		return nil, nil, err
	}
	b, e, err := findInFile(at, key, whole)
	switch {
	case err != nil:
		return nil, nil, errors.Join(err, f.Close())
	case e.From != "":
		if err := f.Close(); err != nil {
			return nil, nil, err
		}
		return openWhole(ctx, d.Driver, b.fromKey(e))
	}
	return f, io.NewSectionReader(f, e.At, e.Size), nil
}

// findInFile returns a bundle whose bytes a file has, and the entry of a blob in it.
func findInFile(at, key string, whole *io.SectionReader) (*bundle, bundleEntry, error) {
	tail, err := readFileTail(whole, whole.Size(), bundleTail)
	if size := bundleTableBytes(tail, whole.Size()); err == nil && size > len(tail) {
		tail, err = readFileTail(whole, whole.Size(), size)
	}
	if err != nil {
		return nil, bundleEntry{}, err
	}
	b, err := parseBundle(at, tail, whole.Size())
	if err != nil {
		return nil, bundleEntry{}, err
	}
	e, err := b.findEntry(key)
	return b, e, err
}

// openWhole opens the file of what is stored under key.
func openWhole(ctx context.Context, driver Driver, key string) (*os.File, *io.SectionReader, error) {
	f, err := driver.OpenFile(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, io.NewSectionReader(f, 0, info.Size()), nil
}

// ReadTail implements Driver.
func (d bundledDriver) ReadTail(ctx context.Context, key string, n int) ([]byte, Attributes, error) {
	tail, attrs, err := d.Driver.ReadTail(ctx, key, n)
	at := bundleOf(key)
	if at == "" || !errors.Is(err, ErrNotFound) {
		return tail, attrs, err
	}
	b, err := readBundle(ctx, d.Driver, at)
	if err != nil {
		return nil, attrs, err
	}
	e, err := b.findEntry(key)
	switch {
	case err != nil:
		return nil, attrs, err
	case e.From != "":
		return d.Driver.ReadTail(ctx, b.fromKey(e), n)
	}
	n = int(min(int64(n), e.Size))
	tail, err = readAllRange(ctx, d.Driver, at, e.At+e.Size-int64(n), int64(n))
	return tail, Attributes{Size: e.Size, ModTime: b.modTime, ContentType: contentTypeOf(key)}, err
}

// ListEntries implements Driver: the blobs in bundles stand among the others, and no bundle does.
func (d bundledDriver) ListEntries(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		var waiting []Entry // of the last bundle
		load := func(key string) bool {
			var err error
			if waiting, err = d.bundledEntries(ctx, key, prefix); err != nil {
				yield(Entry{}, err)
			}
			return err == nil
		}
		if at := bundleOf(prefix); at != "" && !strings.HasPrefix(at, prefix) && !load(at) {
			return
		}
		for e, err := range d.Driver.ListEntries(ctx, prefix) {
			if err != nil {
				yield(e, err)
				return
			}
			for len(waiting) > 0 && waiting[0].Key < e.Key {
				if !yield(waiting[0], nil) {
					return
				}
				waiting = waiting[1:]
			}
			if len(waiting) > 0 && waiting[0].Key == e.Key {
				waiting = waiting[1:]
			}
			if isBundle(e.Key) {
				if !load(e.Key) {
					return
				}
			} else if !yield(e, nil) {
				return
			}
		}
		for _, e := range waiting {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// isBundle reports whether key is that of a bundle.
func isBundle(key string) bool {
	folder, found := strings.CutSuffix(key, bundleName)
	return found && bundleOf(folder+"x") == key
}

// bundledEntries returns the blobs in a bundle whose keys begin with prefix, none where there is no such bundle.
func (d bundledDriver) bundledEntries(ctx context.Context, key, prefix string) ([]Entry, error) {
	b, err := readBundle(ctx, d.Driver, key)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Entry
	for _, e := range b.entries {
		if strings.HasPrefix(b.folder+e.Name, prefix) {
			out = append(out, Entry{Key: b.folder + e.Name, Size: e.Size, ModTime: b.modTime, Bundled: true})
		}
	}
	return out, nil
}

// DeleteBlob implements Driver.
func (d bundledDriver) DeleteBlob(ctx context.Context, key string) error {
	err := d.Driver.DeleteBlob(ctx, key)
	if at := bundleOf(key); at != "" && (err == nil || errors.Is(err, ErrNotFound)) {
		return errors.Join(err, d.deleteBundled(ctx, at, func(k string) bool { return k == key }))
	}
	return err
}

// DeleteFolder implements Driver.
func (d bundledDriver) DeleteFolder(ctx context.Context, folder string) error {
	if err := d.Driver.DeleteFolder(ctx, folder); err != nil {
		return err
	}
	at := bundleOf(folder + "/x")
	if at == "" || strings.HasPrefix(at, folder+"/") { // the latter: it went with the folder
		return nil
	}
	return d.deleteBundled(ctx, at, func(k string) bool { return strings.HasPrefix(k, folder+"/") })
}

// deleteBundled stores the bundle under key again without those of its blobs that are to go.
func (d bundledDriver) deleteBundled(ctx context.Context, key string, goes func(key string) bool) error {
	b, err := readBundle(ctx, d.Driver, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	before := len(b.entries)
	b.entries = slices.DeleteFunc(b.entries, func(e bundleEntry) bool { return goes(b.folder + e.Name) })
	if len(b.entries) == before {
		return nil
	}
	var body []byte
	for i := range b.entries {
		e := &b.entries[i]
		if e.From != "" {
			continue
		}
		part, err := readAllRange(ctx, d.Driver, key, e.At, e.Size)
		if err != nil {
			return err
		}
		e.At = int64(len(body))
		body = append(body, part...)
	}
	if body, err = appendBundleTable(body, b.entries); err != nil {
		return err
	}
	up, err := d.BeginUpload(ctx, key, PutOptions{ContentType: contentTypeOf(key)})
	if err != nil {
		return err
	}
	if _, err := up.Write(body); err != nil {
		return errors.Join(err, up.Abort())
	}
	return up.Commit()
}

// readAllRange returns a part of what is stored under key, all from offset on if length is negative.
func readAllRange(ctx context.Context, driver Driver, key string, offset, length int64) ([]byte, error) {
	if length == 0 {
		return nil, nil
	}
	r, err := driver.OpenRange(ctx, key, offset, length)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	return b, errors.Join(err, r.Close())
}

package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	// fileMode and dirMode keep documents from other users of the machine.
	fileMode = 0o640
	dirMode  = 0o750
)

// folder is a Driver that keeps each blob as the file root/key.
type folder struct {
	root    string
	opts    folderOptions
	paths   *durablePaths
	staging *stagingDirs
}

type folderOptions struct {
	noSync bool
	// syncFile replaces fsync in tests that count.
	syncFile func(*os.File) error
}

// parseFolderOptions reads the options of a file URL.
func parseFolderOptions(u *url.URL) (folderOptions, error) {
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return folderOptions{}, errors.New("blob URL: want file:/// and an absolute path")
	}
	var opts folderOptions
	for name, values := range u.Query() {
		switch {
		case name == "fsync" && len(values) == 1 && values[0] == "on":
		case name == "fsync" && len(values) == 1 && values[0] == "off":
			opts.noSync = true
		default:
			return folderOptions{}, fmt.Errorf("blob URL: parameter %s: want fsync=on or fsync=off", name)
		}
	}
	return opts, nil
}

// openFolder makes root and what it needs below it where they are missing.
func openFolder(root string, opts folderOptions) (*folder, error) {
	root = filepath.Clean(root)
	switch {
	case opts.noSync:
		opts.syncFile = func(*os.File) error { return nil }
	case opts.syncFile == nil:
		opts.syncFile = (*os.File).Sync
	}
	d := &folder{root: root, opts: opts, paths: newDurablePaths(root, opts.syncFile)}
	if err := d.paths.makeRoot(); err != nil {
		return nil, err
	}
	top := filepath.Join(root, stagingRoot)
	err := d.paths.makeDir(top)
	if err != nil {
		return nil, err
	}
	spreadFolders(top)
	d.staging, err = openStagingDirs(top)
	return d, err
}

func (d *folder) filePath(key string) string { return filepath.Join(d.root, key) }

// OpenRange reads a part of the blob.
func (d *folder) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	f, err := d.OpenFile(ctx, key)
	if err != nil {
		return nil, err
	}
	if offset > 0 {
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	if length < 0 {
		return f, nil
	}
	return &filePart{io.LimitReader(f, length), f}, nil
}

// filePart reads a part of a file.
type filePart struct {
	io.Reader
	file *os.File
}

// Close implements io.Closer.
func (p *filePart) Close() error { return p.file.Close() }

// Size returns how many bytes all of the file has; 0 where that cannot be told.
func (p *filePart) Size() int64 {
	info, err := p.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}

// OpenFile opens the stored file itself.
func (d *folder) OpenFile(ctx context.Context, key string) (*os.File, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f, err := os.Open(d.filePath(key))
	if err != nil {
		return nil, mapFileNotFound(err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() || isStaleTemp(key, info) { // the former: a folder, and the key is the beginning of others
		return nil, errors.Join(ErrNotFound, f.Close())
	}
	return f, nil
}

// ReadTail describes the blob and returns its end.
func (d *folder) ReadTail(ctx context.Context, key string, n int) ([]byte, Attributes, error) {
	f, err := d.OpenFile(ctx, key)
	if err != nil {
		return nil, Attributes{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Attributes{}, err
	}
	tail, err := readFileTail(f, info.Size(), n)
	return tail, Attributes{Size: info.Size(), ModTime: info.ModTime(), ContentType: contentTypeOf(key)}, err
}

// DeleteBlob removes the blob, durably unless it is temporary.
func (d *folder) DeleteBlob(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path := d.filePath(key)
	// Not os.Remove, which would take an empty folder for a blob.
	switch err := syscall.Unlink(path); {
	case errors.Is(err, syscall.EISDIR):
		return ErrNotFound
	case err != nil:
		return mapFileNotFound(&fs.PathError{Op: "unlink", Path: path, Err: err})
	case IsTemporary(key):
		return nil
	}
	return d.paths.syncDir(filepath.Dir(path))
}

// removeTries is how often DeleteFolder tries to empty a folder that a writer keeps filling.
const removeTries = 10

// DeleteFolder removes what is below it and the folder itself, durably unless it is temporary.
func (d *folder) DeleteFolder(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	path := d.filePath(key)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(mapFileNotFound(err), ErrNotFound):
		return nil
	case err != nil:
		return err
	case !info.IsDir(): // a blob of that very key, which is not below itself
		return nil
	}
	// A process may still write there, such as a handler that has not noticed yet that its job was cancelled.
	for range removeTries {
		if err = os.RemoveAll(path); !errors.Is(err, syscall.ENOTEMPTY) {
			break
		}
	}
	if err != nil {
		return err
	}
	d.paths.forgetDir(path)
	if IsTemporary(key) {
		return nil
	}
	if err := d.paths.syncDir(filepath.Dir(path)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil // the parent was deleted as well
}

// ListEntries yields the blobs with that prefix, lost ones as well, so that a cleanup finds them. It holds the names
// of one folder at each level at a time.
func (d *folder) ListEntries(ctx context.Context, prefix string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		start := ""
		if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
			start = prefix[:i]
		}
		d.walkFolder(ctx, start, prefix, yield)
	}
}

// mapFileNotFound makes ErrNotFound of the ways in which a file can fail to be there.
func mapFileNotFound(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // ENOTDIR: a blob stands where the path has a folder
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// Close has nothing to end.
func (d *folder) Close() error { return nil }

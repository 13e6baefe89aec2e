package blob

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Object is a blob to be stored by PutAll.
type Object struct {
	Key         string
	Data        []byte
	ContentType string
	Compress    bool // see PutOptions
	// From, if not empty, is the key of the blob that Key becomes a copy of; see CopyBlob.
	From string
}

const (
	// putAllParallel is how many blobs are stored at once by a driver that does not know of groups.
	putAllParallel = 8
	// batchSize bounds how many blobs are committed together, since each holds a file open. More made no difference.
	batchSize = 64
)

// batchCommitter is a Driver that commits several of its uploads for less than one by one.
type batchCommitter interface {
	// LinkBlob is like CopyBlob of a copier, but what it made is durable only after a CommitAll that is told of its key.
	LinkBlob(ctx context.Context, from, to string) error
	// CommitAll does for all what Commit does for one. If it fails, some may be there and others not, and of those no
	// trace is left.
	CommitAll(all []Upload, linked []string) error
}

// dirPreparer is a Driver that can prepare for a blob.
type dirPreparer interface {
	PrepareDir(key string)
}

// PrepareDirs says that blobs will be stored under these keys, or beside them, soon. A folder makes their folders at
// once, so that their names become durable with the next blob that is stored beside those: called just before that
// one is, it spares the later ones a wait for the disk. Nothing is wrong with blobs that never come.
func (s *Store) PrepareDirs(keys ...string) {
	e, ok := s.driver.(dirPreparer)
	for _, key := range keys {
		if ok && checkKey(key) == nil {
			e.PrepareDir(key)
		}
	}
}

// PutAll stores many small blobs, and commits those that open writers have written, as if each was closed: all are
// durable when it returns, and no writer is open any more, whatever happens. It takes a good deal less of the disk
// and of the processors than one by one, because folders are synced once, and files together. After an error some may
// be stored and others not.
func (s *Store) PutAll(ctx context.Context, objects []Object, open ...*Writer) error {
	if driver, ok := s.driver.(batchCommitter); ok {
		return putBatches(ctx, s, driver, objects, open)
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(putAllParallel)
	for _, w := range open {
		all.Go(w.Close)
	}
	for _, o := range objects {
		all.Go(func() error {
			if o.From != "" {
				return s.CopyBlob(ctx, o.From, o.Key)
			}
			return s.putObject(ctx, o)
		})
	}
	return all.Wait()
}

// putBatches is PutAll for a driver that knows of groups.
func putBatches(ctx context.Context, s *Store, driver batchCommitter, objects []Object, open []*Writer) error {
	for len(objects)+len(open) > 0 {
		g := uploadBatch{store: s, driver: driver}
		n := min(len(open), batchSize)
		for _, w := range open[:n] {
			up, err := w.finishUpload()
			g.addUpload(ctx, up, w.key, err)
		}
		m := min(len(objects), batchSize-n)
		for _, o := range objects[:m] {
			if g.err == nil {
				g.addObject(ctx, o)
			}
		}
		if err := g.commitBatch(ctx); err != nil {
			for _, w := range open[n:] {
				err = errors.Join(err, w.Abort())
			}
			return err
		}
		open, objects = open[n:], objects[m:]
	}
	return nil
}

// uploadBatch gathers uploads that are to be committed together.
type uploadBatch struct {
	store   *Store
	driver  batchCommitter
	uploads []Upload
	linked  []string
	first   string // the key of the first of them, for errors
	err     error  // with one, nothing is committed
}

func (g *uploadBatch) addObject(ctx context.Context, o Object) {
	if o.From == "" {
		up, err := g.store.uploadObject(ctx, o)
		g.addUpload(ctx, up, o.Key, err)
		return
	}
	one := blobCopy{driver: g.store.reads, from: o.From, to: o.Key}
	done, err := one.copyByDriver(ctx, g.driver.LinkBlob)
	switch {
	case err != nil:
		g.addUpload(ctx, nil, o.Key, err)
	case done:
		g.linked = append(g.linked, o.Key)
	default:
		up, err := one.uploadStored(ctx)
		g.addUpload(ctx, up, o.Key, err)
	}
}

func (g *uploadBatch) addUpload(ctx context.Context, up Upload, key string, err error) {
	if finished, ok := up.(*storedUpload); ok && err == nil { // the driver commits its own
		if up, err = finished.finish(); err != nil {
			err = errors.Join(classifyError(ctx, "write blob", key, err), finished.Abort())
		}
	}
	if err != nil {
		g.err = errors.Join(g.err, err)
		return
	}
	if len(g.uploads) == 0 {
		g.first = key
	}
	g.uploads = append(g.uploads, up)
}

// commitBatch commits all, unless something went wrong or the context is done: then it drops them.
func (g *uploadBatch) commitBatch(ctx context.Context) error {
	if g.err == nil && ctx.Err() != nil {
		g.err = fmt.Errorf("store blob %s and others: %w", g.first, ctx.Err())
	}
	if g.err != nil {
		for _, up := range g.uploads {
			g.err = errors.Join(g.err, up.Abort())
		}
		return g.err
	}
	return classifyError(ctx, "store a group of blobs, the first of them", g.first,
		g.driver.CommitAll(g.uploads, g.linked))
}

// uploadObject returns an upload that has all its bytes.
func (s *Store) uploadObject(ctx context.Context, o Object) (Upload, error) {
	up, err := s.beginUpload(ctx, o.Key, PutOptions{ContentType: o.ContentType, Compress: o.Compress})
	if err != nil {
		return nil, err
	}
	if _, err := up.Write(o.Data); err != nil {
		return nil, errors.Join(classifyError(ctx, "write blob", o.Key, err), up.Abort())
	}
	return up, nil
}

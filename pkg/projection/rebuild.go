package projection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/search"
)

const (
	// maxPageBytes and maxManifestBytes bound what is read of a blob.
	maxPageBytes, maxManifestBytes = 64 << 20, 1 << 20
	// pageBatchSize is how many pages are stored in one go.
	pageBatchSize = 64
)

// Rebuilder fills an index from the blobs.
type Rebuilder struct {
	Blobs *blob.Store
	Store search.Store
	// LoadRecord returns a job's record, or job.ErrNotFound. Without one, nil, or where it finds none, the job's
	// document is taken from its manifest, and its state from whether it has results.
	LoadRecord func(ctx context.Context, tenant string, id job.ID) (*job.Record, error)
	// OnProgress, if not nil, is told of each job that is done.
	OnProgress func(RebuildCounts)
	// OnDamaged, if not nil, is told of each page or job that is left out because its blob is damaged.
	OnDamaged func(error)
}

var errDamaged = errors.New("damaged")

func (b *Rebuilder) reportDamaged(done *RebuildCounts, err error) {
	done.Damaged++
	if b.OnDamaged != nil {
		b.OnDamaged(err)
	}
}

// RebuildCounts is how far a Rebuilder is.
type RebuildCounts struct {
	// Jobs and Pages are in the index again. Skipped jobs are deleted or expired ones of which blobs are left; Damaged
	// are pages, or whole jobs, whose blobs cannot be read.
	Jobs, Pages, Skipped, Damaged int
}

// jobBlobs is what a job has of blobs that matter here.
type jobBlobs struct {
	tenant  string
	id      job.ID
	pages   map[int]pageBlob // by number
	results bool
}

type pageBlob struct {
	run int
	key string
}

// Run fills the index with every job that has blobs. What is in the index already is left, or replaced by what is the
// same: it can be run beside working services, and again after it broke off. A blob that is damaged keeps nothing
// else out: what cannot be read is counted and told to OnDamaged.
func (b *Rebuilder) Run(ctx context.Context) (RebuildCounts, error) {
	var done RebuildCounts
	var current *jobBlobs
	finish := func() error {
		if current == nil {
			return nil
		}
		err := b.rebuildJob(ctx, current, &done)
		if errors.Is(err, errDamaged) {
			b.reportDamaged(&done, fmt.Errorf("job %s: %w", current.id, err))
			err = nil
		}
		if err != nil {
			return fmt.Errorf("job %s: %w", current.id, err)
		}
		if b.OnProgress != nil {
			b.OnProgress(done)
		}
		return nil
	}
	for entry, err := range b.Blobs.ListBlobs(ctx, "") {
		if err != nil {
			return done, err
		}
		parts := strings.SplitN(entry.Key, "/", 3)
		if len(parts) < 3 {
			continue
		}
		if current == nil || current.tenant != parts[0] || current.id != job.ID(parts[1]) {
			if err := finish(); err != nil {
				return done, err
			}
			current = &jobBlobs{tenant: parts[0], id: job.ID(parts[1]), pages: map[int]pageBlob{}}
		}
		current.addBlob(entry.Key, parts[2])
	}
	return done, finish()
}

// addBlob takes note of a blob of the job. Of a page with results of several runs the last run's counts.
func (j *jobBlobs) addBlob(key, rest string) {
	folder, rest, _ := strings.Cut(rest, "/")
	run, err := strconv.Atoi(strings.TrimPrefix(folder, "run-"))
	if err != nil || !strings.HasPrefix(folder, "run-") {
		return
	}
	if rest == "artifacts/document.json" || rest == job.JSONIndexName {
		j.results = true
	}
	name, ok := strings.CutPrefix(rest, "pages/")
	if !ok {
		return
	}
	number, err := strconv.Atoi(strings.TrimSuffix(name, path.Ext(name)))
	if err != nil || number < 1 {
		return
	}
	if old, ok := j.pages[number]; !ok || old.run < run {
		j.pages[number] = pageBlob{run: run, key: key}
	}
}

// rebuildJob stores one job.
func (b *Rebuilder) rebuildJob(ctx context.Context, j *jobBlobs, done *RebuildCounts) error {
	doc, ok, err := b.loadDocument(ctx, j)
	if err != nil {
		return err
	}
	if !ok {
		done.Skipped++
		return nil
	}
	var pages []search.Page
	flush := func() error {
		err := b.Store.PutPages(ctx, pages)
		if err == nil {
			done.Pages += len(pages)
		}
		pages = pages[:0]
		return err
	}
	for number, p := range j.pages {
		data, err := b.Blobs.ReadBytes(ctx, p.key, maxPageBytes)
		if errors.Is(err, blob.ErrNotFound) {
			continue // deleted since it was listed
		}
		if err != nil {
			return err
		}
		page, err := document.DecodePage(data)
		if err != nil {
			b.reportDamaged(done, fmt.Errorf("job %s: page %d: %w", j.id, number, err))
			continue
		}
		pages = append(pages, IndexPage(j.tenant, j.id, p.run, number, page.GetText(), page.GetLanguage()))
		if len(pages) == pageBatchSize {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	if err := b.Store.PutDocument(ctx, doc); err != nil {
		return err
	}
	done.Jobs++
	return nil
}

// loadDocument returns what is known of the job; false if it is none, or is gone.
func (b *Rebuilder) loadDocument(ctx context.Context, j *jobBlobs) (search.Document, bool, error) {
	if b.LoadRecord != nil {
		r, err := b.LoadRecord(ctx, j.tenant, j.id)
		if err == nil {
			return IndexDocument(r), !r.State.IsGone(), nil
		}
		if !errors.Is(err, job.ErrNotFound) {
			return search.Document{}, false, err
		}
	}
	data, err := b.Blobs.ReadBytes(ctx, job.ManifestKey(j.tenant, j.id), maxManifestBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return search.Document{}, false, nil // an upload that was cut, or no job at all
	}
	if err != nil {
		return search.Document{}, false, err
	}
	var m job.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return search.Document{}, false, fmt.Errorf("%w: decode manifest: %w", errDamaged, err)
	}
	r := m.NewRecord()
	r.PageCount = len(j.pages)
	if j.results {
		r.State = job.Succeeded
	}
	return IndexDocument(r), true, nil
}

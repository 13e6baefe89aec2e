package gateway

import (
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/projection"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxFormFiles bounds the documents of one form.
	maxFormFiles = 100
	// indexTimeout bounds how long a batch's answer waits for its jobs to be in the index. They get there anyway, a
	// moment later.
	indexTimeout = 2 * time.Second
)

// uploadResult is what became of a request's documents.
type uploadResult struct {
	records  []*job.Record // in the order of the documents
	replayed bool          // all of them are of an earlier request
}

func newSingleResult(rec *job.Record, replayed bool, err error) (*uploadResult, error) {
	if err != nil {
		return nil, err
	}
	return &uploadResult{records: []*job.Record{rec}, replayed: replayed}, nil
}

// uploadForm is an upload of one or several documents with their options. The limits of an upload hold for all of it.
type uploadForm struct {
	first  *upload
	files  []*upload // first among them, once it has its document
	fields uploadFields
	mode   formMode
	body   *uploadBody
}

// readParts takes in the parts of a form: files, and options before and after them.
func (f *uploadForm) readParts(ctx context.Context, parts *multipart.Reader) error {
	for {
		part, err := parts.NextRawPart()
		if err == io.EOF { //nolint:errorlint // the end of the form; a wrapped EOF is a form that is cut short
			break
		}
		if err != nil {
			return classifyFormError(err)
		}
		if name := part.FormName(); name == filePart {
			err = f.storeFilePart(ctx, part)
		} else {
			err = readFormField(part, name, f.fields, f.mode)
		}
		if err != nil {
			return err
		}
	}
	if len(f.files) == 0 {
		return invalidField(fault.InvalidArgument, filePart, "the form has no part named file")
	}
	f.mode.setDefaults(f.fields)
	given, named := f.fields[fieldFilename]
	if named && len(f.files) > 1 {
		return invalidField(fault.InvalidArgument, fieldFilename, "the form has several files; each has a name of its own")
	}
	for _, in := range f.files {
		own := in.filename
		if err := in.applyFields(f.fields); err != nil {
			return err
		}
		if in.filename = own; named {
			in.filename = cleanFilename(given)
		}
	}
	return nil
}

// storeFilePart stores a document. Options that came before it are checked first.
func (f *uploadForm) storeFilePart(ctx context.Context, part *multipart.Part) error {
	if enc := part.Header.Get("Content-Transfer-Encoding"); enc != "" && !strings.EqualFold(enc, "binary") &&
		!strings.EqualFold(enc, "8bit") &&
		!strings.EqualFold(enc, "7bit") {
		return fault.New(fault.UnsupportedMedia, "the part named file has a transfer encoding; want its bytes as they are")
	}
	if len(f.files) == maxFormFiles {
		return invalidField(fault.InvalidArgument, filePart, "the form has more than %d files", maxFormFiles)
	}
	in := f.first
	if len(f.files) > 0 {
		in = &upload{service: f.first.service, tenant: f.first.tenant, id: job.NewID(), key: f.first.key,
			caller: f.first.caller}
		if in.key != "" {
			// The request's key stands for its first document; a client's own key holds no line feed.
			in.key += "\n" + strconv.Itoa(len(f.files))
		}
	}
	f.files = append(f.files, in)
	if err := in.applyFields(f.fields); err != nil {
		return err
	}
	in.filename = cleanFilename(part.FileName())
	if err := in.storeDocument(ctx, documentPart{part, f.body}); err != nil {
		return classifyFormError(f.nameEmptyFile(in, err))
	}
	return nil
}

// nameEmptyFile says which file it is that has no bytes, since a form may have many.
func (f *uploadForm) nameEmptyFile(in *upload, err error) error {
	if fault.CodeOf(err) != fault.EmptyFile {
		return err
	}
	if in.filename == "" {
		return fault.New(fault.EmptyFile, "file %d of the form has no bytes", len(f.files))
	}
	return fault.New(fault.EmptyFile, "file %d of the form, %q, has no bytes", len(f.files), clipText(in.filename))
}

// documentPart reads a document out of a form. What it reads is not among what a form may hold beside its documents.
type documentPart struct {
	part io.Reader
	form *uploadBody
}

// Read implements io.Reader.
func (d documentPart) Read(p []byte) (int, error) {
	n, err := d.part.Read(p)
	d.form.overhead -= int64(n)
	return n, err
}

// finishForm registers the form's documents; several make a batch. Where one cannot be registered those before it
// stay: a second try with the same key finds them, and adds the others to their batch.
func (s *Service) finishForm(ctx context.Context, f *uploadForm, err error) (*uploadResult, error) {
	if len(f.files) < 2 {
		return newSingleResult(f.first.finishUpload(ctx, err))
	}
	if err == nil {
		var release func()
		if release, err = s.reserveJobs(ctx, len(f.files)-1); err == nil {
			defer release()
		}
	}
	batch, took := job.NewID(), &uploadResult{replayed: true}
	for _, in := range f.files {
		in.batch, in.files = batch, len(f.files)
		rec, replayed, ferr := in.finishUpload(ctx, err)
		if ferr != nil {
			err = ferr // the others are discarded
			continue
		}
		batch = rec.Batch // an earlier request's, where there was one
		took.records = append(took.records, rec)
		took.replayed = took.replayed && replayed
	}
	if err != nil {
		return nil, err
	}
	return took, nil
}

// answerBatch answers what became of a form with several documents.
func (s *Service) answerBatch(ctx context.Context, w http.ResponseWriter, r *http.Request, took *uploadResult) {
	s.indexJobsNow(ctx, took.records)
	first := took.records[0]
	b := newBatchView(string(first.Batch))
	for _, rec := range took.records {
		addJobToBatch(b, s.acceptedJobView(ctx, rec, took.replayed))
	}
	s.answerAccepted(w, r, "/v1/batches/"+string(first.Batch), b)
}

// indexJobsNow puts jobs into the index before the projection does, so that a client that asks for their batch at once
// sees all of it.
func (s *Service) indexJobsNow(ctx context.Context, records []*job.Record) {
	if s.index == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, indexTimeout)
	defer cancel()
	for _, rec := range records {
		if err := s.indexJobRecord(ctx, rec); err != nil {
			s.log.DebugContext(ctx, "a batch's jobs are not in the index yet", "error", err)
			return
		}
	}
}

// indexJobRecord puts a job into the index. The job may move on at the same time, and what is written then is newer:
// so the record is read again, until what was written last is what it says.
func (s *Service) indexJobRecord(ctx context.Context, rec *job.Record) error {
	for {
		now, err := s.deps.Jobs.LoadRecord(ctx, rec.Tenant, rec.ID)
		if err != nil {
			return err
		}
		if err := s.index.PutDocument(ctx, projection.IndexDocument(now)); err != nil {
			return err
		}
		after, err := s.deps.Jobs.LoadRecord(ctx, rec.Tenant, rec.ID)
		switch {
		case err != nil:
			return err
		case after.State.IsGone():
			return s.index.DeleteJob(ctx, rec.Tenant, string(rec.ID))
		case after.State == now.State && after.PageCount == now.PageCount:
			return nil
		}
	}
}

func newBatchView(id string) *inkstreamv1.Batch {
	return &inkstreamv1.Batch{Id: id, States: map[string]int32{}, Done: true}
}

// addJobToBatch counts a job in; the first one's age is the batch's.
func addJobToBatch(b *inkstreamv1.Batch, v *inkstreamv1.Job) {
	if len(b.GetJobs()) == 0 {
		b.CreateTime = v.GetCreateTime()
	}
	b.Jobs = append(b.Jobs, v)
	b.States[v.GetState().String()]++
	b.PageCount += v.GetPageCount()
	b.PagesDone += v.GetPagesDone()
	b.Done = b.GetDone() && job.State(v.GetState().String()).HasEnded()
}

package upload

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
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/options"
)

const (
	// maxFormFiles bounds the documents of one form.
	maxFormFiles = 100
	// indexTimeout bounds how long a batch's answer waits for its jobs to be in the index. They get there anyway, a
	// moment later.
	indexTimeout = 2 * time.Second
)

// Result is what became of a request's documents.
type Result struct {
	Records  []*job.Record // in the order of the documents
	Replayed bool          // all of them are of an earlier request
}

// uploadForm is an upload of one or several documents with their options. The limits of an upload hold for all of it.
type uploadForm struct {
	first  *upload
	files  []*upload // first among them, once it has its document
	fields options.Fields
	mode   FormMode
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
		return apierror.InvalidField(fault.InvalidArgument, filePart, "the form has no part named file")
	}
	f.mode.setDefaults(f.fields)
	given, named := f.fields[options.FieldFilename]
	if named && len(f.files) > 1 {
		return apierror.InvalidField(fault.InvalidArgument, options.FieldFilename, "the form has several files; each has a name of its own")
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
		return apierror.InvalidField(fault.InvalidArgument, filePart, "the form has more than %d files", maxFormFiles)
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
	return fault.New(fault.EmptyFile, "file %d of the form, %q, has no bytes", len(f.files), apierror.ClipText(in.filename))
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

// receive takes in the documents of a form and makes their jobs; several make a batch. Where one cannot be registered
// those before it stay: a second try with the same key finds them, and adds the others to their batch.
func (f *uploadForm) receive(ctx context.Context, parts *multipart.Reader) (*Result, error) {
	release, err := f.store(ctx, parts)
	if err != nil {
		f.first.abandon(ctx, reasonOf(err))
		if len(f.files) > 1 {
			abandonAll(ctx, f.files[1:], reasonOf(err))
		}
		return nil, err
	}
	defer release()
	if len(f.files) == 1 {
		return newSingleResult(f.first.finish(ctx))
	}
	batch, took := f.first.batch, &Result{Replayed: true}
	if batch == "" {
		batch = job.NewID()
	}
	for i, in := range f.files {
		in.batch, in.files = batch, len(f.files)
		rec, replayed, err := in.finish(ctx)
		if err != nil {
			abandonAll(ctx, f.files[i+1:], reasonOf(err))
			return nil, err
		}
		batch = rec.Batch // an earlier request's, where there was one
		took.Records = append(took.Records, rec)
		took.Replayed = took.Replayed && replayed
	}
	return took, nil
}

// store stores the documents of a form and reserves the places of their jobs but the first, which has one.
func (f *uploadForm) store(ctx context.Context, parts *multipart.Reader) (release func(), err error) {
	if err := f.readParts(ctx, parts); err != nil {
		return nil, err
	}
	if len(f.files) == 1 {
		return func() {}, nil
	}
	return f.first.service.limits.ReserveJobs(ctx, len(f.files)-1)
}

func abandonAll(ctx context.Context, uploads []*upload, result string) {
	for _, in := range uploads {
		in.abandon(ctx, result)
	}
}

// newSingleResult returns the result of a request with one document, from what receive and finish return.
func newSingleResult(rec *job.Record, replayed bool, err error) (*Result, error) {
	if err != nil {
		return nil, err
	}
	return &Result{Records: []*job.Record{rec}, Replayed: replayed}, nil
}

// answerBatch answers what became of a form with several documents.
func (s *Service) answerBatch(ctx context.Context, w http.ResponseWriter, r *http.Request, took *Result) {
	s.indexJobsNow(ctx, took.Records)
	first := took.Records[0]
	b := jobview.NewBatch(string(first.Batch))
	for _, rec := range took.Records {
		jobview.AddToBatch(b, s.AcceptedJobView(ctx, rec, took.Replayed))
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

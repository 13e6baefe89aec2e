package gateway

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

const (
	pdfType       = "application/pdf"
	octetType     = "application/octet-stream"
	jsonType      = "application/json"
	multipartType = "multipart/form-data"

	// multipartRoom is what a multipart body may hold beside the document.
	multipartRoom = 1 << 20
	// readBuffer is how much of a form is read from the connection at a time.
	readBuffer = 64 << 10
	// maxUploadTime bounds an upload that keeps moving, but only just.
	maxUploadTime = time.Hour

	filePart          = "file"
	idempotencyHeader = "Idempotency-Key"
	replayedHeader    = "Idempotent-Replayed"
	takenTypes        = "multipart/form-data with a part named file, application/pdf or application/octet-stream"
	// uploadOperation is what the log calls an upload over REST.
	uploadOperation = "POST /v1/jobs"
)

// restUpload is POST /v1/jobs.
func (s *Service) restUpload(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxUploadTime)
	defer cancel()
	rec, replayed, err := s.restIntake(ctx, w, r)
	if err != nil {
		s.writeError(w, r, uploadOperation, s.refused(ctx, err))
		return
	}
	v := viewOf(rec, nil)
	if replayed {
		// The job has moved on since; where its progress cannot be read, the record alone will do.
		if now, err := s.jobView(ctx, jobRef{rec.Tenant, rec.ID}); err == nil {
			v = now
		}
		w.Header().Set(replayedHeader, "true")
	}
	data, err := encodeJSON(v)
	if err != nil {
		s.writeError(w, r, uploadOperation, err)
		return
	}
	w.Header().Set("Location", "/v1/jobs/"+string(rec.ID))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
	// The job is accepted, whether or not the client stays for the answer.
	_, _ = w.Write(indent(data))
}

// restIntake checks what can be checked before the body is read, then takes the document in.
func (s *Service) restIntake(ctx context.Context, w http.ResponseWriter, r *http.Request) (*job.Record, bool, error) {
	media, params, err := s.checkUpload(r)
	if err != nil {
		return nil, false, err
	}
	said := fields{}
	for name, values := range r.URL.Query() {
		for _, v := range values {
			if err := said.set(name, v); err != nil {
				return nil, false, err
			}
		}
	}
	in, release, err := s.newIntake(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if keys, ok := r.Header[idempotencyHeader]; ok {
		in.key = strings.Join(keys, ", ")
		if err := checkIdempotencyKey(idempotencyHeader, in.key); err != nil {
			return nil, false, err
		}
	}
	limit := int64(s.cfg.MaxUploadBytes)
	if media == multipartType {
		limit += multipartRoom
	}
	body := &body{
		from: r.Body, left: limit, document: int64(s.cfg.MaxUploadBytes), control: http.NewResponseController(w), timeout: s.cfg.StallTimeout,
	}
	if media == multipartType {
		// A form is read 4 KiB at a time; the connection should not be.
		err = in.takeForm(ctx, multipart.NewReader(bufio.NewReaderSize(body, readBuffer), params["boundary"]), said)
	} else {
		err = in.takeRaw(ctx, body, said, r.Header)
	}
	return in.finish(ctx, err)
}

// checkUpload returns the body's media type, or says why the body need not be read.
func (s *Service) checkUpload(r *http.Request) (media string, params map[string]string, err error) {
	for _, enc := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(enc), "identity") {
			return "", nil, fault.New(fault.UnsupportedMedia, "the server takes no content encoding but identity")
		}
	}
	media, params, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && media == "" {
		return "", nil, fault.New(fault.UnsupportedMedia, "want a body of type %s", takenTypes)
	}
	room := int64(0)
	switch media {
	case multipartType:
		if params["boundary"] == "" {
			return "", nil, fault.New(fault.InvalidArgument, "the content type multipart/form-data needs a boundary")
		}
		room = multipartRoom
	case pdfType, octetType:
		if r.ContentLength == 0 {
			return "", nil, fault.New(fault.EmptyFile, "the file has no bytes")
		}
	default:
		return "", nil, fault.New(fault.UnsupportedMedia, "content type %q, want %s", clip(media), takenTypes)
	}
	if limit := int64(s.cfg.MaxUploadBytes); r.ContentLength > limit+room {
		return "", nil, errTooLarge(limit)
	}
	return media, params, nil
}

// takeRaw takes in a document that is the whole body.
func (in *intake) takeRaw(ctx context.Context, body io.Reader, said fields, h http.Header) error {
	if _, ok := said[fieldFilename]; !ok {
		// A disposition that does not parse gives no name; that is no error of the document.
		_, params, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
		said[fieldFilename] = params["filename"]
	}
	// A bad option is found before the body is read.
	if err := in.apply(said); err != nil {
		return err
	}
	return in.store(ctx, body)
}

// takeForm takes in the parts of a form: one file, and options before and after it.
func (in *intake) takeForm(ctx context.Context, form *multipart.Reader, said fields) error {
	for {
		part, err := form.NextRawPart()
		if err == io.EOF { //nolint:errorlint // the end of the form; a wrapped EOF is a form that is cut short
			break
		}
		if err != nil {
			return formError(err)
		}
		if name := part.FormName(); name != filePart {
			err = takeField(part, name, said)
		} else if in.stored {
			err = invalidField(fault.InvalidArgument, filePart, "the form has several parts named file; a job takes one document")
		} else {
			err = in.takeFile(ctx, part, said)
		}
		if err != nil {
			return err
		}
	}
	if !in.stored {
		return invalidField(fault.InvalidArgument, filePart, "the form has no part named file")
	}
	return in.apply(said)
}

// takeFile stores a form's document. Options that came before it are checked first.
func (in *intake) takeFile(ctx context.Context, part *multipart.Part, said fields) error {
	if enc := part.Header.Get("Content-Transfer-Encoding"); enc != "" && !strings.EqualFold(enc, "binary") && !strings.EqualFold(enc, "8bit") &&
		!strings.EqualFold(enc, "7bit") {
		return fault.New(fault.UnsupportedMedia, "the part named file has a transfer encoding; want its bytes as they are")
	}
	if err := in.apply(said); err != nil {
		return err
	}
	if _, ok := said[fieldFilename]; !ok {
		said[fieldFilename] = part.FileName()
	}
	if err := in.store(ctx, part); err != nil {
		return formError(err)
	}
	return nil
}

// takeField reads an option.
func takeField(part *multipart.Part, name string, said fields) error {
	value, err := io.ReadAll(io.LimitReader(part, maxFieldBytes+1))
	if err != nil {
		return formError(err)
	}
	return said.set(name, string(value))
}

// apply takes over what the client has said so far.
func (in *intake) apply(said fields) error {
	options, err := in.chooseREST(said)
	if err != nil {
		return err
	}
	in.options, in.filename = options, cleanFilename(said[fieldFilename])
	return nil
}

// formError says what a form that cannot be read is: an error with a code keeps it, every other means that the form is malformed.
func formError(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &fault.Error{Kind: fault.Permanent, Code: fault.InvalidArgument, Message: "the form is malformed or ends early", Err: err}
}

// body reads a request's body: at most so many bytes, and each read within the stall timeout. Its errors are faults.
type body struct {
	from     io.Reader
	left     int64 // bytes that may still come
	document int64 // the bound that the client is told
	control  *http.ResponseController
	timeout  time.Duration
	pace     pace
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	// A connection that has no deadlines, as in some tests, goes without.
	_ = b.control.SetReadDeadline(time.Now().Add(b.timeout))
	n, err := b.from.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge(b.document)
	}
	switch {
	case err == nil:
		err = b.pace.moved(n)
	case err == io.EOF:
		// From here on the server reads ahead, to see the client hang up; that must not time out.
		_ = b.control.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &fault.Error{Kind: fault.Permanent, Code: requestTimeout, Message: "the upload stood still for too long", Err: err}
	default:
		err = &fault.Error{Kind: fault.Permanent, Code: fault.InvalidArgument, Message: "the body ends early", Err: err}
	}
	return n, err
}

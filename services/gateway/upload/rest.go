package upload

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/internal/apijson"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/options"
	"inkstream.dev/services/gateway/rest"
)

const (
	// maxMultipartOverhead is what a multipart body may hold beside the document.
	maxMultipartOverhead = 1 << 20
	// readBuffer is how much of a form is read from the connection at a time.
	readBuffer = 64 << 10
	// MaxUploadTime bounds an upload that keeps moving, but only just.
	MaxUploadTime = time.Hour

	filePart      = "file"
	acceptedTypes = "multipart/form-data with a part named file, application/pdf or application/octet-stream"
	// uploadOperation is what the log calls an upload over REST.
	uploadOperation = "POST /v1/jobs"
)

// HandleUpload is POST /v1/jobs.
func (s *Service) HandleUpload(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), MaxUploadTime)
	defer cancel()
	took, err := s.ReceiveRESTUpload(ctx, w, r, FormMode{})
	if err != nil {
		s.errors.WriteError(w, r, uploadOperation, s.AuditRejection(ctx, err))
		return
	}
	if took.Replayed {
		w.Header().Set(replayedHeader, "true")
	}
	if len(took.Records) > 1 {
		s.answerBatch(ctx, w, r, took)
		return
	}
	rec := took.Records[0]
	s.answerAccepted(w, r, "/v1/jobs/"+string(rec.ID), s.AcceptedJobView(ctx, rec, took.Replayed))
}

// AcceptedJobView shows a job to the client that has just uploaded its document. One that an earlier upload made has
// moved on since; where its progress cannot be read, the record alone will do.
func (s *Service) AcceptedJobView(ctx context.Context, rec *job.Record, replayed bool) *inkstreamv1.Job {
	if replayed {
		if now, err := s.jobs.LoadJobView(ctx, jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}); err == nil {
			return now
		}
	}
	return jobview.ToProto(rec, nil)
}

// answerAccepted answers that what the address names was accepted.
func (s *Service) answerAccepted(w http.ResponseWriter, r *http.Request, location string, v proto.Message) {
	data, err := apijson.EncodeIndented(v)
	if err != nil {
		s.errors.WriteError(w, r, uploadOperation, err)
		return
	}
	w.Header().Set("Location", location)
	w.Header().Set("Content-Type", rest.JSONType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusAccepted)
	// The job is accepted, whether or not the client stays for the answer.
	_, _ = w.Write(data)
}

// FormMode says how an upload's options are read.
type FormMode struct {
	// Lenient leaves out what is no option.
	Lenient bool
	// Artifacts are those of a client that does not say.
	Artifacts string
}

// ReceiveRESTUpload checks what can be checked before the body is read, then takes the documents in.
func (s *Service) ReceiveRESTUpload(ctx context.Context, w http.ResponseWriter, r *http.Request,
	how FormMode) (*Result, error) {
	media, params, err := s.checkUploadHeader(r)
	if err != nil {
		return nil, err
	}
	if r.ContentLength > 0 {
		if err := s.limits.CheckExpectedBytes(ctx, r.ContentLength-multipartOverhead(media)); err != nil {
			return nil, err
		}
	}
	said, err := how.parseQuery(r)
	if err != nil {
		return nil, err
	}
	in, release, err := s.newUpload(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if in.key, err = idempotencyKeyOf(r); err != nil {
		return nil, err
	}
	body := s.newUploadBody(w, r, int64(s.cfg.MaxUploadBytes)+multipartOverhead(media))
	if media == rest.MultipartType {
		// A form is read 4 KiB at a time; the connection should not be.
		body.maxOverhead = maxMultipartOverhead + 2*readBuffer // what is read ahead of a document counts until it is handed out
		f := &uploadForm{first: in, fields: said, mode: how, body: body}
		return f.receive(ctx, multipart.NewReader(bufio.NewReaderSize(body, readBuffer), params["boundary"]))
	}
	how.setDefaults(said)
	return newSingleResult(in.receive(ctx, func(ctx context.Context) error {
		return in.storeRawBody(ctx, body, said, r.Header)
	}))
}

// parseQuery reads what the address says of the upload.
func (m FormMode) parseQuery(r *http.Request) (options.Fields, error) {
	said := options.Fields{}
	given, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil && !m.Lenient {
		return nil, rest.ErrInvalidQuery()
	}
	for name, values := range given {
		for _, v := range values {
			if err := m.setField(said, name, v); err != nil {
				return nil, err
			}
		}
	}
	return said, nil
}

func (m FormMode) setField(said options.Fields, name, value string) error {
	if m.Lenient && !slices.Contains(options.KnownFields, options.ToSnakeCase(name)) {
		return nil
	}
	return said.SetField(name, value)
}

// setDefaults adds what the client has not said.
func (m FormMode) setDefaults(said options.Fields) {
	if _, ok := said[options.FieldArtifacts]; !ok && m.Artifacts != "" {
		said[options.FieldArtifacts] = m.Artifacts
	}
}

// multipartOverhead returns what a body may hold beside the documents.
func multipartOverhead(media string) int64 {
	if media == rest.MultipartType {
		return maxMultipartOverhead
	}
	return 0
}

// checkUploadHeader returns the body's media type, or says why the body need not be read.
func (s *Service) checkUploadHeader(r *http.Request) (media string, params map[string]string, err error) {
	for _, enc := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(strings.TrimSpace(enc), "identity") {
			return "", nil, fault.New(fault.UnsupportedMedia, "the server takes no content encoding but identity")
		}
	}
	media, params, err = mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil && media == "" {
		return "", nil, fault.New(fault.UnsupportedMedia, "want a body of type %s", acceptedTypes)
	}
	switch media {
	case rest.MultipartType:
		if params["boundary"] == "" {
			return "", nil, fault.New(fault.InvalidArgument, "the content type multipart/form-data needs a boundary")
		}
	case rest.PDFType, rest.OctetType:
		if r.ContentLength == 0 {
			return "", nil, fault.New(fault.EmptyFile, "the file has no bytes")
		}
	default:
		return "", nil, fault.New(fault.UnsupportedMedia, "content type %q, want %s", apierror.ClipText(media), acceptedTypes)
	}
	if limit := int64(s.cfg.MaxUploadBytes); r.ContentLength > limit+multipartOverhead(media) {
		return "", nil, errTooLarge(limit)
	}
	return media, params, nil
}

// storeRawBody takes in a document that is the whole body.
func (in *upload) storeRawBody(ctx context.Context, body io.Reader, said options.Fields, h http.Header) error {
	if _, ok := said[options.FieldFilename]; !ok {
		// A disposition that does not parse gives no name; that is no error of the document.
		_, params, _ := mime.ParseMediaType(h.Get("Content-Disposition"))
		said[options.FieldFilename] = params["filename"]
	}
	// A bad option is found before the body is read.
	if err := in.applyFields(said); err != nil {
		return err
	}
	return in.storeDocument(ctx, body)
}

// readFormField reads an option.
func readFormField(part *multipart.Part, name string, said options.Fields, how FormMode) error {
	value, err := io.ReadAll(io.LimitReader(part, options.MaxFieldBytes+1))
	if err != nil {
		return classifyFormError(err)
	}
	return how.setField(said, name, string(value))
}

// classifyFormError says what a form that cannot be read is: an error with a code keeps it, every other means that
// the form is malformed.
func classifyFormError(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &fault.Error{Kind: fault.Permanent, Code: fault.InvalidArgument,
		Message: "the form is malformed or ends early", Err: err}
}

// uploadBody reads a request's body: at most so many bytes, and each read within the stall timeout. Its errors are
// faults.
type uploadBody struct {
	source     io.Reader
	left       int64 // bytes that may still come
	document   int64 // the bound that the client is told
	control    *http.ResponseController
	timeout    time.Duration
	throughput limits.MinThroughput
	// overhead counts a form's bytes that are no document's; maxOverhead bounds them, because the heads of its parts are
	// held in memory. 0 is no bound.
	overhead, maxOverhead int64
}

// newUploadBody returns a request's body, of which so many bytes may come.
func (s *Service) newUploadBody(w http.ResponseWriter, r *http.Request, limit int64) *uploadBody {
	return &uploadBody{
		source: r.Body, left: limit, document: int64(s.cfg.MaxUploadBytes), control: http.NewResponseController(w),
		timeout: s.cfg.StallTimeout,
	}
}

// Read implements io.Reader.
func (b *uploadBody) Read(p []byte) (int, error) {
	// A connection that has no deadlines, as in some tests, goes without.
	_ = b.control.SetReadDeadline(time.Now().Add(b.timeout))
	n, err := b.source.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLarge(b.document)
	}
	if b.overhead += int64(n); b.maxOverhead > 0 && b.overhead > b.maxOverhead {
		return 0, fault.New(fault.InvalidArgument, "the form holds more than %s beside its documents",
			config.Bytes(maxMultipartOverhead))
	}
	switch {
	case err == nil:
		err = b.throughput.RecordBytes(n)
	case err == io.EOF: //nolint:errorlint // io.Reader returns the very value
		// From here on the server reads ahead, to see the client hang up; that must not time out.
		_ = b.control.SetReadDeadline(time.Time{})
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &fault.Error{Kind: fault.Permanent, Code: apierror.RequestTimeout, Message: "the upload stood still for too long",
			Err: err}
	default:
		err = &fault.Error{Kind: fault.Permanent, Code: fault.InvalidArgument, Message: "the body ends early", Err: err}
	}
	return n, err
}

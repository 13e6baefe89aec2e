package upload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/validate"
	"inkstream.dev/services/gateway/rest"
)

// CreateJob fetches a document and starts its job.
func (s *Service) CreateJob(ctx context.Context, req *inkstreamv1.CreateJobRequest) (*inkstreamv1.Job, error) {
	rec, replayed, err := s.fetchDocument(ctx, req)
	if err != nil {
		return nil, s.AuditRejection(ctx, err)
	}
	return s.AcceptedJobView(ctx, rec, replayed), nil
}

func (s *Service) fetchDocument(ctx context.Context, req *inkstreamv1.CreateJobRequest) (*job.Record, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxUploadTime)
	defer cancel()
	in, release, err := s.newUpload(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	err = in.applyMetadata("", &inkstreamv1.UploadMetadata{
		Filename: req.GetFilename(), IdempotencyKey: req.GetIdempotencyKey(), Options: req.GetOptions(),
		Labels:     req.GetLabels(),
		WebhookUrl: req.GetWebhookUrl(), Batch: req.GetBatch(),
	})
	if err != nil {
		return nil, false, err
	}
	r, name, err := s.sources.openDocument(ctx, req.GetSource())
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	if in.filename == "" {
		in.filename = cleanFilename(name)
	}
	return in.receive(ctx, func(ctx context.Context) error { return in.storeDocument(ctx, sourceReader{r}) })
}

// sourceReader makes what a place fails with an error that may pass: the document is not to blame for it.
type sourceReader struct{ reader io.Reader }

// Read implements io.Reader.
func (r sourceReader) Read(p []byte) (int, error) {
	n, err := r.reader.Read(p)
	if err == nil || err == io.EOF { //nolint:errorlint // io.Reader returns the very value
		return n, err
	}
	if _, ok := errors.AsType[*fault.Error](err); !ok {
		err = fault.Wrap(fault.Busy, fault.Unavailable, errors.New("read source"))
	}
	return n, err
}

// HandleCreateJob is POST /v1/jobs with a JSON body: CreateJob, but for the status, the address of the job and
// the header with the key.
func (s *Service) HandleCreateJob(w http.ResponseWriter, r *http.Request) {
	req := &inkstreamv1.CreateJobRequest{}
	err := rest.CheckParameters(r)
	if err == nil {
		_, err = rest.DecodeJSONBody(w, r, req)
	}
	if err != nil {
		s.errors.WriteError(w, r, uploadOperation, err)
		return
	}
	if keys, ok := r.Header[IdempotencyHeader]; ok && req.GetIdempotencyKey() == "" {
		req.IdempotencyKey = strings.Join(keys, ", ")
	}
	if err := validate.CheckRequest(req); err != nil {
		s.errors.WriteError(w, r, uploadOperation, err)
		return
	}
	rec, replayed, err := s.fetchDocument(r.Context(), req)
	if err != nil {
		s.errors.WriteError(w, r, uploadOperation, s.AuditRejection(r.Context(), err))
		return
	}
	if replayed {
		w.Header().Set(replayedHeader, "true")
	}
	s.answerAccepted(w, r, "/v1/jobs/"+string(rec.ID), s.AcceptedJobView(r.Context(), rec, replayed))
}

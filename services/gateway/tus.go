package gateway

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// Resumable uploads, as tus.io has them: protocol 1.0.0 with the extensions creation, creation-with-upload,
// expiration and termination. An upload is made by POST /v1/uploads, gets its bytes by any number of PATCH requests,
// and becomes a job with the last of them, by the same way as every other upload. Upload-Metadata holds what else are
// the fields of a form.
//
//	POST   /v1/uploads        201, Location: /v1/uploads/{id}
//	HEAD   /v1/uploads/{id}   Upload-Offset
//	PATCH  /v1/uploads/{id}   204; with the last byte: Location: /v1/jobs/{job}, Inkstream-Job: {job}
//	DELETE /v1/uploads/{id}   204
//
// What has come stands in a folder of the gateway until then. Where several gateways share their clients they need to
// share that folder, or the proxy before them has to send an upload's requests to the same one.

const (
	tusVersion    = "1.0.0"
	tusExtensions = "creation,creation-with-upload,expiration,termination"
	tusType       = "application/offset+octet-stream"
	// tusMaxIdle is how long an upload is kept to which nothing comes.
	tusMaxIdle = 24 * time.Hour
	// tusSweepInterval is how often those that are older are looked for.
	tusSweepInterval = 10 * time.Minute
	// maxResumable bounds the uploads that are not complete.
	maxResumable = 1000

	tusResumableHeader = "Tus-Resumable"
	tusOffsetHeader    = "Upload-Offset"
	tusLengthHeader    = "Upload-Length"
	tusMetadataHeader  = "Upload-Metadata"
	tusJobHeader       = "Inkstream-Job"
	// methodOverride names the method that is meant, for clients which cannot send it.
	methodOverride = "X-HTTP-Method-Override"

	tusVersionWrong fault.Code = "TUS_VERSION"
	tusOffsetWrong  fault.Code = "OFFSET_MISMATCH"
	tusBusy         fault.Code = "UPLOAD_LOCKED"
	uploadNotFound  fault.Code = "UPLOAD_NOT_FOUND"
	resumableOff    fault.Code = "RESUMABLE_OFF"
)

func (s *Service) registerTus(mux *http.ServeMux) {
	s.registerRoute(mux, "/v1/uploads", map[string]http.HandlerFunc{
		http.MethodPost: s.withTusProtocol(s.handleTusCreate), http.MethodOptions: s.withTusProtocol(s.handleTusOptions),
	})
	s.registerRoute(mux, "/v1/uploads/{id}", map[string]http.HandlerFunc{
		http.MethodGet: s.withTusProtocol(s.handleTusHead), http.MethodPatch: s.withTusProtocol(s.handleTusPatch),
		http.MethodDelete:  s.withTusProtocol(s.handleTusDelete),
		http.MethodOptions: s.withTusProtocol(s.handleTusOptions),
	})
}

// isTusPath reports whether an address is the protocol's.
func isTusPath(path string) bool {
	return path == "/v1/uploads" || strings.HasPrefix(path, "/v1/uploads/")
}

// overrideMethod makes the method of a request of the protocol the one that is meant. It comes before all else,
// because the method decides what a request may do.
func overrideMethod(r *http.Request) {
	if m := r.Header.Get(methodOverride); m != "" && isTusPath(r.URL.Path) {
		r.Method = strings.ToUpper(m)
	}
}

// withTusProtocol is what every request of the protocol passes.
func (s *Service) withTusProtocol(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		var err error
		switch {
		case s.resumable == nil:
			err = fault.New(resumableOff,
				"this gateway takes no resumable uploads: it has no folder for them (--gateway.tus-dir)")
		case r.Method != http.MethodOptions && r.Header.Get(tusResumableHeader) != tusVersion:
			h.Set("Tus-Version", tusVersion)
			err = fault.New(tusVersionWrong, "want the header %s: %s", tusResumableHeader, tusVersion)
		default:
			if err = checkParameters(r); err == nil {
				err = serve(w, r)
			}
		}
		if err != nil {
			s.writeError(w, r, "tus "+r.Method, err)
		}
	}
}

func (s *Service) handleTusOptions(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Tus-Version", tusVersion)
	h.Set("Tus-Extension", tusExtensions)
	h.Set("Tus-Max-Size", strconv.FormatInt(int64(s.cfg.MaxUploadBytes), 10))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) handleTusCreate(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	length, err := strconv.ParseInt(r.Header.Get(tusLengthHeader), 10, 64)
	switch limit := int64(s.cfg.MaxUploadBytes); {
	case err != nil || length < 0:
		return invalidField(fault.InvalidArgument, tusLengthHeader, "want the document's size as %s", tusLengthHeader)
	case length == 0:
		return fault.New(fault.EmptyFile, "the file has no bytes")
	case length > limit:
		return errTooLarge(limit)
	}
	u := &resumable{ID: job.NewID(), Tenant: tenantFromContext(ctx), Length: length}
	if err := u.parseMetadata(strings.Join(r.Header.Values(tusMetadataHeader), ",")); err != nil {
		return err
	}
	if keys, ok := r.Header[idempotencyHeader]; ok {
		u.Key = strings.Join(keys, ", ")
		if err := checkIdempotencyKey(idempotencyHeader, u.Key); err != nil {
			return err
		}
	}
	// What is wrong with the options is said before the bytes come; and so is that there is no room.
	if err := (&upload{service: s, tenant: u.Tenant, id: u.ID}).applyFields(u.Said); err != nil {
		return err
	}
	if err := s.admission.checkBacklog(ctx); err != nil {
		return err
	}
	if err := s.checkExpectedBytes(ctx, length); err != nil {
		return err
	}
	if err := s.sealResumable(u); err != nil {
		return err
	}
	if err := s.resumable.createUpload(u); err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/uploads/"+string(u.ID))
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != tusType {
		w.Header().Set("Upload-Expires", formatExpiry(time.Now()))
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	return s.appendTusBytes(w, r, u, http.StatusCreated)
}

// sealResumable takes the password out of what will stand in a file, and seals it.
func (s *Service) sealResumable(u *resumable) error {
	password := u.Said[fieldPassword]
	delete(u.Said, fieldPassword)
	if password != "" {
		u.Sealed = s.deps.Sealer.SealSecret(u.Tenant, u.ID, password) // apply has made sure that there is one
	}
	return nil
}

func formatExpiry(touched time.Time) string {
	return touched.Add(tusMaxIdle).UTC().Format(http.TimeFormat)
}

// loadTusUpload returns the upload that the address names; one of another tenant is none.
func (s *Service) loadTusUpload(r *http.Request) (*resumable, error) {
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return nil, errUploadNotFound()
	}
	u, err := s.resumable.loadInfo(id)
	if err == nil && u.Tenant != tenantFromContext(r.Context()) {
		err = errUploadNotFound()
	}
	return u, err
}

func errUploadNotFound() error {
	return fault.New(uploadNotFound, "there is no such upload, or it has expired")
}

func (s *Service) handleTusHead(w http.ResponseWriter, r *http.Request) error {
	u, err := s.loadTusUpload(r)
	if err != nil {
		return err
	}
	offset, touched, err := s.resumable.uploadOffset(u)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set(tusLengthHeader, strconv.FormatInt(u.Length, 10))
	h.Set(tusOffsetHeader, strconv.FormatInt(offset, 10))
	if u.Metadata != "" {
		h.Set(tusMetadataHeader, u.Metadata)
	}
	if u.Job != "" {
		h.Set("Location", "/v1/jobs/"+string(u.Job))
		h.Set(tusJobHeader, string(u.Job))
	} else {
		h.Set("Upload-Expires", formatExpiry(touched))
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) handleTusPatch(w http.ResponseWriter, r *http.Request) error {
	u, err := s.loadTusUpload(r)
	if err != nil {
		return err
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != tusType {
		return fault.New(fault.UnsupportedMedia, "want a body of type %s", tusType)
	}
	return s.appendTusBytes(w, r, u, http.StatusNoContent)
}

// appendTusBytes takes bytes in, and makes the job when they are all there. What has come stays when the connection
// breaks off.
func (s *Service) appendTusBytes(w http.ResponseWriter, r *http.Request, u *resumable, status int) error {
	unlock, ok := s.resumable.lockUpload(u.ID)
	if !ok {
		return fault.New(tusBusy, "another request brings bytes to this upload; ask where it stands, and go on there")
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(r.Context(), maxUploadTime)
	defer cancel()
	// Loaded again under the lock, where no other request writes: the job may have been made since.
	u, err := s.resumable.loadInfo(u.ID)
	if err != nil {
		return err
	}
	if err := s.receiveTusBody(w, r, u, status == http.StatusCreated); err != nil {
		return err
	}
	offset, touched, err := s.resumable.uploadOffset(u)
	if err != nil {
		return err
	}
	h := w.Header()
	if offset == u.Length {
		if err := s.completeTusUpload(ctx, u); err != nil {
			return s.auditRejection(ctx, err)
		}
		if status == http.StatusNoContent {
			h.Set("Location", "/v1/jobs/"+string(u.Job))
		}
		h.Set(tusJobHeader, string(u.Job))
	} else {
		h.Set("Upload-Expires", formatExpiry(touched))
	}
	h.Set(tusOffsetHeader, strconv.FormatInt(offset, 10))
	w.WriteHeader(status)
	return nil
}

// receiveTusBody appends the request's body to what has come.
func (s *Service) receiveTusBody(w http.ResponseWriter, r *http.Request, u *resumable, first bool) error {
	leave, err := s.acquireUploadSlot(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	offset, _, err := s.resumable.uploadOffset(u)
	if err != nil {
		return err
	}
	if given, err := strconv.ParseInt(r.Header.Get(tusOffsetHeader), 10, 64); !first && (err != nil || given != offset) {
		w.Header().Set(tusOffsetHeader, strconv.FormatInt(offset, 10))
		return fault.New(tusOffsetWrong, "the upload stands at %d", offset)
	}
	left := u.Length - offset
	if r.ContentLength > left {
		return errExceedsLength()
	}
	if left == 0 {
		return nil
	}
	f, err := s.resumable.openBytes(u, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	body := s.newUploadBody(w, r, int64(s.cfg.MaxUploadBytes))
	_, err = io.Copy(f, io.LimitReader(body, left))
	if err == nil && r.ContentLength < 0 { // nothing said how much would come
		if n, _ := io.ReadFull(body, make([]byte, 1)); n > 0 {
			err = errors.Join(errExceedsLength(), f.Truncate(offset))
		}
	}
	if cerr := f.Close(); err == nil && cerr != nil {
		err = wrapFolderError(cerr)
	}
	if errors.As(err, new(*os.PathError)) {
		err = wrapFolderError(err)
	}
	return err
}

func errExceedsLength() error {
	return invalidField(fault.InvalidArgument, tusLengthHeader, "more bytes than the upload has room for")
}

// completeTusUpload makes the job of an upload whose bytes are all there. The upload's id is an idempotency key, so
// that it makes one job however often that is tried.
func (s *Service) completeTusUpload(ctx context.Context, u *resumable) error {
	if u.Job != "" {
		return nil
	}
	in, release, err := s.newUpload(ctx)
	if err != nil {
		return err
	}
	defer release()
	said := uploadFields{}
	for name, value := range u.Said {
		said[name] = value
	}
	if u.Sealed != "" {
		if said[fieldPassword], err = s.deps.Sealer.OpenSecret(u.Tenant, u.ID, u.Sealed); err != nil {
			return err
		}
	}
	if err := in.applyFields(said); err != nil {
		return err
	}
	if in.key = u.Key; in.key == "" {
		in.key = "tus\n" + string(u.ID)
	}
	f, err := s.resumable.openBytes(u, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	rec, _, err := in.finishUpload(ctx, in.storeDocument(ctx, f))
	if err != nil {
		if k := fault.KindOf(err); k == fault.Permanent && ctx.Err() == nil && fault.CodeOf(err) != quotaExceeded {
			s.resumable.removeUpload(u.ID) // the same bytes would be refused again
		}
		return err
	}
	u.Job = rec.ID
	if err := s.resumable.dropBytes(u); err != nil {
		// Another try finds the job by its key.
		s.log.WarnContext(ctx, "an upload's job is not noted with it", "job", rec.ID, "error", err)
	}
	return nil
}

func (s *Service) handleTusDelete(w http.ResponseWriter, r *http.Request) error {
	u, err := s.loadTusUpload(r)
	if err != nil {
		return err
	}
	unlock, ok := s.resumable.lockUpload(u.ID)
	if !ok {
		return fault.New(tusBusy, "another request brings bytes to this upload")
	}
	defer unlock()
	s.resumable.removeUpload(u.ID)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

package upload

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
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/options"
	"inkstream.dev/services/gateway/rest"
)

const (
	// TusVersion is the version of the tus protocol that the gateway speaks, https://tus.io/protocols/resumable-upload.
	TusVersion = "1.0.0"
	// TusExtensions are the protocol's extensions that it speaks.
	TusExtensions = "creation,creation-with-upload,expiration,termination"
	// TusType is the content type of a part of an upload.
	TusType = "application/offset+octet-stream"
	// tusMaxIdle is how long an upload is kept to which nothing comes.
	tusMaxIdle = 24 * time.Hour
	// tusSweepInterval is how often those that are older are looked for.
	tusSweepInterval = 10 * time.Minute
	// maxResumable bounds the uploads that are not complete.
	maxResumable = 1000
)

// The headers of the tus protocol, and those with it.
const (
	TusResumableHeader = "Tus-Resumable"
	TusOffsetHeader    = "Upload-Offset"
	TusLengthHeader    = "Upload-Length"
	tusMetadataHeader  = "Upload-Metadata"
	tusJobHeader       = "Inkstream-Job"
	// methodOverride names the method that is meant, for clients which cannot send it.
	methodOverride = "X-HTTP-Method-Override"
)

// Tus takes resumable uploads. It speaks the protocol itself: the handler of github.com/tus/tusd/v2 (2.9.2) has no
// expiration and answers errors as text without the API's codes, and what is reserved, sealed, audited and noted of the
// job would be code around it that is no shorter.
type Tus struct {
	service *Service
	folder  *tusFolder // nil where there is none for such uploads
}

// NewTus returns a Tus that keeps what has come in a folder; it takes no uploads where the folder's name is empty.
func NewTus(uploads *Service, dir string) (*Tus, error) {
	t := &Tus{service: uploads}
	if dir == "" {
		return t, nil
	}
	folder, err := openTusFolder(dir, uploads.log)
	t.folder = folder
	if folder != nil {
		folder.expired = t.returnReserved
	}
	return t, err
}

// Run removes uploads to which nothing has come for long, until ctx is done.
func (t *Tus) Run(ctx context.Context) {
	if t.folder != nil {
		t.folder.runSweeps(ctx)
	}
}

// RegisterRoutes adds the addresses of the protocol.
func (t *Tus) RegisterRoutes(shell *rest.Shell, mux *http.ServeMux) {
	shell.HandleMethods(mux, "/v1/uploads", map[string]http.HandlerFunc{
		http.MethodPost: t.withTusProtocol(t.handleTusCreate), http.MethodOptions: t.withTusProtocol(t.handleTusOptions),
	})
	shell.HandleMethods(mux, "/v1/uploads/{id}", map[string]http.HandlerFunc{
		http.MethodGet: t.withTusProtocol(t.handleTusHead), http.MethodPatch: t.withTusProtocol(t.handleTusPatch),
		http.MethodDelete:  t.withTusProtocol(t.handleTusDelete),
		http.MethodOptions: t.withTusProtocol(t.handleTusOptions),
	})
}

// isTusPath reports whether an address is the protocol's.
func isTusPath(path string) bool {
	return path == "/v1/uploads" || strings.HasPrefix(path, "/v1/uploads/")
}

// Prepare makes the method of a request of the protocol the one that is meant, and heads its answer, refusals too. It
// comes before all else, because the method decides what a request may do.
func (*Tus) Prepare(h http.Header, r *http.Request) {
	if !isTusPath(r.URL.Path) {
		return
	}
	if m := r.Header.Get(methodOverride); m != "" {
		r.Method = strings.ToUpper(m)
	}
	h.Set(TusResumableHeader, TusVersion)
}

// withTusProtocol is what every request of the protocol passes.
func (t *Tus) withTusProtocol(serve func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		var err error
		switch {
		case t.folder == nil:
			err = fault.New(apierror.ResumableOff,
				"this gateway takes no resumable uploads: it has no folder for them (--gateway.tus-dir)")
		case r.Method != http.MethodOptions && r.Header.Get(TusResumableHeader) != TusVersion:
			h.Set("Tus-Version", TusVersion)
			err = fault.New(apierror.TusVersionWrong, "want the header %s: %s", TusResumableHeader, TusVersion)
		default:
			if err = rest.CheckParameters(r); err == nil {
				err = serve(w, r)
			}
		}
		if err != nil {
			t.service.errors.WriteError(w, r, "tus "+r.Method, err)
		}
	}
}

func (t *Tus) handleTusOptions(w http.ResponseWriter, _ *http.Request) error {
	h := w.Header()
	h.Set("Tus-Version", TusVersion)
	h.Set("Tus-Extension", TusExtensions)
	h.Set("Tus-Max-Size", strconv.FormatInt(int64(t.service.cfg.MaxUploadBytes), 10))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (t *Tus) handleTusCreate(w http.ResponseWriter, r *http.Request) error {
	ctx := r.Context()
	length, err := strconv.ParseInt(r.Header.Get(TusLengthHeader), 10, 64)
	switch limit := int64(t.service.cfg.MaxUploadBytes); {
	case err != nil || length < 0:
		return apierror.InvalidField(fault.InvalidArgument, TusLengthHeader, "want the document's size as %s", TusLengthHeader)
	case length == 0:
		return fault.New(fault.EmptyFile, "the file has no bytes")
	case length > limit:
		return errTooLarge(limit)
	}
	u := &resumable{ID: job.NewID(), Tenant: access.TenantFrom(ctx), Length: length}
	if err := u.parseMetadata(strings.Join(r.Header.Values(tusMetadataHeader), ",")); err != nil {
		return err
	}
	if u.Key, err = idempotencyKeyOf(r); err != nil {
		return err
	}
	// What is wrong with the options is said before the bytes come; and so is that there is no room.
	if err := (&upload{service: t.service, tenant: u.Tenant, id: u.ID, mayKeep: mayKeepJobs(ctx)}).applyFields(u.Said); err != nil {
		return err
	}
	if err := t.service.limits.CheckBacklog(ctx); err != nil {
		return err
	}
	// What is announced counts from now on: it may come in pieces for days, and stands on the disk.
	if u.Reserved, err = t.service.limits.ReserveDailyBytes(ctx, length); err != nil {
		return err
	}
	if err = t.sealResumable(u); err == nil {
		err = t.folder.createUpload(u)
	}
	if err != nil {
		t.returnReserved(u)
		return err
	}
	w.Header().Set("Location", "/v1/uploads/"+string(u.ID))
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if media != TusType {
		w.Header().Set("Upload-Expires", formatExpiry(time.Now()))
		w.WriteHeader(http.StatusCreated)
		return nil
	}
	return t.appendTusBytes(w, r, u, http.StatusCreated)
}

// returnTimeout bounds the exchange by which reserved bytes are given back.
const returnTimeout = 5 * time.Second

// returnReserved gives back the bytes of an upload that came to nothing.
func (t *Tus) returnReserved(u *resumable) {
	ctx, cancel := context.WithTimeout(context.Background(), returnTimeout)
	defer cancel()
	if err := t.service.limits.ReturnDailyBytes(ctx, u.Tenant, u.Reserved); err != nil {
		t.service.log.Warn("give back the bytes of a resumable upload", "error", err) // they count until the day is over
	}
}

// sealResumable takes the password out of what will stand in a file, and seals it.
func (t *Tus) sealResumable(u *resumable) error {
	password := u.Said[options.FieldPassword]
	delete(u.Said, options.FieldPassword)
	if password != "" {
		u.Sealed = t.service.deps.Sealer.SealSecret(u.Tenant, u.ID, password) // apply has made sure that there is one
	}
	return nil
}

func formatExpiry(touched time.Time) string {
	return touched.Add(tusMaxIdle).UTC().Format(http.TimeFormat)
}

// loadTusUpload returns the upload that the address names; one of another tenant is none.
func (t *Tus) loadTusUpload(r *http.Request) (*resumable, error) {
	id, err := job.ParseID(r.PathValue("id"))
	if err != nil {
		return nil, errUploadNotFound()
	}
	u, err := t.folder.loadInfo(id)
	if err == nil && u.Tenant != access.TenantFrom(r.Context()) {
		err = errUploadNotFound()
	}
	return u, err
}

func errUploadNotFound() error {
	return fault.New(apierror.UploadNotFound, "there is no such upload, or it has expired")
}

func (t *Tus) handleTusHead(w http.ResponseWriter, r *http.Request) error {
	u, err := t.loadTusUpload(r)
	if err != nil {
		return err
	}
	offset, touched, err := t.folder.uploadOffset(u)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set(TusLengthHeader, strconv.FormatInt(u.Length, 10))
	h.Set(TusOffsetHeader, strconv.FormatInt(offset, 10))
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

func (t *Tus) handleTusPatch(w http.ResponseWriter, r *http.Request) error {
	u, err := t.loadTusUpload(r)
	if err != nil {
		return err
	}
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != TusType {
		return fault.New(fault.UnsupportedMedia, "want a body of type %s", TusType)
	}
	return t.appendTusBytes(w, r, u, http.StatusNoContent)
}

// appendTusBytes takes bytes in, and makes the job when they are all there. What has come stays when the connection
// breaks off.
func (t *Tus) appendTusBytes(w http.ResponseWriter, r *http.Request, u *resumable, status int) error {
	unlock, ok := t.folder.lockUpload(u.ID)
	if !ok {
		return fault.New(apierror.TusBusy, "another request brings bytes to this upload; ask where it stands, and go on there")
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(r.Context(), MaxUploadTime)
	defer cancel()
	// Loaded again under the lock, where no other request writes: the job may have been made since.
	u, err := t.folder.loadInfo(u.ID)
	if err != nil {
		return err
	}
	if err := t.receiveTusBody(w, r, u, status == http.StatusCreated); err != nil {
		return err
	}
	offset, touched, err := t.folder.uploadOffset(u)
	if err != nil {
		return err
	}
	h := w.Header()
	if offset == u.Length {
		if err := t.completeTusUpload(ctx, u); err != nil {
			return t.service.AuditRejection(ctx, err)
		}
		if status == http.StatusNoContent {
			h.Set("Location", "/v1/jobs/"+string(u.Job))
		}
		h.Set(tusJobHeader, string(u.Job))
	} else {
		h.Set("Upload-Expires", formatExpiry(touched))
	}
	h.Set(TusOffsetHeader, strconv.FormatInt(offset, 10))
	w.WriteHeader(status)
	return nil
}

// receiveTusBody appends the request's body to what has come.
func (t *Tus) receiveTusBody(w http.ResponseWriter, r *http.Request, u *resumable, first bool) error {
	leave, err := t.service.limits.AcquireUploadSlot(r.Context())
	if err != nil {
		return err
	}
	defer leave()
	offset, _, err := t.folder.uploadOffset(u)
	if err != nil {
		return err
	}
	if given, err := strconv.ParseInt(r.Header.Get(TusOffsetHeader), 10, 64); !first && (err != nil || given != offset) {
		w.Header().Set(TusOffsetHeader, strconv.FormatInt(offset, 10))
		return fault.New(apierror.TusOffsetWrong, "the upload stands at %d", offset)
	}
	left := u.Length - offset
	if r.ContentLength > left {
		return errExceedsLength()
	}
	if left == 0 {
		return nil
	}
	f, err := t.folder.openBytes(u, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	body := t.service.newUploadBody(w, r, int64(t.service.cfg.MaxUploadBytes))
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
	return apierror.InvalidField(fault.InvalidArgument, TusLengthHeader, "more bytes than the upload has room for")
}

// completeTusUpload makes the job of an upload whose bytes are all there. The upload's id is an idempotency key, so
// that it makes one job however often that is tried.
func (t *Tus) completeTusUpload(ctx context.Context, u *resumable) error {
	if u.Job != "" {
		return nil
	}
	in, release, err := t.service.newUpload(ctx)
	if err != nil {
		return err
	}
	defer release()
	said := options.Fields{}
	for name, value := range u.Said {
		said[name] = value
	}
	if u.Sealed != "" {
		if said[options.FieldPassword], err = t.service.deps.Sealer.OpenSecret(u.Tenant, u.ID, u.Sealed); err != nil {
			return err
		}
	}
	if err := in.applyFields(said); err != nil {
		return err
	}
	in.counted = u.Reserved != nil
	if in.key = u.Key; in.key == "" {
		in.key = "tus\n" + string(u.ID)
	}
	f, err := t.folder.openBytes(u, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	rec, _, err := in.receive(ctx, func(ctx context.Context) error { return in.storeDocument(ctx, f) })
	if err != nil {
		if k := fault.KindOf(err); k == fault.Permanent && ctx.Err() == nil && fault.CodeOf(err) != apierror.QuotaExceeded {
			t.folder.removeUpload(u.ID) // the same bytes would be refused again
			t.returnReserved(u)
		}
		return err
	}
	u.Job = rec.ID
	if err := t.folder.dropBytes(u); err != nil {
		// Another try finds the job by its key.
		t.service.log.WarnContext(ctx, "an upload's job is not noted with it", "job", rec.ID, "error", err)
	}
	return nil
}

func (t *Tus) handleTusDelete(w http.ResponseWriter, r *http.Request) error {
	u, err := t.loadTusUpload(r)
	if err != nil {
		return err
	}
	unlock, ok := t.folder.lockUpload(u.ID)
	if !ok {
		return fault.New(apierror.TusBusy, "another request brings bytes to this upload")
	}
	defer unlock()
	// Loaded again under the lock: it may have become a job since.
	if u, err = t.folder.loadInfo(u.ID); err != nil {
		return err
	}
	t.folder.removeUpload(u.ID)
	if u.Job == "" {
		t.returnReserved(u)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

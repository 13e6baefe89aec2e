package results_test

import (
	"archive/zip"
	"bytes"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/api/httpbody"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/results"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	files := map[string]string{"text.txt": strings.Repeat("a", 5000), "images/1-1.png": "png", "searchable.pdf": "%PDF"}
	rec := r.NewEndedJob(files)
	res, body := r.Get(t, "/v1/jobs/"+string(rec.ID)+"/artifacts.zip", nil)
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil || res.Header.Get("Content-Type") != "application/zip" || res.StatusCode != http.StatusOK {
		t.Fatalf("got %d %v, %v", res.StatusCode, res.Header, err)
	}
	if len(z.File) != len(files) {
		t.Errorf("got %d files, want %d", len(z.File), len(files))
	}
	for _, f := range z.File {
		from, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil || string(data) != files[f.Name] || (f.Method == zip.Deflate) != (f.Name == "text.txt") {
			t.Errorf("%s: got %d bytes by method %d, %v", f.Name, len(data), f.Method, err)
		}
	}
	running, failed, gone := r.NewJob(gatewaytest.SetRunning), r.NewJob(nil), r.NewEndedJob(nil)
	r.Update(failed, gatewaytest.SetFailed(job.Rejected, fault.NotAPDF))
	r.Update(gone, func(rec *job.Record) error { return rec.Transition(job.Deleted, time.Now()) })
	for id, want := range map[job.ID]int{
		running.ID: http.StatusAccepted, failed.ID: http.StatusConflict, gone.ID: http.StatusGone,
		job.NewID(): http.StatusNotFound,
	} {
		if res, body := r.Get(t, "/v1/jobs/"+string(id)+"/artifacts.zip", nil); res.StatusCode != want {
			t.Errorf("got %d %s, want %d", res.StatusCode, body, want)
		}
	}
}

// deletingWriter is the answer to a client, in the midst of which the job's artifacts go.
type deletingWriter struct {
	http.ResponseWriter
	once   sync.Once
	remove func()
}

func (l *deletingWriter) Write(p []byte) (int, error) {
	l.once.Do(l.remove)
	return l.ResponseWriter.Write(p)
}

func TestArchiveOfDeletedArtifactsIsCut(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewEndedJob(map[string]string{"images/1-1.png": strings.Repeat("png", 50_000), "text.txt": "text"})
	ctx, hold := limits.WithHold(t.Context())
	defer hold.Release()
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	req.SetPathValue("id", string(rec.ID))
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // recover gives back the very value, of any type
			t.Errorf("got panic %v, want http.ErrAbortHandler: the client must not take what it has for all", v)
		}
	}()
	r.Service.Components().Results.HandleArchive(&deletingWriter{ResponseWriter: httptest.NewRecorder(), remove: func() {
		if err := r.Deps.Blobs.DeletePrefix(t.Context(), job.Folder(rec.Tenant, rec.ID)); err != nil {
			t.Error(err)
		}
	}}, req)
}

func TestPageImage(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, nil)
	rec := r.NewEndedJob(map[string]string{"text.txt": "x"})
	r.Update(rec, func(rec *job.Record) error { rec.PageCount = 2; return nil })
	r.StorePageFor(rec)
	fresh := r.NewJob(nil)
	get := func(t *testing.T, call gatewaytest.Caller, id job.ID, page, dpi int32, boxes bool) (*httpbody.HttpBody, error) {
		t.Helper()
		file := &httpbody.HttpBody{}
		err := call(t.Context(), "", "GetPageImage",
			&inkstreamv1.GetPageImageRequest{Id: string(id), Number: page, Dpi: dpi, Boxes: boxes}, file)
		return file, err
	}
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		_, err := get(t, call, rec.ID, 1, 0, false)
		gatewaytest.CheckError(t, err, fault.Unavailable) // no process draws
	})
	r.AnswerPageImages()
	gatewaytest.EachCaller(t, r, func(t *testing.T, call gatewaytest.Caller) {
		for _, tc := range []struct {
			id        job.ID
			page, dpi int32
			boxes     bool
			want      fault.Code
		}{
			{rec.ID, 1, 0, false, ""},
			{rec.ID, 1, 50, true, ""},
			{rec.ID, 1, 17, false, fault.InvalidArgument},
			{rec.ID, 1, 301, false, fault.InvalidArgument},
			{rec.ID, 0, 0, false, fault.InvalidArgument},
			{rec.ID, 2, 0, false, fault.JobFailed},
			{rec.ID, 3, 0, false, fault.PageNotFound},
			{fresh.ID, 1, 0, false, fault.NotReady},
			{gatewaytest.UnknownJob, 1, 0, false, fault.JobNotFound},
		} {
			file, err := get(t, call, tc.id, tc.page, tc.dpi, tc.boxes)
			gatewaytest.CheckError(t, err, tc.want)
			if tc.want != "" {
				continue
			}
			img, perr := png.Decode(bytes.NewReader(file.GetData()))
			if perr != nil || file.GetContentType() != "image/png" {
				t.Fatalf("%+v: got %s, %v", tc, file.GetContentType(), perr)
			}
			dpi := int(tc.dpi)
			if dpi == 0 {
				dpi = results.DefaultDPI
			}
			if img.Bounds().Dx() != 2*dpi {
				t.Errorf("%+v: got %v", tc, img.Bounds())
			}
			// The box of the title begins at a tenth of the page.
			at := color.NRGBAModel.Convert(img.At(img.Bounds().Dx()/10, img.Bounds().Dy()*2/10))
			if tc.boxes != (at == results.BoxColours["title"]) {
				t.Errorf("%+v: got colour %v at the box's edge", tc, at)
			}
		}
	})
	for _, key := range r.BlobKeys() {
		if strings.HasSuffix(key, ".png") {
			t.Errorf("%s is left", key)
		}
	}
}

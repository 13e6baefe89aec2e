package gateway

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"image"
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

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// storePageFor stores the result of page 1 of a job.
func (r *fixture) storePageFor(rec *job.Record) {
	r.t.Helper()
	data, err := document.EncodePage(&inkstreamv1.Page{
		Number: 1, Width: 100, Height: 200, Outcome: job.OutcomeNative, Text: strings.Repeat("Rechnung ", 200),
		Blocks: []*inkstreamv1.Block{{Type: "title", Bbox: []float32{10, 20, 90, 60}, Lines: []*inkstreamv1.Line{{
			Bbox: []float32{10, 20, 90, 60}, Words: []*inkstreamv1.Word{
				{Text: "Rechnung", Bbox: []float32{10, 20, 50, 60}}, {Text: "17", Bbox: []float32{60, 20, 90, 60}},
			},
		}}}},
	}, &document.Evidence{})
	if err != nil {
		r.t.Fatal(err)
	}
	r.putBlob(job.PageKey(rec.Tenant, rec.ID, rec.Run, 1), string(data))
}

func TestConditionsAndRanges(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	text := strings.Repeat("0123456789", 300)
	rec := r.newEndedJob(map[string]string{"text.txt": text, "document.json": `{"a":"` + text + `"}`,
		"searchable.pdf": "%PDF" + text})
	r.storePageFor(rec)
	for _, path := range []string{"/artifacts/text.txt", "/artifacts/document.json", "/pages/1"} {
		path = "/v1/jobs/" + string(rec.ID) + path
		res, body := r.get(t, path, map[string]string{"Accept-Encoding": "identity"}) // or net/http would ask for gzip
		tag := res.Header.Get("Etag")
		if res.StatusCode != http.StatusOK || tag == "" || res.Header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%s: got %d %v", path, res.StatusCode, res.Header)
		}
		for _, tc := range []struct {
			name string
			head map[string]string
			want int
			body string
		}{
			{"it has not changed", map[string]string{"If-None-Match": tag}, http.StatusNotModified, ""},
			{"nor has its compressed form", map[string]string{"If-None-Match": "W/" + tag}, http.StatusNotModified, ""},
			{"it has changed", map[string]string{"If-None-Match": `"x"`}, http.StatusOK, body},
			{"a part", map[string]string{"Range": "bytes=5-9"}, http.StatusPartialContent, body[5:10]},
			{"the end", map[string]string{"Range": "bytes=-3"}, http.StatusPartialContent, body[len(body)-3:]},
			{"no part", map[string]string{"Range": "bytes=999999-"}, http.StatusRequestedRangeNotSatisfiable, "*"},
			{"a part of the same", map[string]string{"Range": "bytes=5-9", "If-Range": tag}, http.StatusPartialContent,
				body[5:10]},
			{"a part of what it was", map[string]string{"Range": "bytes=5-9", "If-Range": `"x"`}, http.StatusOK, body},
		} {
			tc.head["Accept-Encoding"] = "identity"
			res, got := r.get(t, path, tc.head)
			if res.StatusCode != tc.want || tc.body != "*" && got != tc.body {
				t.Errorf("%s, %s: got %d and %d bytes, want %d and %d", path, tc.name, res.StatusCode, len(got), tc.want,
					len(tc.body))
			}
		}
	}
}

func TestCompression(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	text := strings.Repeat("0123456789", 300)
	rec := r.newEndedJob(map[string]string{"text.txt": text, "small.txt": "x", "searchable.pdf": "%PDF" + text})
	r.storePageFor(rec)
	for _, tc := range []struct {
		path, accept, rang string
		zipped             bool
		vary               string
	}{
		{"/artifacts/text.txt", "gzip", "", true, "Accept-Encoding"},
		{"/artifacts/text.txt", "br, gzip;q=0.5", "", true, "Accept-Encoding"},
		{"/artifacts/text.txt", "gzip;q=0", "", false, "Accept-Encoding"},
		{"/artifacts/text.txt", "br", "", false, "Accept-Encoding"},
		{"/artifacts/text.txt", "gzip", "bytes=0-9", false, "Accept-Encoding"},
		{"/artifacts/small.txt", "gzip", "", false, "Accept-Encoding"},
		{"/artifacts/searchable.pdf", "gzip", "", false, ""},
		{"/pages/1", "gzip", "", true, "Accept-Encoding"},
		{"/pages/1", "identity", "", false, "Accept-Encoding"},
		{"/artifacts/text.txt", "identity", "bytes=9999999-", false, "Accept-Encoding"},
		{"/watch", "gzip", "", false, ""},
	} {
		head := map[string]string{"Accept-Encoding": tc.accept}
		if tc.rang != "" {
			head["Range"] = tc.rang
		}
		path := "/v1/jobs/" + string(rec.ID) + tc.path
		res, body := r.get(t, path, head)
		if got := res.Header.Get("Content-Encoding") == "gzip"; got != tc.zipped {
			t.Errorf("%s with %v: compressed %v, want %v", path, head, got, tc.zipped)
		}
		if got := strings.Join(res.Header.Values("Vary"), ", "); got != tc.vary {
			t.Errorf("%s with %v: Vary %q, want %q", path, head, got, tc.vary)
		}
		head["If-None-Match"] = res.Header.Get("Etag")
		if again, _ := r.get(t, path, head); tc.vary != "" && again.Header.Get("Vary") != tc.vary {
			t.Errorf("%s with %v: got %d with Vary %q, want %q", path, head, again.StatusCode, again.Header.Get("Vary"), tc.vary)
		}
		if !tc.zipped {
			continue
		}
		z, err := gzip.NewReader(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		_, want := r.get(t, path, map[string]string{"Accept-Encoding": "identity"})
		if err != nil || string(plain) != want || len(body) >= len(plain) ||
			!strings.HasPrefix(res.Header.Get("Etag"), "W/") {
			t.Errorf("%s: got %d bytes of %d, %v, %v", path, len(body), len(plain), res.Header, err)
		}
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	files := map[string]string{"text.txt": strings.Repeat("a", 5000), "images/1-1.png": "png", "searchable.pdf": "%PDF"}
	rec := r.newEndedJob(files)
	res, body := r.get(t, "/v1/jobs/"+string(rec.ID)+"/artifacts.zip", nil)
	z, err := zip.NewReader(strings.NewReader(body), int64(len(body)))
	if err != nil || res.Header.Get("Content-Type") != zipType || res.StatusCode != http.StatusOK {
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
	running, failed, gone := r.newJob(setRunning), r.newJob(nil), r.newEndedJob(nil)
	r.update(failed, setFailed(job.Rejected, fault.NotAPDF))
	r.update(gone, func(rec *job.Record) error { return rec.Transition(job.Deleted, time.Now()) })
	for id, want := range map[job.ID]int{
		running.ID: http.StatusAccepted, failed.ID: http.StatusConflict, gone.ID: http.StatusGone,
		job.NewID(): http.StatusNotFound,
	} {
		if res, body := r.get(t, "/v1/jobs/"+string(id)+"/artifacts.zip", nil); res.StatusCode != want {
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
	r := startGateway(t, nil)
	rec := r.newEndedJob(map[string]string{"images/1-1.png": strings.Repeat("png", 50_000), "text.txt": "text"})
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	req.SetPathValue("id", string(rec.ID))
	defer func() {
		if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // recover gives back the very value, of any type
			t.Errorf("got panic %v, want http.ErrAbortHandler: the client must not take what it has for all", v)
		}
	}()
	r.svc.handleArchive(&deletingWriter{ResponseWriter: httptest.NewRecorder(), remove: func() {
		if err := r.deps.Blobs.DeletePrefix(t.Context(), job.Folder(rec.Tenant, rec.ID)); err != nil {
			t.Error(err)
		}
	}}, req)
}

// answerPageImages answers calls for images with a white page, as the render service does.
func (r *fixture) answerPageImages() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- r.deps.Bus.ServeCalls(ctx, bus.ImageCall, 1, time.Second,
			func(ctx context.Context, question []byte) (any, error) {
				var q bus.ImageRequest
				if err := json.Unmarshal(question, &q); err != nil {
					return nil, err
				}
				if q.Page == 2 {
					return nil, fault.New(fault.PageDamaged, "the page cannot be loaded")
				}
				img := image.NewNRGBA(image.Rect(0, 0, 2*int(q.DPI), 4*int(q.DPI)))
				for i := range img.Pix {
					img.Pix[i] = 0xff
				}
				var b bytes.Buffer
				if err := png.Encode(&b, img); err != nil {
					return nil, err
				}
				key := job.TempFolder(q.Tenant, job.ID(q.Job), 1) + "image.png"
				return bus.ImageResponse{Key: key}, r.deps.Blobs.PutBytes(ctx, key, b.Bytes(), pngType)
			})
	}()
	r.t.Cleanup(func() {
		cancel()
		<-done
	})
}

func TestPageImage(t *testing.T) {
	t.Parallel()
	r := startGateway(t, nil)
	rec := r.newEndedJob(map[string]string{"text.txt": "x"})
	r.update(rec, func(rec *job.Record) error { rec.PageCount = 2; return nil })
	r.storePageFor(rec)
	fresh := r.newJob(nil)
	get := func(t *testing.T, call caller, id job.ID, page, dpi int32, boxes bool) (*httpbody.HttpBody, error) {
		t.Helper()
		file := &httpbody.HttpBody{}
		err := call(t.Context(), "", "GetPageImage",
			&inkstreamv1.GetPageImageRequest{Id: string(id), Number: page, Dpi: dpi, Boxes: boxes}, file)
		return file, err
	}
	eachCaller(t, r, func(t *testing.T, call caller) {
		_, err := get(t, call, rec.ID, 1, 0, false)
		checkError(t, err, fault.Unavailable) // no process draws
	})
	r.answerPageImages()
	eachCaller(t, r, func(t *testing.T, call caller) {
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
			{unknownJob, 1, 0, false, fault.JobNotFound},
		} {
			file, err := get(t, call, tc.id, tc.page, tc.dpi, tc.boxes)
			checkError(t, err, tc.want)
			if tc.want != "" {
				continue
			}
			img, perr := png.Decode(bytes.NewReader(file.GetData()))
			if perr != nil || file.GetContentType() != pngType {
				t.Fatalf("%+v: got %s, %v", tc, file.GetContentType(), perr)
			}
			dpi := int(tc.dpi)
			if dpi == 0 {
				dpi = defaultDPI
			}
			if img.Bounds().Dx() != 2*dpi {
				t.Errorf("%+v: got %v", tc, img.Bounds())
			}
			// The box of the title begins at a tenth of the page.
			at := color.NRGBAModel.Convert(img.At(img.Bounds().Dx()/10, img.Bounds().Dy()*2/10))
			if tc.boxes != (at == boxColours["title"]) {
				t.Errorf("%+v: got colour %v at the box's edge", tc, at)
			}
		}
	})
	for _, key := range r.blobKeys() {
		if strings.HasSuffix(key, ".png") {
			t.Errorf("%s is left", key)
		}
	}
}

func TestCompatibility(t *testing.T) {
	t.Parallel()
	r := startGateway(t, withIndex(t))
	r.startProjection()
	code, _, body := r.postForm("", "/process_pdf?dpi=200", "", [][2]string{{"a.pdf", "%PDF"}},
		map[string]string{"prompt": "Free OCR."})
	var task struct {
		TaskID  string `json:"task_id"`
		ID      string `json:"id"`
		Status  string `json:"status"`
		Total   int    `json:"total_pages"`
		Done    int    `json:"processed_pages"`
		Detail  string `json:"detail"`
		Message string `json:"error"`
	}
	read := func(body []byte) {
		t.Helper()
		task.Status, task.Detail = "", ""
		if err := json.Unmarshal(body, &task); err != nil {
			t.Fatalf("%s: %v", body, err)
		}
	}
	if read(body); code != http.StatusOK || task.ID == "" || task.ID != task.TaskID || task.Status != "pending" {
		t.Fatalf("upload: got %d %s", code, body)
	}
	rec, err := r.deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(task.ID))
	if err != nil || !rec.Options.WantsArtifact(job.ArtifactLayout) || !rec.Options.WantsArtifact(job.ArtifactMarkdown) {
		t.Errorf("options: %+v, %v", rec.Options, err)
	}
	ask := func(path string, want int) []byte {
		t.Helper()
		res, body := r.get(t, path, nil)
		if res.StatusCode != want {
			t.Errorf("%s: got %d %s, want %d", path, res.StatusCode, body, want)
		}
		return []byte(body)
	}
	ask("/health", http.StatusOK)
	results := []string{"/markdown", "/markdown_det", "/layout_pdf", "/images", "/images/1-1.png"}
	running := r.newJob(setRunning)
	r.progressOf(running)
	if read(ask("/result/"+string(running.ID)+"/status", http.StatusOK)); task.Status != "processing" ||
		task.Total != 5 || task.Done != 3 {
		t.Errorf("got %+v", task)
	}
	for _, path := range results {
		if read(ask("/result/"+string(running.ID)+path, http.StatusAccepted)); task.Status != "processing" ||
			task.Total != 5 || task.Done != 3 {
			t.Errorf("%s while it runs: got %+v", path, task)
		}
	}
	failed := r.newJob(nil)
	r.update(failed, setFailed(job.Rejected, fault.NotAPDF))
	if read(ask("/result/"+string(failed.ID)+"/status", http.StatusOK)); task.Status != "failed" || task.Message == "" {
		t.Errorf("got %+v", task)
	}
	read(ask("/result/"+string(failed.ID)+"/markdown", http.StatusConflict))
	if read(ask("/result/none/markdown", http.StatusNotFound)); task.Detail == "" {
		t.Errorf("got %+v", task)
	}
	ended := r.newEndedJob(map[string]string{"document.md": "# Rechnung", "layout.pdf": "%PDF", "images/1-1.png": "png"})
	r.update(ended, func(rec *job.Record) error { rec.PageCount = 1; return nil })
	r.storePageFor(ended)
	for path, want := range map[string]string{
		"/status": `"status":"completed"`, "/markdown": "# Rechnung", "/layout_pdf": "%PDF",
		"/images": `"images":["1-1.png"]`, "/images/1-1.png": "png",
		"/markdown_det": "<|ref|>title<|/ref|><|det|>[[99, 99, 899, 299]]<|/det|>\nRechnung 17\n",
	} {
		if got := ask("/result/"+string(ended.ID)+path, http.StatusOK); !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	eventually(t, "the jobs are listed", func() bool {
		var list struct{ Tasks []compatTask }
		return json.Unmarshal(ask("/tasks", http.StatusOK), &list) == nil && len(list.Tasks) == 4
	})
}

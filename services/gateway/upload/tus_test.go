package upload_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/upload"
)

func TestResumableUpload(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithTus(t))
	res, body := r.TusRequest("", http.MethodPost, "/v1/uploads", "", map[string]string{
		upload.TusLengthHeader: "12",
		"Upload-Metadata": gatewaytest.MetadataOf("filename", "Bericht.pdf", "filetype", "application/pdf", "lane", "batch", "labels",
			"a=b", "password", "geheim"),
	})
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusCreated || !strings.HasPrefix(at, "/v1/uploads/") ||
		res.Header.Get("Upload-Expires") == "" {
		t.Fatalf("got %d %v %s", res.StatusCode, res.Header, body)
	}
	offset := func() string {
		res, _ := r.TusRequest("", http.MethodHead, at, "", nil)
		if res.StatusCode != http.StatusOK || res.Header.Get(upload.TusLengthHeader) != "12" {
			t.Errorf("HEAD: got %d %v", res.StatusCode, res.Header)
		}
		if want := gatewaytest.MetadataOf("filename", "Bericht.pdf", "filetype", "application/pdf", "lane", "batch", "labels",
			"a=b"); res.Header.Get(upload.TusMetadataHeader) != want {
			t.Errorf("HEAD: got metadata %q, want %q", res.Header.Get(upload.TusMetadataHeader), want)
		}
		return res.Header.Get(upload.TusOffsetHeader)
	}
	for _, tc := range []struct {
		at, body string
		want     int
		offset   string // after it
	}{
		{"0", "%PDF-", http.StatusNoContent, "5"},
		{"3", "x", http.StatusConflict, "5"},
		{"", "x", http.StatusConflict, "5"},
		{"5", "more than there is room for", http.StatusBadRequest, "5"},
		{"5", "1.", http.StatusNoContent, "7"},
	} {
		res, body := r.TusRequest("", http.MethodPatch, at, tc.body, map[string]string{upload.TusOffsetHeader: tc.at})
		if res.StatusCode != tc.want {
			t.Errorf("PATCH %q at %q: got %d %s, want %d", tc.body, tc.at, res.StatusCode, body, tc.want)
		}
		if got := offset(); got != tc.offset {
			t.Errorf("after PATCH %q at %q: offset %s, want %s", tc.body, tc.at, got, tc.offset)
		}
	}
	files, err := filepath.Glob(filepath.Join(r.Cfg.TusDir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("got files %v, %v, want bytes and a note", files, err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || strings.Contains(string(data), "geheim") {
			t.Errorf("%s holds the password: %s, %v", f, data, err)
		}
	}
	res, body = r.TusRequest("", http.MethodPatch, at, "7 end", map[string]string{upload.TusOffsetHeader: "7"})
	id := res.Header.Get(upload.TusJobHeader)
	if res.StatusCode != http.StatusNoContent || id == "" || res.Header.Get("Location") != "/v1/jobs/"+id {
		t.Fatalf("the last piece: got %d %v %s", res.StatusCode, res.Header, body)
	}
	rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(id))
	if err != nil || rec.Filename != "Bericht.pdf" || rec.Options.Lane != "batch" || rec.Labels["a"] != "b" ||
		!rec.Protected {
		t.Errorf("got %+v, %v", rec, err)
	}
	if password, err := r.Deps.DocumentPassword(rec); err != nil || password != "geheim" {
		t.Errorf("password %q, %v", password, err)
	}
	if data, err := r.Deps.Blobs.ReadBytes(t.Context(), job.SourceKey(rec.Tenant, rec.ID), 100); err != nil ||
		string(data) != "%PDF-1.7 end" {
		t.Errorf("stored %q, %v", data, err)
	}
	// A client that did not get the answer finds the job.
	if res, _ := r.TusRequest("", http.MethodPatch, at, "",
		map[string]string{upload.TusOffsetHeader: "12"}); res.Header.Get(upload.TusJobHeader) != id {
		t.Errorf("repeated: got %d %v", res.StatusCode, res.Header)
	}
	if res, _ := r.TusRequest("", http.MethodHead, at, "", nil); res.Header.Get(upload.TusJobHeader) != id {
		t.Errorf("HEAD at the end: got %v", res.Header)
	}
	r.Service.Components().Tus.SweepExpired(time.Now().Add(upload.TusMaxIdle + time.Minute))
	if res, _ := r.TusRequest("", http.MethodHead, at, "", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("after a day: got %d, want 404", res.StatusCode)
	}
}

func TestResumableUploadRefusals(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithTus(t))
	for _, tc := range []struct {
		name string
		head map[string]string
		want int
		code fault.Code
	}{
		{"no length", nil, http.StatusBadRequest, fault.InvalidArgument},
		{"negative", map[string]string{upload.TusLengthHeader: "-1"}, http.StatusBadRequest, fault.InvalidArgument},
		{"empty", map[string]string{upload.TusLengthHeader: "0"}, http.StatusUnprocessableEntity, fault.EmptyFile},
		{"too large", map[string]string{upload.TusLengthHeader: "1001"}, http.StatusRequestEntityTooLarge, fault.TooLarge},
		{"other version", map[string]string{upload.TusLengthHeader: "1", upload.TusResumableHeader: "0.2.2"},
			http.StatusPreconditionFailed, apierror.TusVersionWrong},
		{"bad option", map[string]string{upload.TusLengthHeader: "1", "Upload-Metadata": gatewaytest.MetadataOf("lane", "slow")},
			http.StatusBadRequest, fault.InvalidOption},
		{"unknown option", map[string]string{upload.TusLengthHeader: "1", "Upload-Metadata": gatewaytest.MetadataOf("colour", "x")},
			http.StatusBadRequest, fault.InvalidOption},
		{"no base64", map[string]string{upload.TusLengthHeader: "1", "Upload-Metadata": "filename ???"}, http.StatusBadRequest,
			fault.InvalidArgument},
	} {
		res, body := r.TusRequest("", http.MethodPost, "/v1/uploads", "", tc.head)
		if res.StatusCode != tc.want || !strings.Contains(body, fmt.Sprintf("%q", tc.code)) ||
			res.Header.Get(upload.TusResumableHeader) == "" {
			t.Errorf("%s: got %d %s, want %d %s", tc.name, res.StatusCode, body, tc.want, tc.code)
		}
	}
	for _, id := range []string{"none", "..%2f..%2fetc%2fpasswd", string(job.NewID())} {
		if res, body := r.TusRequest("", http.MethodHead, "/v1/uploads/"+id, "", nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d %s", id, res.StatusCode, body)
		}
	}
	if res, _ := r.TusRequest("", http.MethodOptions, "/v1/uploads", "", nil); res.StatusCode != http.StatusNoContent ||
		res.Header.Get("Tus-Max-Size") != "1000" || res.Header.Get("Tus-Extension") != upload.TusExtensions {
		t.Errorf("OPTIONS: got %d %v", res.StatusCode, res.Header)
	}
	// Refusals name the version too, and so do those of other methods.
	if res, _ := r.TusRequest("", http.MethodPut, "/v1/uploads", "",
		nil); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get(upload.TusResumableHeader) == "" {
		t.Errorf("PUT: got %d %v", res.StatusCode, res.Header)
	}
	// All at once, and ended before it is complete.
	head := map[string]string{upload.TusLengthHeader: "4", "Content-Type": upload.TusType}
	if res, body := r.TusRequest("", http.MethodPost, "/v1/uploads", "%PDF",
		head); res.StatusCode != http.StatusCreated || res.Header.Get(upload.TusJobHeader) == "" {
		t.Errorf("created with its bytes: got %d %v %s", res.StatusCode, res.Header, body)
	}
	res, _ := r.TusRequest("", http.MethodPost, "/v1/uploads", "%P", head)
	at := res.Header.Get("Location")
	// More than there is room for, of which nothing told: what stood there stays.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.BaseURL+at,
		io.MultiReader(strings.NewReader("DF more")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		upload.TusResumableHeader: {upload.TusVersion}, upload.TusOffsetHeader: {"2"}, "Content-Type": {upload.TusType},
		http.CanonicalHeaderKey(upload.MethodOverride): {http.MethodPatch},
	}
	long, err := r.Web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	long.Body.Close()
	if res, _ := r.TusRequest("", http.MethodHead, at, "", nil); long.StatusCode != http.StatusBadRequest ||
		res.Header.Get(upload.TusOffsetHeader) != "2" {
		t.Errorf("too many bytes: got %d, and the upload at %q, want 400 and 2", long.StatusCode,
			res.Header.Get(upload.TusOffsetHeader))
	}
	if res, _ := r.TusRequest("", http.MethodPost, at, "",
		map[string]string{upload.MethodOverride: http.MethodDelete}); res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE by another name: got %d", res.StatusCode)
	}
	if res, _ := r.TusRequest("", http.MethodHead, at, "", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("after DELETE: got %d, want 404", res.StatusCode)
	}
	unlock, _ := r.Service.Components().Tus.LockUpload("x")
	if _, ok := r.Service.Components().Tus.LockUpload("x"); ok {
		t.Error("an upload is locked twice")
	}
	unlock()
}

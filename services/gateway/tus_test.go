package gateway

import (
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
)

// tusRequest sends a request of the protocol and returns its answer.
func (r *fixture) tusRequest(key, method, path, body string, head map[string]string) (*http.Response, string) {
	r.t.Helper()
	all := map[string]string{tusResumableHeader: tusVersion}
	if method == http.MethodPatch {
		all["Content-Type"] = tusType
	}
	maps.Copy(all, head)
	res, data := r.requestWithHead(method, path, key, body, all)
	return res, string(data)
}

func metadataOf(pairs ...string) string {
	var all []string
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, pairs[i]+" "+base64.StdEncoding.EncodeToString([]byte(pairs[i+1])))
	}
	return strings.Join(all, ",")
}

func withTus(t *testing.T) func(*fixtureOptions) {
	dir := t.TempDir()
	return func(s *fixtureOptions) {
		s.cfg.TusDir, s.cfg.MaxUploadBytes, s.sealer = filepath.Join(dir, "tus"), 1000, withSealer(t)
	}
}

func TestResumableUpload(t *testing.T) {
	t.Parallel()
	r := startGateway(t, withTus(t))
	res, body := r.tusRequest("", http.MethodPost, "/v1/uploads", "", map[string]string{
		tusLengthHeader: "12",
		"Upload-Metadata": metadataOf("filename", "Bericht.pdf", "filetype", "application/pdf", "lane", "batch", "labels",
			"a=b", "password", "geheim"),
	})
	at := res.Header.Get("Location")
	if res.StatusCode != http.StatusCreated || !strings.HasPrefix(at, "/v1/uploads/") ||
		res.Header.Get("Upload-Expires") == "" {
		t.Fatalf("got %d %v %s", res.StatusCode, res.Header, body)
	}
	offset := func() string {
		res, _ := r.tusRequest("", http.MethodHead, at, "", nil)
		if res.StatusCode != http.StatusOK || res.Header.Get(tusLengthHeader) != "12" {
			t.Errorf("HEAD: got %d %v", res.StatusCode, res.Header)
		}
		if want := metadataOf("filename", "Bericht.pdf", "filetype", "application/pdf", "lane", "batch", "labels",
			"a=b"); res.Header.Get(tusMetadataHeader) != want {
			t.Errorf("HEAD: got metadata %q, want %q", res.Header.Get(tusMetadataHeader), want)
		}
		return res.Header.Get(tusOffsetHeader)
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
		res, body := r.tusRequest("", http.MethodPatch, at, tc.body, map[string]string{tusOffsetHeader: tc.at})
		if res.StatusCode != tc.want {
			t.Errorf("PATCH %q at %q: got %d %s, want %d", tc.body, tc.at, res.StatusCode, body, tc.want)
		}
		if got := offset(); got != tc.offset {
			t.Errorf("after PATCH %q at %q: offset %s, want %s", tc.body, tc.at, got, tc.offset)
		}
	}
	files, err := filepath.Glob(filepath.Join(r.svc.cfg.TusDir, "*"))
	if err != nil || len(files) != 2 {
		t.Errorf("got files %v, %v, want bytes and a note", files, err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || strings.Contains(string(data), "geheim") {
			t.Errorf("%s holds the password: %s, %v", f, data, err)
		}
	}
	res, body = r.tusRequest("", http.MethodPatch, at, "7 end", map[string]string{tusOffsetHeader: "7"})
	id := res.Header.Get(tusJobHeader)
	if res.StatusCode != http.StatusNoContent || id == "" || res.Header.Get("Location") != "/v1/jobs/"+id {
		t.Fatalf("the last piece: got %d %v %s", res.StatusCode, res.Header, body)
	}
	rec, err := r.deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(id))
	if err != nil || rec.Filename != "Bericht.pdf" || rec.Options.Lane != "batch" || rec.Labels["a"] != "b" ||
		!rec.Protected {
		t.Errorf("got %+v, %v", rec, err)
	}
	if password, err := r.deps.DocumentPassword(rec); err != nil || password != "geheim" {
		t.Errorf("password %q, %v", password, err)
	}
	if data, err := r.deps.Blobs.ReadBytes(t.Context(), job.SourceKey(rec.Tenant, rec.ID), 100); err != nil ||
		string(data) != "%PDF-1.7 end" {
		t.Errorf("stored %q, %v", data, err)
	}
	// A client that did not get the answer finds the job.
	if res, _ := r.tusRequest("", http.MethodPatch, at, "",
		map[string]string{tusOffsetHeader: "12"}); res.Header.Get(tusJobHeader) != id {
		t.Errorf("repeated: got %d %v", res.StatusCode, res.Header)
	}
	if res, _ := r.tusRequest("", http.MethodHead, at, "", nil); res.Header.Get(tusJobHeader) != id {
		t.Errorf("HEAD at the end: got %v", res.Header)
	}
	r.svc.resumable.sweepExpired(time.Now().Add(tusMaxIdle + time.Minute))
	if res, _ := r.tusRequest("", http.MethodHead, at, "", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("after a day: got %d, want 404", res.StatusCode)
	}
}

func TestResumableUploadRefusals(t *testing.T) {
	t.Parallel()
	r := startGateway(t, withTus(t))
	for _, tc := range []struct {
		name string
		head map[string]string
		want int
		code fault.Code
	}{
		{"no length", nil, http.StatusBadRequest, fault.InvalidArgument},
		{"negative", map[string]string{tusLengthHeader: "-1"}, http.StatusBadRequest, fault.InvalidArgument},
		{"empty", map[string]string{tusLengthHeader: "0"}, http.StatusUnprocessableEntity, fault.EmptyFile},
		{"too large", map[string]string{tusLengthHeader: "1001"}, http.StatusRequestEntityTooLarge, fault.TooLarge},
		{"other version", map[string]string{tusLengthHeader: "1", tusResumableHeader: "0.2.2"},
			http.StatusPreconditionFailed, tusVersionWrong},
		{"bad option", map[string]string{tusLengthHeader: "1", "Upload-Metadata": metadataOf("lane", "slow")},
			http.StatusBadRequest, fault.InvalidOption},
		{"unknown option", map[string]string{tusLengthHeader: "1", "Upload-Metadata": metadataOf("colour", "x")},
			http.StatusBadRequest, fault.InvalidOption},
		{"no base64", map[string]string{tusLengthHeader: "1", "Upload-Metadata": "filename ???"}, http.StatusBadRequest,
			fault.InvalidArgument},
	} {
		res, body := r.tusRequest("", http.MethodPost, "/v1/uploads", "", tc.head)
		if res.StatusCode != tc.want || !strings.Contains(body, fmt.Sprintf("%q", tc.code)) ||
			res.Header.Get(tusResumableHeader) == "" {
			t.Errorf("%s: got %d %s, want %d %s", tc.name, res.StatusCode, body, tc.want, tc.code)
		}
	}
	for _, id := range []string{"none", "..%2f..%2fetc%2fpasswd", string(job.NewID())} {
		if res, body := r.tusRequest("", http.MethodHead, "/v1/uploads/"+id, "", nil); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d %s", id, res.StatusCode, body)
		}
	}
	if res, _ := r.tusRequest("", http.MethodOptions, "/v1/uploads", "", nil); res.StatusCode != http.StatusNoContent ||
		res.Header.Get("Tus-Max-Size") != "1000" || res.Header.Get("Tus-Extension") != tusExtensions {
		t.Errorf("OPTIONS: got %d %v", res.StatusCode, res.Header)
	}
	// Refusals name the version too, and so do those of other methods.
	if res, _ := r.tusRequest("", http.MethodPut, "/v1/uploads", "",
		nil); res.StatusCode != http.StatusMethodNotAllowed || res.Header.Get(tusResumableHeader) == "" {
		t.Errorf("PUT: got %d %v", res.StatusCode, res.Header)
	}
	// All at once, and ended before it is complete.
	head := map[string]string{tusLengthHeader: "4", "Content-Type": tusType}
	if res, body := r.tusRequest("", http.MethodPost, "/v1/uploads", "%PDF",
		head); res.StatusCode != http.StatusCreated || res.Header.Get(tusJobHeader) == "" {
		t.Errorf("created with its bytes: got %d %v %s", res.StatusCode, res.Header, body)
	}
	res, _ := r.tusRequest("", http.MethodPost, "/v1/uploads", "%P", head)
	at := res.Header.Get("Location")
	// More than there is room for, of which nothing told: what stood there stays.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.base+at,
		io.MultiReader(strings.NewReader("DF more")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		tusResumableHeader: {tusVersion}, tusOffsetHeader: {"2"}, "Content-Type": {tusType},
		http.CanonicalHeaderKey(methodOverride): {http.MethodPatch},
	}
	long, err := r.web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	long.Body.Close()
	if res, _ := r.tusRequest("", http.MethodHead, at, "", nil); long.StatusCode != http.StatusBadRequest ||
		res.Header.Get(tusOffsetHeader) != "2" {
		t.Errorf("too many bytes: got %d, and the upload at %q, want 400 and 2", long.StatusCode,
			res.Header.Get(tusOffsetHeader))
	}
	if res, _ := r.tusRequest("", http.MethodPost, at, "",
		map[string]string{methodOverride: http.MethodDelete}); res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE by another name: got %d", res.StatusCode)
	}
	if res, _ := r.tusRequest("", http.MethodHead, at, "", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("after DELETE: got %d, want 404", res.StatusCode)
	}
	unlock, _ := r.svc.resumable.lockUpload("x")
	if _, ok := r.svc.resumable.lockUpload("x"); ok {
		t.Error("an upload is locked twice")
	}
	unlock()
}

// Several gateways may share a folder, each with a lock of its own on the file.
func TestResumableUploadIsLockedForAllGateways(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var gateways [2]*tusFolder
	for i := range gateways {
		var err error
		if gateways[i], err = openTusFolder(dir, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
	}
	u := &resumable{ID: job.NewID(), Tenant: "acme", Length: 3}
	if err := gateways[0].createUpload(u); err != nil {
		t.Fatal(err)
	}
	unlock, ok := gateways[0].lockUpload(u.ID)
	if !ok {
		t.Fatal("an upload without a writer is locked")
	}
	if _, ok := gateways[1].lockUpload(u.ID); ok {
		t.Error("two gateways write to one upload")
	}
	unlock()
	if unlock, ok = gateways[1].lockUpload(u.ID); !ok {
		t.Error("the upload stays locked after the one that wrote is through")
	} else {
		unlock()
	}
}

func TestResumableUploadsOfOneTenantLeaveRoom(t *testing.T) {
	t.Parallel()
	folder, err := openTusFolder(t.TempDir(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	folder.maxIncomplete, folder.maxPerTenant = 5, 3
	for range folder.maxPerTenant {
		if err := folder.createUpload(&resumable{ID: job.NewID(), Tenant: "a", Length: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for tenant, want := range map[string]bool{"a": false, "b": true} {
		err := folder.createUpload(&resumable{ID: job.NewID(), Tenant: tenant, Length: 1})
		if (err == nil) != want || err != nil && fault.CodeOf(err) != fault.QueueFull {
			t.Errorf("tenant %s: got %v, want it taken: %v", tenant, err, want)
		}
	}
}

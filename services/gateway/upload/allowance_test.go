package upload_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/gatewaytest"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/upload"
)

// What resumable uploads announce counts from their creation on, once, until they come to nothing.
func TestResumableUploadsReserveTheirBytes(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		gatewaytest.WithTus(t)(s)
		s.Cfg.Access.Limits.Quota.BytesPerDay = 100
	})
	create := func(length string, want int) string {
		t.Helper()
		res, body := r.TusRequest("", http.MethodPost, "/v1/uploads", "", map[string]string{upload.TusLengthHeader: length})
		if res.StatusCode != want || want != http.StatusCreated && !strings.Contains(body, string(apierror.QuotaExceeded)) {
			t.Fatalf("%s bytes announced: got %d %s, want %d", length, res.StatusCode, body, want)
		}
		return res.Header.Get("Location")
	}
	send := func(at, body string, want int) {
		t.Helper()
		res, answer := r.TusRequest("", http.MethodPatch, at, body, map[string]string{upload.TusOffsetHeader: "0"})
		if res.StatusCode != want {
			t.Fatalf("PATCH: got %d %s, want %d", res.StatusCode, answer, want)
		}
	}
	given := create("60", http.StatusCreated)
	create("41", http.StatusTooManyRequests)
	if res, body := r.TusRequest("", http.MethodDelete, given, "", nil); res.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: got %d %s", res.StatusCode, body)
	}

	create("70", http.StatusCreated) // never completed
	taken := create("20", http.StatusCreated)
	create("11", http.StatusTooManyRequests)
	send(taken, "%PDF-1.7 and so on, ", http.StatusNoContent)
	// It counts once, and goes on counting when the note of it goes.
	create("11", http.StatusTooManyRequests)
	r.TusRequest("", http.MethodDelete, taken, "", nil)
	create("11", http.StatusTooManyRequests)
	create("10", http.StatusCreated)

	r.Service.Components().Tus.SweepExpired(time.Now().Add(upload.TusMaxIdle + time.Minute))
	create("81", http.StatusTooManyRequests)
	create("80", http.StatusCreated)
}

// An upload that is refused at its end gives back what it has reserved.
func TestRefusedResumableUploadReturnsItsBytes(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(s *gatewaytest.Options) {
		gatewaytest.WithTus(t)(s)
		s.Cfg.Access.Limits.Quota.BytesPerDay = 100
	})
	head := map[string]string{upload.TusLengthHeader: "60", "Content-Type": upload.TusType, "Idempotency-Key": "one"}
	body := strings.Repeat("x", 60)
	if res, answer := r.TusRequest("", http.MethodPost, "/v1/uploads", body, head); res.StatusCode != http.StatusCreated {
		t.Fatalf("got %d %s", res.StatusCode, answer)
	}
	head[upload.TusLengthHeader] = "30"
	for range 3 { // the key is another upload's
		res, answer := r.TusRequest("", http.MethodPost, "/v1/uploads", body[:30], head)
		if res.StatusCode != http.StatusConflict || !strings.Contains(answer, string(fault.IdempotencyConflict)) {
			t.Errorf("got %d %s, want a conflict", res.StatusCode, answer)
		}
	}
	head[upload.TusLengthHeader], head["Idempotency-Key"] = "40", "two"
	if res, answer := r.TusRequest("", http.MethodPost, "/v1/uploads", body[:40], head); res.StatusCode != http.StatusCreated {
		t.Errorf("the rest of the day: got %d %s", res.StatusCode, answer)
	}
}

// To keep a job for ever takes room that no other job gets back, which is not for every writer to decide.
func TestKeepingForEverNeedsAScope(t *testing.T) {
	t.Parallel()
	r, admin := gatewaytest.StartWithKeys(t, nil)
	_, writer := r.NewKey(admin, `{"scopes":["write"]}`)
	for _, tc := range []struct {
		key, retention string
		want           int
	}{
		{writer, "0", http.StatusForbidden}, {writer, "3000d", http.StatusForbidden}, {writer, "90d", http.StatusAccepted},
		{admin, "0", http.StatusAccepted}, {admin, "3000d", http.StatusAccepted},
	} {
		code, _, body := r.RequestWithKey(http.MethodPost, "/v1/jobs?retention="+tc.retention, tc.key, "application/pdf", "%PDF")
		if code != tc.want {
			t.Errorf("retention %s: got %d %s, want %d", tc.retention, code, body, tc.want)
		}
	}
}

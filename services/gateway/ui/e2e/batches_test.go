package e2e

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"testing"
)

// sendBatch uploads several documents in one request and returns the batch's id, once all have ended.
func (s *server) sendBatch(t *testing.T, documents map[string][]byte) string {
	t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, document := range documents {
		part, err := w.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := part.Write(document); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var batch struct {
		ID   string
		Jobs []struct{ ID string }
	}
	if err := s.call(t.Context(), http.MethodPost, "/v1/jobs", w.FormDataContentType(), &form, &batch); err != nil {
		t.Fatal(err)
	}
	for _, job := range batch.Jobs {
		if err := s.awaitEnd(t.Context(), job.ID); err != nil {
			t.Fatal(err)
		}
	}
	return batch.ID
}

// A batch shows how its documents stand, and leads to them.
func TestBatchesLeadToTheirDocuments(t *testing.T) {
	t.Parallel()
	axe, err := os.ReadFile("testdata/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	first := shared.sendBatch(t, map[string][]byte{"one.pdf": makePDF("The first of two."), "two.pdf": makePDF("The second of two.")})
	second := shared.sendBatch(t, map[string][]byte{"three.pdf": makePDF("The third."), "four.pdf": []byte("no PDF")})
	b := openTab(t, shared.url)
	b.open("/ui/batches")
	b.waitText("tr[data-batch='"+first+"'] .pill", "2 succeeded")
	b.waitText("tr[data-batch='"+second+"'] .pill", "1 rejected")
	order := eval[[]string](b, "[...document.querySelectorAll('tr[data-batch]')].map((e) => e.dataset.batch)")
	if slices.Index(order, second) > slices.Index(order, first) { // others may send batches too
		t.Errorf("the batches are %v, want %s before %s", order, second, first)
	}
	for _, look := range []string{"light", "dark"} {
		b.look(look, 1360, 850)
		checkAccessible(b, string(axe), "/ui/batches-"+look)
	}
	b.look("light", 390, 844)
	checkAccessible(b, string(axe), "/ui/batches-narrow")
	b.click("tr[data-batch='"+second+"'] .pill", "1 rejected")
	b.wait("document.querySelectorAll('tr[data-job]').length === 1 && document.querySelector('tr[data-job]').textContent.includes('four.pdf')")
	b.open("/ui/batches")
	b.click("tr[data-batch] a", first)
	b.wait("document.querySelectorAll('tr[data-job]').length === 2")
	b.waitText("tr[data-job]", "one.pdf")
}

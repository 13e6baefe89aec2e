package compat_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/services/gateway/compat"
	"inkstream.dev/services/gateway/gatewaytest"
)

// An operator may leave the addresses out; those of the API stay.
func TestCompatibilityIsLeftOut(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, func(o *gatewaytest.Options) { o.Cfg.Compat = false })
	for path, want := range map[string]int{"/tasks": http.StatusNotFound, "/health": http.StatusNotFound,
		"/result/x/status": http.StatusNotFound, "/healthz": http.StatusOK} {
		if res, body := r.Get(t, path, nil); res.StatusCode != want {
			t.Errorf("%s: got %d %s, want %d", path, res.StatusCode, body, want)
		}
	}
}

func TestCompatibility(t *testing.T) {
	t.Parallel()
	r := gatewaytest.Start(t, gatewaytest.WithIndex(t))
	r.StartProjection()
	code, _, body := r.PostForm("", "/process_pdf?dpi=200", "", [][2]string{{"a.pdf", "%PDF"}},
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
	rec, err := r.Deps.Jobs.LoadRecord(t.Context(), job.DefaultTenant, job.ID(task.ID))
	if err != nil || !rec.Options.WantsArtifact(job.ArtifactLayout) || !rec.Options.WantsArtifact(job.ArtifactMarkdown) {
		t.Errorf("options: %+v, %v", rec.Options, err)
	}
	ask := func(path string, want int) []byte {
		t.Helper()
		res, body := r.Get(t, path, nil)
		if res.StatusCode != want {
			t.Errorf("%s: got %d %s, want %d", path, res.StatusCode, body, want)
		}
		return []byte(body)
	}
	ask("/health", http.StatusOK)
	results := []string{"/markdown", "/markdown_det", "/layout_pdf", "/images", "/images/1-1.png"}
	running := r.NewJob(gatewaytest.SetRunning)
	r.ProgressOf(running)
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
	failed := r.NewJob(nil)
	r.Update(failed, gatewaytest.SetFailed(job.Rejected, fault.NotAPDF))
	if read(ask("/result/"+string(failed.ID)+"/status", http.StatusOK)); task.Status != "failed" || task.Message == "" {
		t.Errorf("got %+v", task)
	}
	read(ask("/result/"+string(failed.ID)+"/markdown", http.StatusConflict))
	if read(ask("/result/none/markdown", http.StatusNotFound)); task.Detail == "" {
		t.Errorf("got %+v", task)
	}
	ended := r.NewEndedJob(map[string]string{"document.md": "# Rechnung", "layout.pdf": "%PDF", "images/1-1.png": "png"})
	r.Update(ended, func(rec *job.Record) error { rec.PageCount = 1; return nil })
	r.StorePageFor(ended)
	for path, want := range map[string]string{
		"/status": `"status":"completed"`, "/markdown": "# Rechnung", "/layout_pdf": "%PDF",
		"/images": `"images":["1-1.png"]`, "/images/1-1.png": "png",
		"/markdown_det": "<|ref|>title<|/ref|><|det|>[[99, 99, 899, 299]]<|/det|>\nRechnung 17\n",
	} {
		if got := ask("/result/"+string(ended.ID)+path, http.StatusOK); !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	gatewaytest.Eventually(t, "the jobs are listed", func() bool {
		var list struct{ Tasks []compat.Task }
		return json.Unmarshal(ask("/tasks", http.StatusOK), &list) == nil && len(list.Tasks) == 4
	})
}

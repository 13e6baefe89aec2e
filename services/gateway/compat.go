package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The addresses and shapes of the FastAPI servers that wrap OCR models, for clients that were written for one of them:
//
//	POST /process_pdf            upload; fields that are no options here are left out
//	GET  /result/{id}/status     pending, processing, completed or failed, and how many pages are through
//	GET  /result/{id}/markdown, markdown_det, layout_pdf, images, images/{name}
//	                             the results; 202 and the status while there are none
//	GET  /tasks, /health
//
// Whatever they say is what the API of /v1 says in other words; nothing is kept for them.

const (
	// compatArtifacts is what their jobs yield: layout_pdf is none of the default.
	compatArtifacts = "text,json,markdown,tables,images,searchable_pdf,metadata,chunks,layout_pdf"
	// compatGrid is the grid that boxes are given in: models count them in thousandths of the page.
	compatGrid = 999
	// compatSplit parts pages.
	compatSplit = "\n<--- Page Split --->\n"
	maxTasks    = 100
)

// compatTask is a job as those servers show it.
type compatTask struct {
	TaskID         string   `json:"task_id"`
	ID             string   `json:"id"`
	Status         string   `json:"status"`
	Filename       string   `json:"filename"`
	TotalPages     int32    `json:"total_pages"`
	ProcessedPages int32    `json:"processed_pages"`
	Progress       float64  `json:"progress"`
	CreatedAt      string   `json:"created_at,omitempty"`
	CompletedAt    string   `json:"completed_at,omitempty"`
	Error          string   `json:"error,omitempty"`
	Images         []string `json:"images,omitempty"`
}

func (s *Service) registerCompat(mux *http.ServeMux) {
	s.registerRoute(mux, "/process_pdf", map[string]http.HandlerFunc{http.MethodPost: s.compatProcess})
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/result/{id}/status":        s.compatStatus,
		"/result/{id}/markdown":      s.compatArtifact("document.md"),
		"/result/{id}/markdown_det":  s.compatDetections,
		"/result/{id}/layout_pdf":    s.compatArtifact("layout.pdf"),
		"/result/{id}/images":        s.compatImages,
		"/result/{id}/images/{name}": s.compatImage,
		"/tasks":                     s.compatTasks,
		"/health":                    s.compatHealth,
	} {
		s.registerRoute(mux, pattern, map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter,
			r *http.Request) {
			if err := serve(w, r); err != nil {
				s.compatError(w, r, err)
			}
		}})
	}
}

// compatError answers an error as FastAPI does, with the stable code besides. A result that is not there yet is a
// status.
func (s *Service) compatError(w http.ResponseWriter, r *http.Request, err error) {
	st := s.reportError(r.Context(), r.Pattern, err)
	if id := r.PathValue("id"); reasonOfStatus(st) == fault.NotReady && id != "" {
		if v, verr := s.GetJob(r.Context(), &inkstreamv1.GetJobRequest{Id: id}); verr == nil {
			w.Header().Set("Retry-After", "1")
			s.compatJSON(w, http.StatusAccepted, newCompatTask(v))
			return
		}
	}
	s.compatJSON(w, httpStatusOf(st), map[string]any{"detail": st.Message(), "code": reasonOfStatus(st)})
}

func (*Service) compatJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"detail":"internal error"}`)
	}
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that hung up has no use for it
}

func newCompatTask(v *inkstreamv1.Job) *compatTask {
	t := &compatTask{
		TaskID: v.GetId(), ID: v.GetId(), Filename: v.GetFilename(), TotalPages: v.GetPageCount(),
		ProcessedPages: v.GetPagesDone(),
	}
	switch v.GetState() {
	case inkstreamv1.Job_PENDING:
		t.Status = "pending"
	case inkstreamv1.Job_RUNNING:
		t.Status = "processing"
	case inkstreamv1.Job_SUCCEEDED, inkstreamv1.Job_PARTIAL:
		t.Status = "completed"
	default:
		t.Status = "failed"
		t.Error = v.GetError().GetMessage()
	}
	if t.TotalPages > 0 {
		t.Progress = float64(t.ProcessedPages) / float64(t.TotalPages)
	}
	if v.GetCreateTime() != nil {
		t.CreatedAt = v.GetCreateTime().AsTime().Format("2006-01-02T15:04:05.000000Z07:00")
	}
	if v.GetEndTime() != nil {
		t.CompletedAt = v.GetEndTime().AsTime().Format("2006-01-02T15:04:05.000000Z07:00")
	}
	return t
}

func (s *Service) compatProcess(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), maxUploadTime)
	defer cancel()
	took, err := s.receiveRESTUpload(ctx, w, r, formMode{lenient: true, artifacts: compatArtifacts})
	if err != nil {
		s.compatError(w, r, s.auditRejection(ctx, err))
		return
	}
	task := newCompatTask(s.acceptedJobView(ctx, took.records[0], took.replayed))
	w.Header().Set("Location", "/result/"+task.ID+"/status")
	s.compatJSON(w, http.StatusOK, task)
}

func (s *Service) compatStatus(w http.ResponseWriter, r *http.Request) error {
	v, err := s.GetJob(r.Context(), &inkstreamv1.GetJobRequest{Id: r.PathValue("id")})
	if err != nil {
		return err
	}
	s.compatJSON(w, http.StatusOK, newCompatTask(v))
	return nil
}

func (s *Service) compatArtifact(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error { return s.serveArtifact(w, r, name) }
}

func (s *Service) compatImage(w http.ResponseWriter, r *http.Request) error {
	return s.serveArtifact(w, r, "images/"+r.PathValue("name"))
}

func (s *Service) compatImages(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.loadRequestedJob(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !rec.State.HasEnded() && rec.ResultRun == 0 {
		return fault.New(fault.NotReady, "the job is %s", rec.State)
	}
	list, err := s.ListArtifacts(r.Context(), &inkstreamv1.ListArtifactsRequest{Id: string(rec.ID)})
	if err != nil {
		return err
	}
	names := []string{}
	for _, a := range list.GetArtifacts() {
		if path.Dir(a.GetName()) == "images" {
			names = append(names, path.Base(a.GetName()))
		}
	}
	s.compatJSON(w, http.StatusOK, map[string]any{"task_id": rec.ID, "images": names})
	return nil
}

// compatDetections answers the text with what it is and where: <|ref|>type<|/ref|><|det|>[[x0, y0, x1, y1]]<|/det|>
// before each block.
func (s *Service) compatDetections(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.loadRequestedJob(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case !rec.State.HasEnded() && rec.ResultRun == 0:
		return fault.New(fault.NotReady, "the job is %s", rec.State)
	case !hasResults(rec.State) && rec.ResultRun == 0:
		return errNoResult(rec)
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	for n := 1; n <= rec.PageCount; n++ {
		page, err := s.GetPage(r.Context(), &inkstreamv1.GetPageRequest{Id: string(rec.ID), Number: int32(n)})
		if err != nil && n == 1 {
			return err
		}
		if err != nil {
			s.reportError(r.Context(), r.Pattern, err)
			panic(http.ErrAbortHandler) // the client must see that it is not all
		}
		if n > 1 {
			_, _ = w.Write([]byte(compatSplit))
		}
		if _, err := w.Write([]byte(renderDetections(page))); err != nil {
			return nil //nolint:nilerr // the client hung up
		}
	}
	return nil
}

func renderDetections(p *inkstreamv1.Page) string {
	var b strings.Builder
	for _, block := range p.GetBlocks() {
		box := block.GetBbox()
		if len(box) != 4 || p.GetWidth() <= 0 || p.GetHeight() <= 0 {
			continue
		}
		var at [4]int
		for i, v := range box {
			size := p.GetWidth()
			if i%2 == 1 {
				size = p.GetHeight()
			}
			at[i] = min(max(int(v/size*compatGrid), 0), compatGrid)
		}
		fmt.Fprintf(&b, "<|ref|>%s<|/ref|><|det|>[[%d, %d, %d, %d]]<|/det|>\n", block.GetType(), at[0], at[1], at[2], at[3])
		for i, l := range block.GetLines() {
			if i > 0 {
				b.WriteByte('\n')
			}
			for j, word := range l.GetWords() {
				if j > 0 {
					b.WriteByte(' ')
				}
				b.WriteString(word.GetText())
			}
		}
		b.WriteString("\n\n")
	}
	return b.String()
}

func (s *Service) compatTasks(w http.ResponseWriter, r *http.Request) error {
	size := maxTasks
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxList {
			return invalidField(fault.InvalidArgument, "limit", "limit %q, want 1 to %d", clipText(text), maxList)
		}
		size = n
	}
	list, err := s.ListJobs(r.Context(), &inkstreamv1.ListJobsRequest{PageSize: int32(size)})
	if err != nil {
		return err
	}
	tasks := []*compatTask{}
	for _, v := range list.GetJobs() {
		tasks = append(tasks, newCompatTask(v))
	}
	s.compatJSON(w, http.StatusOK, map[string]any{"tasks": tasks, "total": len(tasks)})
	return nil
}

func (s *Service) compatHealth(w http.ResponseWriter, r *http.Request) error {
	if !s.status.BuildReport(r.Context()).Ready {
		s.compatJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unhealthy"})
		return nil
	}
	s.compatJSON(w, http.StatusOK, map[string]string{"status": "healthy"})
	return nil
}

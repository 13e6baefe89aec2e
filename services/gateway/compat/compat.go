// Package compat has the addresses and shapes of the FastAPI servers that wrap OCR models.
package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"
	"strings"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/lifecycle"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/rest"
	"inkstream.dev/services/gateway/results"
	"inkstream.dev/services/gateway/search"
	"inkstream.dev/services/gateway/upload"
	"inkstream.dev/services/gateway/watch"
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
	// defaultArtifacts is what their jobs yield: layout_pdf is none of the default.
	defaultArtifacts = "text,json,markdown,tables,images,searchable_pdf,metadata,chunks,layout_pdf"
	// boxGrid is the grid that boxes are given in: models count them in thousandths of the page.
	boxGrid = 999
	// pageSplit parts pages.
	pageSplit = "\n<--- Page Split --->\n"
	maxTasks  = 100
)

// task is a job as those servers show it.
type task struct {
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

// Service answers at those addresses.
type Service struct {
	upload  *upload.Service
	watch   *watch.Service
	results *results.Service
	search  *search.Service
	jobs    *jobview.Service
	errors  *apierror.Reporter
	status  *lifecycle.Status
}

// New returns a Service that has everything done by the others.
func New(uploads *upload.Service, watches *watch.Service, result *results.Service, lists *search.Service,
	reader *jobview.Service, report *apierror.Reporter, status *lifecycle.Status) *Service {
	return &Service{upload: uploads, watch: watches, results: result, search: lists, jobs: reader, errors: report,
		status: status}
}

// RegisterRoutes adds the addresses.
func (s *Service) RegisterRoutes(shell *rest.Shell, mux *http.ServeMux) {
	shell.HandleMethods(mux, "/process_pdf", map[string]http.HandlerFunc{http.MethodPost: s.handleUpload})
	for pattern, serve := range map[string]func(http.ResponseWriter, *http.Request) error{
		"/result/{id}/status":        s.handleStatus,
		"/result/{id}/markdown":      s.serveArtifactNamed("document.md"),
		"/result/{id}/markdown_det":  s.handleDetections,
		"/result/{id}/layout_pdf":    s.serveArtifactNamed("layout.pdf"),
		"/result/{id}/images":        s.handleImages,
		"/result/{id}/images/{name}": s.handleImage,
		"/tasks":                     s.handleTasks,
		"/health":                    s.handleHealth,
	} {
		shell.HandleMethods(mux, pattern, map[string]http.HandlerFunc{http.MethodGet: func(w http.ResponseWriter,
			r *http.Request) {
			if err := serve(w, r); err != nil {
				s.writeError(w, r, err)
			}
		}})
	}
}

// writeError answers an error as FastAPI does, with the stable code besides. A result that is not there yet is a
// status.
func (s *Service) writeError(w http.ResponseWriter, r *http.Request, err error) {
	st := s.errors.ReportError(r.Context(), r.Pattern, err)
	if id := r.PathValue("id"); apierror.ReasonOf(st) == fault.NotReady && id != "" {
		if v, verr := s.watch.GetJob(r.Context(), &inkstreamv1.GetJobRequest{Id: id}); verr == nil {
			w.Header().Set("Retry-After", "1")
			s.writeJSON(w, http.StatusAccepted, newTask(v))
			return
		}
	}
	s.writeJSON(w, apierror.HTTPStatusOf(st), map[string]any{"detail": st.Message(), "code": apierror.ReasonOf(st)})
}

func (*Service) writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		status, data = http.StatusInternalServerError, []byte(`{"detail":"internal error"}`)
	}
	w.Header().Set("Content-Type", rest.JSONType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a client that hung up has no use for it
}

func newTask(v *inkstreamv1.Job) *task {
	t := &task{
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

func (s *Service) handleUpload(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), upload.MaxUploadTime)
	defer cancel()
	took, err := s.upload.ReceiveRESTUpload(ctx, w, r, upload.FormMode{Lenient: true, Artifacts: defaultArtifacts})
	if err != nil {
		s.writeError(w, r, s.upload.AuditRejection(ctx, err))
		return
	}
	task := newTask(s.upload.AcceptedJobView(ctx, took.Records[0], took.Replayed))
	w.Header().Set("Location", "/result/"+task.ID+"/status")
	s.writeJSON(w, http.StatusOK, task)
}

func (s *Service) handleStatus(w http.ResponseWriter, r *http.Request) error {
	v, err := s.watch.GetJob(r.Context(), &inkstreamv1.GetJobRequest{Id: r.PathValue("id")})
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, newTask(v))
	return nil
}

func (s *Service) serveArtifactNamed(name string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error { return s.results.ServeArtifact(w, r, name) }
}

func (s *Service) handleImage(w http.ResponseWriter, r *http.Request) error {
	return s.results.ServeArtifact(w, r, "images/"+r.PathValue("name"))
}

func (s *Service) handleImages(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.jobs.LoadRequestedJob(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	if !rec.State.HasEnded() && rec.ResultRun == 0 {
		return fault.New(fault.NotReady, "the job is %s", rec.State)
	}
	list, err := s.results.ListArtifacts(r.Context(), &inkstreamv1.ListArtifactsRequest{Id: string(rec.ID)})
	if err != nil {
		return err
	}
	names := []string{}
	for _, a := range list.GetArtifacts() {
		if path.Dir(a.GetName()) == "images" {
			names = append(names, path.Base(a.GetName()))
		}
	}
	s.writeJSON(w, http.StatusOK, map[string]any{"task_id": rec.ID, "images": names})
	return nil
}

// handleDetections answers the text with what it is and where: <|ref|>type<|/ref|><|det|>[[x0, y0, x1, y1]]<|/det|>
// before each block.
func (s *Service) handleDetections(w http.ResponseWriter, r *http.Request) error {
	rec, err := s.jobs.LoadRequestedJob(r.Context(), r.PathValue("id"))
	switch {
	case err != nil:
		return err
	case !rec.State.HasEnded() && rec.ResultRun == 0:
		return fault.New(fault.NotReady, "the job is %s", rec.State)
	case !jobview.HasResults(rec.State) && rec.ResultRun == 0:
		return jobview.ErrNoResult(rec)
	}
	w.Header().Set("Content-Type", "text/markdown; charset=utf-8")
	for n := 1; n <= rec.PageCount; n++ {
		page, err := s.results.GetPage(r.Context(), &inkstreamv1.GetPageRequest{Id: string(rec.ID), Number: int32(n)})
		if err != nil && n == 1 {
			return err
		}
		if err != nil {
			s.errors.ReportError(r.Context(), r.Pattern, err)
			panic(http.ErrAbortHandler) // the client must see that it is not all
		}
		if n > 1 {
			_, _ = w.Write([]byte(pageSplit))
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
			at[i] = min(max(int(v/size*boxGrid), 0), boxGrid)
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

func (s *Service) handleTasks(w http.ResponseWriter, r *http.Request) error {
	size := maxTasks
	if text := r.URL.Query().Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > search.MaxList {
			return apierror.InvalidField(fault.InvalidArgument, "limit", "limit %q, want 1 to %d", apierror.ClipText(text), search.MaxList)
		}
		size = n
	}
	list, err := s.search.ListJobs(r.Context(), &inkstreamv1.ListJobsRequest{PageSize: int32(size)})
	if err != nil {
		return err
	}
	tasks := []*task{}
	for _, v := range list.GetJobs() {
		tasks = append(tasks, newTask(v))
	}
	s.writeJSON(w, http.StatusOK, map[string]any{"tasks": tasks, "total": len(tasks)})
	return nil
}

func (s *Service) handleHealth(w http.ResponseWriter, r *http.Request) error {
	if !s.status.BuildReport(r.Context()).Ready {
		s.writeJSON(w, http.StatusServiceUnavailable, map[string]string{"status": "unhealthy"})
		return nil
	}
	s.writeJSON(w, http.StatusOK, map[string]string{"status": "healthy"})
	return nil
}

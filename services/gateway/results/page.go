package results

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/api/httpbody"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pagejson"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/rest"
)

// GetPage answers what was read on a page, as soon as it is indexed.
func (s *Service) GetPage(ctx context.Context, req *inkstreamv1.GetPageRequest) (*inkstreamv1.Page, error) {
	return jobview.ReadWithRecord(ctx, s.jobs, req.GetId(), func(rec *job.Record) (*inkstreamv1.Page, error) {
		page, _, err := s.loadPage(ctx, rec, int(req.GetNumber()))
		if err != nil {
			return nil, err
		}
		page.Words = collectWords(page)
		return page, nil
	})
}

// GetPageMarkdown answers a page as Markdown, as document.md has it; a paragraph that goes on over the page's end stops there.
func (s *Service) GetPageMarkdown(ctx context.Context, req *inkstreamv1.GetPageRequest) (*httpbody.HttpBody, error) {
	return jobview.ReadWithRecord(ctx, s.jobs, req.GetId(), func(rec *job.Record) (*httpbody.HttpBody, error) {
		page, plan, err := s.loadPage(ctx, rec, int(req.GetNumber()))
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		m := document.NewMarkdownWriter(&b, plan)
		if err := cmp.Or(m.WritePage(page), m.Close()); err != nil {
			return nil, fmt.Errorf("page %d as Markdown: %w", page.GetNumber(), err)
		}
		return &httpbody.HttpBody{ContentType: markdownType, Data: b.Bytes()}, nil
	})
}

// loadPage returns a page as the document's plan has it, and the plan, which is nil until the run has ended.
func (s *Service) loadPage(ctx context.Context, rec *job.Record, n int) (*inkstreamv1.Page, *document.Plan, error) {
	if err := checkPageNumber(rec, n); err != nil {
		return nil, nil, err
	}
	if err := s.holdPage(ctx, rec, n); err != nil {
		return nil, nil, err
	}
	data, run, err := readStoredPage(ctx, s.deps.Blobs, rec, n)
	if errors.Is(err, blob.ErrNotFound) {
		page, err := s.explainMissingPage(ctx, rec, n)
		return page, nil, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read page: %w", err)
	}
	page, err := decodePage(ctx, s.limits, data)
	if err != nil {
		return nil, nil, fmt.Errorf("page %d: %w", n, err)
	}
	// What the whole document tells of the page is known when the run has ended.
	stored, err := s.deps.Blobs.ReadBytes(ctx, job.PlanKey(rec.Tenant, rec.ID, run), jobview.MaxPageBytes)
	if errors.Is(err, blob.ErrNotFound) {
		return page, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the document's plan: %w", err)
	}
	plan, err := document.DecodePlanOfPage(stored, n)
	if err != nil {
		return nil, nil, fmt.Errorf("page %d: %w", n, err)
	}
	plan.ApplyTo(page)
	return page, plan, nil
}

// decodePage decodes a page, in turn with other tenants' work.
func decodePage(ctx context.Context, limit *limits.Service, data []byte) (*inkstreamv1.Page, error) {
	release, err := limit.AcquireProcessor(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return document.DecodePage(data)
}

const markdownType = "text/markdown; charset=utf-8"

// ServePage is GET /v1/jobs/{id}/pages/{number}. It is answered without the way through gRPC, which would have the page
// in memory twice more; what else there is at that address next answers.
func (s *Service) ServePage(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.PathValue("number"), 10, 32)
		if err != nil || r.URL.RawQuery != "" || r.ContentLength != 0 || !utf8.ValidString(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		write, digest, err := loadPageJSON(r.Context(), s, r.PathValue("id"), int32(n))
		if err == nil {
			w.Header().Set("Content-Type", rest.JSONType)
			err = rest.ServeTagged(&throughputResponse{ResponseWriter: w}, r, digest, write)
		}
		if err != nil {
			s.errors.WriteError(w, r, "GET page", err)
		}
	})
}

// loadPageJSON returns what writes a page as its JSON, on one line. The JSON itself is never in memory: the clients of
// large pages may be many, and slow.
func loadPageJSON(ctx context.Context, s *Service, id string, n int32) (write func(io.Writer) error, d rest.Digest,
	err error) {
	page, err := s.GetPage(ctx, &inkstreamv1.GetPageRequest{Id: id, Number: n})
	if err != nil {
		return nil, d, err
	}
	write = func(w io.Writer) error {
		err := pagejson.WriteComplete(w, page)
		if err == nil {
			_, err = io.WriteString(w, "\n")
		}
		return err
	}
	release, err := s.limits.AcquireProcessor(ctx)
	if err != nil { // the client is gone
		return nil, d, err
	}
	defer release()
	d, err = rest.DigestAnswer(write)
	return write, d, err
}

// holdPage takes the memory for a page's answer. A page that is not there takes none.
func (s *Service) holdPage(ctx context.Context, rec *job.Record, n int) error {
	for _, run := range rec.PageRuns() {
		attrs, err := s.deps.Blobs.ReadAttributes(ctx, job.PageKey(rec.Tenant, rec.ID, run, n))
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at page: %w", err)
		}
		return s.limits.HoldMemory(ctx, attrs.Size*jobview.PageWeight)
	}
	return nil
}

// checkPageNumber makes sure that the document has that page.
func checkPageNumber(rec *job.Record, n int) error {
	switch {
	case n < 1:
		return apierror.InvalidField(fault.InvalidArgument, "number", "page %d, want 1 or more", n)
	case rec.PageCount == 0 && rec.State.HasEnded():
		return jobview.ErrNoResult(rec)
	case rec.PageCount == 0:
		return fault.New(fault.NotReady, "the document has not been opened yet")
	case n > rec.PageCount:
		return fault.New(fault.PageNotFound, "page %d of a document with %d", n, rec.PageCount)
	}
	return nil
}

// readStoredPage returns the newest result that the job's runs have of a page, and its run; while a retry is under
// way that may be an earlier run's.
func readStoredPage(ctx context.Context, blobs *blob.Store, rec *job.Record, n int) (data []byte, run int, err error) {
	for _, run = range rec.PageRuns() {
		data, err = blobs.ReadBytes(ctx, job.PageKey(rec.Tenant, rec.ID, run, n), jobview.MaxPageBytes)
		if !errors.Is(err, blob.ErrNotFound) {
			return data, run, err
		}
	}
	return nil, 0, err
}

// collectWords returns every word of the page in reading order.
func collectWords(p *inkstreamv1.Page) []*inkstreamv1.Word {
	var words []*inkstreamv1.Word
	for _, b := range p.GetBlocks() {
		for _, l := range b.GetLines() {
			words = append(words, l.GetWords()...)
		}
	}
	return words
}

// explainMissingPage says what it means that a page has no stored result: it failed, it is still under way, or its
// job was ended before it.
func (s *Service) explainMissingPage(ctx context.Context, rec *job.Record, n int) (*inkstreamv1.Page, error) {
	p, err := s.jobs.LoadProgress(ctx, rec)
	if err != nil {
		return nil, err
	}
	for _, f := range jobview.ToProto(rec, p).GetFailures() {
		if int(f.GetPage()) == n {
			code := fault.Code(f.GetCode())
			return outcome.NewFailedPage(n, "", fault.New(code, "%s", code.DescribeCode())), nil
		}
	}
	switch {
	case !rec.State.HasEnded():
		return nil, fault.New(fault.NotReady, "page %d is not through yet", n)
	case jobview.HasResults(rec.State):
		return nil, fmt.Errorf("page %d of a job that ended %s has no result", n, rec.State)
	default:
		return nil, jobview.ErrNoResult(rec)
	}
}

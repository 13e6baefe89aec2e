package results

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/jobview"
)

const (
	// maxCachedSummaries bounds the summaries that are kept; one takes some two hundred bytes.
	maxCachedSummaries = 20_000
	// summaryReaders is how many pages a list reads at once.
	summaryReaders = 4
	// weakConfidence is the confidence below which a word is weak.
	weakConfidence = 0.7
)

// summaryKey names the result that a run had of a page, which does not change.
type summaryKey struct {
	ref  jobview.Ref
	run  int
	page int
}

// ListPages answers what became of the pages. Summaries are kept: reading a page costs a hundred times what its
// summary has.
func (s *Service) ListPages(ctx context.Context,
	req *inkstreamv1.ListPagesRequest) (*inkstreamv1.ListPagesResponse, error) {
	after, limit, err := jobview.ParsePageRequest(req.GetPageSize(), req.GetPageToken())
	if err != nil {
		return nil, err
	}
	return jobview.ReadWithRecord(ctx, s.jobs, req.GetId(),
		func(rec *job.Record) (*inkstreamv1.ListPagesResponse, error) {
			return s.summarizePages(ctx, rec, after, limit)
		})
}

func (s *Service) summarizePages(ctx context.Context, rec *job.Record, after uint64,
	limit int) (*inkstreamv1.ListPagesResponse, error) {
	if err := checkPageNumber(rec, 1); err != nil {
		return nil, err
	}
	if after >= uint64(rec.PageCount) {
		return &inkstreamv1.ListPagesResponse{}, nil
	}
	progress, err := s.jobs.LoadProgress(ctx, rec)
	if err != nil {
		return nil, err
	}
	failed := map[int32]*inkstreamv1.PageFailure{}
	for _, f := range jobview.ToProto(rec, progress).GetFailures() {
		failed[f.GetPage()] = f
	}
	first := int(after) + 1
	last := min(first+limit-1, rec.PageCount)
	resp := &inkstreamv1.ListPagesResponse{Pages: make([]*inkstreamv1.PageSummary, last-first+1)}
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(summaryReaders)
	for n := first; n <= last; n++ {
		if f := failed[int32(n)]; f != nil {
			resp.Pages[n-first] = &inkstreamv1.PageSummary{Number: int32(n), Outcome: outcome.Failed,
				Reason: f.GetReason(), Code: f.GetCode()}
			continue
		}
		group.Go(func() (err error) {
			resp.Pages[n-first], err = s.summarizePage(gctx, rec, n)
			return err
		})
	}
	if last < rec.PageCount {
		resp.NextPageToken = jobview.EncodeToken(uint64(last))
	}
	return resp, group.Wait()
}

// summarizePage returns the newest summary that the job's runs have of a page; of one that is not through only its
// number.
func (s *Service) summarizePage(ctx context.Context, rec *job.Record, n int) (*inkstreamv1.PageSummary, error) {
	ref := jobview.Ref{Tenant: rec.Tenant, ID: rec.ID}
	for _, run := range rec.PageRuns() {
		key := summaryKey{ref, run, n}
		if v, ok := s.summaries.Get(key); ok {
			return v, nil
		}
		var v *inkstreamv1.PageSummary
		err := jobview.UseStoredPage(ctx, s.deps.Blobs, s.limits, job.PageKey(rec.Tenant, rec.ID, run, n),
			func(page *inkstreamv1.Page) { v = newPageSummary(page) })
		if errors.Is(err, blob.ErrNotFound) {
			continue
		}
		if err == nil {
			s.summaries.Add(key, v)
		}
		return v, err
	}
	return &inkstreamv1.PageSummary{Number: int32(n)}, nil
}

func newPageSummary(p *inkstreamv1.Page) *inkstreamv1.PageSummary {
	v := &inkstreamv1.PageSummary{
		Number: p.GetNumber(), Width: p.GetWidth(), Height: p.GetHeight(), Outcome: p.GetOutcome(), Reason: p.GetReason(),
		Code: p.GetError().GetCode(), Confidence: p.GetConfidence(), Quality: p.GetQuality(), Language: p.GetLanguage(),
		Label: p.GetLabel(), Doubts: int32(len(p.GetDoubts())),
	}
	for _, w := range collectWords(p) {
		v.Words++
		if w.Confidence != nil && w.GetConfidence() < weakConfidence {
			v.WeakWords++
		}
	}
	return v
}

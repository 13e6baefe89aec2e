// Package search lists jobs and finds pages: what the gateway answers from the index database.
package search

import (
	"context"
	"time"
	"unicode/utf8"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/layout"
	index "inkstream.dev/pkg/search"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
	"inkstream.dev/services/gateway/limits"
)

// Service finds jobs and pages in the index database. It is safe for concurrent use.
type Service struct {
	deps   stage.Deps
	jobs   *jobview.Service
	limits *limits.Service
}

// New returns a Service.
func New(deps stage.Deps, reader *jobview.Service, limit *limits.Service) *Service {
	return &Service{deps: deps, jobs: reader, limits: limit}
}

// maxHitBoxes bounds the boxes of one hit, and maxBoxText what one says of its text: a page's words may be of any
// length.
const maxHitBoxes, maxBoxText = 100, 128

// Search finds pages by their text.
func (s *Service) Search(ctx context.Context, req *inkstreamv1.SearchRequest) (*inkstreamv1.SearchResponse, error) {
	store, err := s.jobs.RequireIndex()
	if err != nil {
		return nil, err
	}
	q := index.Query{
		Tenant: access.TenantFrom(ctx), Text: req.GetQ(), Job: req.GetJob(), Language: req.GetLanguage(),
		Limit: int(req.GetPageSize()), Cursor: req.GetPageToken(),
	}
	if q.Filter, err = buildDocumentFilter("", req.GetFilename(), req.GetLabel(), req.GetCreateAfter(),
		req.GetCreateBefore()); err != nil {
		return nil, err
	}
	q.Filter.MinPages, q.Filter.MaxPages = int(req.GetMinPages()), int(req.GetMaxPages())
	matcher, err := index.NewMatcher(q.Text)
	if err != nil {
		return nil, err
	}
	ctx, end, err := s.BeginQuery(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	found, err := store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	resp := &inkstreamv1.SearchResponse{NextPageToken: found.NextCursor}
	s.completeHits(ctx, q.Tenant, found.Hits)
	for _, h := range found.Hits {
		boxes, err := s.findHitBoxes(ctx, q.Tenant, h, matcher)
		if err != nil {
			return nil, err
		}
		resp.Hits = append(resp.Hits, &inkstreamv1.SearchHit{
			Job: h.Job, Filename: h.Filename, Page: int32(h.Page), Score: h.Score, Snippet: h.Snippet.Text,
			Highlights: toCharacterSpans(h.Snippet), Boxes: boxes,
			CreateTime: jobview.TimeToProto(h.CreateTime),
		})
	}
	return resp, nil
}

// completeHits tells of what documents hits are, where the index has their pages already, but not yet the documents:
// the jobs' records have it from the upload on.
func (s *Service) completeHits(ctx context.Context, tenant string, hits []index.Hit) {
	records := map[string]*job.Record{} // nil of jobs that are gone
	for i := range hits {
		h := &hits[i]
		if !h.CreateTime.IsZero() {
			continue
		}
		rec, known := records[h.Job]
		if !known {
			rec, _ = s.jobs.LoadRecord(ctx, jobview.Ref{Tenant: tenant, ID: job.ID(h.Job)}) // the hit is one without it too
			records[h.Job] = rec
		}
		if rec != nil {
			h.Filename, h.CreateTime = rec.Filename, rec.CreateTime.Truncate(time.Microsecond) // as the index has it
		}
	}
}

// toCharacterSpans counts in characters what the index counts in bytes.
func toCharacterSpans(snippet index.Snippet) []*inkstreamv1.Span {
	spans := make([]*inkstreamv1.Span, 0, len(snippet.Highlights))
	at, chars := 0, 0
	for _, h := range snippet.Highlights {
		chars += utf8.RuneCountInString(snippet.Text[at:h.Start])
		start := chars
		chars += utf8.RuneCountInString(snippet.Text[h.Start:h.End])
		at = h.End
		spans = append(spans, &inkstreamv1.Span{Start: int32(start), End: int32(chars)})
	}
	return spans
}

// findHitBoxes returns where the matching words of a hit stand. A page whose result is just being replaced or removed
// has none to show, nor one that cannot be read; the error is that there was no time or no memory to look.
func (s *Service) findHitBoxes(ctx context.Context, tenant string, h index.Hit, m *index.Matcher) (boxes []*inkstreamv1.Box, err error) {
	err = jobview.UseStoredPage(ctx, s.deps.Blobs, s.limits, job.PageKey(tenant, job.ID(h.Job), h.Run, h.Page),
		func(page *inkstreamv1.Page) { boxes = matchPageWords(page, m) })
	if ctx.Err() != nil || fault.CodeOf(err) == fault.QueueFull {
		return nil, err
	}
	return boxes, nil
}

// matchPageWords returns where a page's words stand that match.
func matchPageWords(page *inkstreamv1.Page, m *index.Matcher) []*inkstreamv1.Box {
	words := collectSearchWords(page)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	var boxes []*inkstreamv1.Box
	for _, match := range m.FindMatches(texts) {
		w := words[match.Word]
		for _, p := range w.parts {
			if len(boxes) == maxHitBoxes {
				return boxes
			}
			span := match.Span
			if len(w.parts) > 1 { // the word is one on several lines: all of it matches
				span = index.Span{End: len(p.word.GetText())}
			}
			boxes = append(boxes, &inkstreamv1.Box{
				Text: apierror.TruncateText(p.word.GetText()[span.Start:span.End], maxBoxText),
				Bbox: document.WordPartBox(p.line, p.word, span.Start, span.End),
			})
		}
	}
	return boxes
}

// searchWord is a word as the index has it, and where its parts stand: one, or two if a hyphen breaks it at the end
// of a line.
type searchWord struct {
	text  string
	parts []wordPart
}

type wordPart struct {
	line *inkstreamv1.Line
	word *inkstreamv1.Word
}

// maxWordParts is in how many lines a word may stand.
const maxWordParts = 8

// collectSearchWords returns the words of a page as layout.Dehyphenate puts them together.
func collectSearchWords(page *inkstreamv1.Page) []searchWord {
	var out []searchWord
	for _, b := range page.GetBlocks() {
		for i, l := range b.GetLines() {
			for j, w := range l.GetWords() {
				part := wordPart{l, w}
				if i > 0 && j == 0 && len(out) > 0 && b.GetTable() == nil && len(b.GetLines()[i-1].GetWords()) > 0 {
					last := &out[len(out)-1]
					before := last.parts[len(last.parts)-1].word.GetText()
					if hyphen := layout.LineBreakHyphenLength(before, w.GetText()); hyphen > 0 && len(last.parts) < maxWordParts {
						last.text = last.text[:len(last.text)-hyphen] + w.GetText()
						last.parts = append(last.parts, part)
						continue
					}
				}
				out = append(out, searchWord{w.GetText(), []wordPart{part}})
			}
		}
	}
	return out
}

package gateway

import (
	"context"
	"unicode/utf8"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/layout"
	"inkstream.dev/pkg/search"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// maxHitBoxes bounds the boxes of one hit, and maxBoxText what one says of its text: a page's words may be of any length.
const maxHitBoxes, maxBoxText = 100, 128

// Search finds pages by their text.
func (s *Service) Search(ctx context.Context, req *inkstreamv1.SearchRequest) (*inkstreamv1.SearchResponse, error) {
	store, err := s.indexed()
	if err != nil {
		return nil, err
	}
	q := search.Query{
		Tenant: tenant(ctx), Text: req.GetQ(), Job: req.GetJob(), Language: req.GetLanguage(), Limit: int(req.GetPageSize()), Cursor: req.GetPageToken(),
	}
	if q.Filter, err = documentFilter("", req.GetFilename(), req.GetLabel(), req.GetCreateAfter(), req.GetCreateBefore()); err != nil {
		return nil, err
	}
	q.Filter.MinPages, q.Filter.MaxPages = int(req.GetMinPages()), int(req.GetMaxPages())
	matcher, err := search.NewMatcher(q.Text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	found, err := store.Search(ctx, q)
	if err != nil {
		return nil, err
	}
	resp := &inkstreamv1.SearchResponse{NextPageToken: found.NextCursor}
	for _, h := range found.Hits {
		resp.Hits = append(resp.Hits, &inkstreamv1.SearchHit{
			Job: h.Job, Filename: h.Filename, Page: int32(h.Page), Score: h.Score, Snippet: h.Snippet.Text,
			Highlights: spansOf(h.Snippet), Boxes: s.boxesOf(ctx, q.Tenant, h, matcher), CreateTime: timestamp(h.CreateTime),
		})
	}
	return resp, nil
}

// spansOf counts in characters what the index counts in bytes.
func spansOf(snippet search.Snippet) []*inkstreamv1.Span {
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

// boxesOf returns where the matching words of a hit stand. A page whose result is just being replaced or removed has none to show.
func (s *Service) boxesOf(ctx context.Context, tenant string, h search.Hit, m *search.Matcher) []*inkstreamv1.Box {
	data, err := s.env.Blobs.Bytes(ctx, job.PageKey(tenant, job.ID(h.Job), h.Run, h.Page), maxPageBytes)
	if err != nil {
		return nil
	}
	page, err := document.Decode(data)
	if err != nil {
		return nil
	}
	words := searched(page)
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	var boxes []*inkstreamv1.Box
	for _, match := range m.Find(texts) {
		w := words[match.Word]
		for _, p := range w.parts {
			if len(boxes) == maxHitBoxes {
				return boxes
			}
			span := match.Span
			if len(w.parts) > 1 { // the word is one on several lines: all of it matches
				span = search.Span{End: len(p.word.GetText())}
			}
			boxes = append(boxes, &inkstreamv1.Box{
				Text: truncate(p.word.GetText()[span.Start:span.End], maxBoxText), Bbox: document.PartBox(p.line, p.word, span.Start, span.End),
			})
		}
	}
	return boxes
}

// searchedWord is a word as the index has it, and where its parts stand: one, or two if a hyphen breaks it at the end of a line.
type searchedWord struct {
	text  string
	parts []wordPart
}

type wordPart struct {
	line *inkstreamv1.Line
	word *inkstreamv1.Word
}

// mostParts is in how many lines a word may stand.
const mostParts = 8

// searched returns the words of a page as layout.Unbroken puts them together.
func searched(page *inkstreamv1.Page) []searchedWord {
	var out []searchedWord
	for _, b := range page.GetBlocks() {
		for i, l := range b.GetLines() {
			for j, w := range l.GetWords() {
				part := wordPart{l, w}
				if i > 0 && j == 0 && len(out) > 0 && b.GetTable() == nil && len(b.GetLines()[i-1].GetWords()) > 0 {
					last := &out[len(out)-1]
					before := last.parts[len(last.parts)-1].word.GetText()
					if hyphen := layout.BrokenBy(before, w.GetText()); hyphen > 0 && len(last.parts) < mostParts {
						last.text = last.text[:len(last.text)-hyphen] + w.GetText()
						last.parts = append(last.parts, part)
						continue
					}
				}
				out = append(out, searchedWord{w.GetText(), []wordPart{part}})
			}
		}
	}
	return out
}

package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdfout"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// start opens the artifacts that the job asks for and that are written page by page.
func (a *assembly) start(ctx context.Context) error {
	for _, s := range []struct {
		kind job.Artifact
		add  func(context.Context) error
	}{
		{job.ArtifactText, a.text},
		{job.ArtifactJSON, a.json},
		{job.ArtifactMarkdown, a.markdown},
		{job.ArtifactChunks, a.chunks},
		{job.ArtifactTables, a.tables},
		{job.ArtifactHOCR, a.hocr},
		{job.ArtifactALTO, a.alto},
	} {
		if !a.job.Options.Wants(s.kind) {
			continue
		}
		if err := s.add(ctx); err != nil {
			return err
		}
	}
	return nil
}

// text adds text.txt: the pages' text in reading order, with form feeds between, so that page n is the n-th.
func (a *assembly) text(ctx context.Context) error {
	w, err := a.create(ctx, "text.txt")
	if err != nil {
		return err
	}
	before := ""
	a.out = append(a.out, sink{
		page: func(p *inkstreamv1.Page) error {
			_, err := io.WriteString(w, before+p.GetText())
			before = "\f"
			return about("text.txt", err)
		},
		close: func() error { return nil },
	})
	return nil
}

// json adds document.json.
func (a *assembly) json(ctx context.Context) error {
	const name = "document.json"
	w, err := a.create(ctx, name)
	if err != nil {
		return err
	}
	r := a.job
	head := document.Head{
		Version: "inkstream.v1", Job: string(r.ID), Filename: r.Filename, SHA256: r.SHA256, PageCount: r.PageCount, Language: a.plan.Language(),
		Words: a.plan.Words, Document: a.facts.info, TableMerges: a.plan.Merges,
	}
	if len(r.Findings) > 0 {
		head.Findings = r.Findings
	}
	j, err := document.NewJSON(w, head)
	if err != nil {
		return about(name, err)
	}
	a.out = append(a.out, sink{
		page:  func(p *inkstreamv1.Page) error { return about(name, j.Page(p)) },
		close: func() error { return about(name, j.Close()) },
	})
	return nil
}

// markdown adds document.md.
func (a *assembly) markdown(ctx context.Context) error {
	const name = "document.md"
	w, err := a.create(ctx, name)
	if err != nil {
		return err
	}
	m := document.NewMarkdown(w, a.plan)
	a.out = append(a.out, sink{
		page:  func(p *inkstreamv1.Page) error { return about(name, m.Page(p)) },
		close: func() error { return about(name, m.Close()) },
	})
	return nil
}

// chunks adds chunks.jsonl.
func (a *assembly) chunks(ctx context.Context) error {
	const name = "chunks.jsonl"
	w, err := a.create(ctx, name)
	if err != nil {
		return err
	}
	c := document.NewChunks(w, a.job.Options.ChunkWords)
	a.out = append(a.out, sink{
		page:  func(p *inkstreamv1.Page) error { return about(name, c.Page(p)) },
		close: func() error { return about(name, c.Close()) },
	})
	return nil
}

// tables adds tables/<page>-<n>.csv, and tables/merges.json where tables go on over page breaks.
func (a *assembly) tables(ctx context.Context) error {
	a.out = append(a.out, sink{
		page: func(p *inkstreamv1.Page) error {
			for _, b := range p.GetBlocks() {
				t := b.GetTable()
				if t == nil {
					continue
				}
				var buf bytes.Buffer
				if err := document.WriteCSV(&buf, t); err != nil {
					return err
				}
				if err := a.small(ctx, fmt.Sprintf("tables/%d-%d.csv", p.GetNumber(), t.GetNumber()), buf.Bytes()); err != nil {
					return err
				}
			}
			return nil
		},
		close: func() error {
			if len(a.plan.Merges) == 0 {
				return nil
			}
			data, err := json.Marshal(struct {
				Merges []document.Merge `json:"merges"`
			}{a.plan.Merges})
			if err != nil {
				return fmt.Errorf("encode merges of tables: %w", err)
			}
			return a.small(ctx, "tables/merges.json", append(data, '\n'))
		},
	})
	return nil
}

// hocr adds hocr/<page>.html, a file for each page with text.
func (a *assembly) hocr(ctx context.Context) error {
	a.perPage(ctx, "hocr/%d.html", pdfout.WriteHOCR)
	return nil
}

// alto adds alto/<page>.xml, a file for each page with text.
func (a *assembly) alto(ctx context.Context) error {
	a.perPage(ctx, "alto/%d.xml", pdfout.WriteALTO)
	return nil
}

// perPage adds an artifact that has a file for each page with text.
func (a *assembly) perPage(ctx context.Context, pattern string, write func(io.Writer, *inkstreamv1.Page, pdfout.Meta) error) {
	meta := pdfout.Meta{Title: a.job.Filename, Software: "inkstream", Version: engines()["inkstream"], PageCount: a.job.PageCount}
	a.out = append(a.out, sink{
		page: func(p *inkstreamv1.Page) error {
			if len(p.GetBlocks()) == 0 {
				return nil
			}
			name := fmt.Sprintf(pattern, p.GetNumber())
			var buf bytes.Buffer
			if err := write(&buf, p, meta); err != nil {
				return about(name, err)
			}
			return a.small(ctx, name, buf.Bytes())
		},
		close: func() error { return nil },
	})
}

package index

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pageformat"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// openArtifacts opens the artifacts that the job asks for and that are written page by page.
func (a *assembly) openArtifacts(ctx context.Context) error {
	for _, s := range []struct {
		kind job.Artifact
		add  func(context.Context) error
	}{
		{job.ArtifactText, a.addText},
		{job.ArtifactJSON, a.addJSON},
		{job.ArtifactMarkdown, a.addMarkdown},
		{job.ArtifactChunks, a.addChunks},
		{job.ArtifactTables, a.addTables},
		{job.ArtifactHOCR, a.addHOCR},
		{job.ArtifactALTO, a.addALTO},
	} {
		if !a.job.Options.WantsArtifact(s.kind) {
			continue
		}
		if err := s.add(ctx); err != nil {
			return err
		}
	}
	return nil
}

// addText adds text.txt: the pages' text in reading order, with form feeds between, so that page n is the n-th.
func (a *assembly) addText(ctx context.Context) error {
	w, err := a.files.createArtifact(ctx, "text.txt")
	if err != nil {
		return err
	}
	t := document.NewTextWriter(w)
	a.sinks = append(a.sinks, pageSink{
		page:  func(p *inkstreamv1.Page) error { return wrapArtifactError("text.txt", t.WritePage(p)) },
		close: func() error { return nil },
	})
	return nil
}

// addJSON adds document.json. The pages are stored already, so an index of it is, with which the gateway makes it of them;
// services of an older version, for which a store that does not compress is, want it as a file.
func (a *assembly) addJSON(ctx context.Context) error {
	const name = "document.json"
	r := a.job
	head := document.Head{
		Version: "inkstream.v1", Job: string(r.ID), Filename: r.Filename, SHA256: r.SHA256, PageCount: r.PageCount,
		Language: a.plan.Language(),
		Words:    a.plan.Words, Document: a.facts.info, TableMerges: a.plan.Merges,
		Lean: r.Options.LeanJSON,
	}
	if len(r.Findings) > 0 {
		head.Findings = r.Findings
	}
	if a.indexesJSON() {
		x, err := document.NewJSONIndexWriter(head)
		if err != nil {
			return wrapArtifactError(name, err)
		}
		a.sinks = append(a.sinks, pageSink{
			page: func(p *inkstreamv1.Page) error { return wrapArtifactError(name, x.WritePage(p)) },
			close: func() error {
				return a.runCopier.addBlob(ctx, blob.Object{Key: job.JSONIndexKey(r.Tenant, r.ID, r.Run), Data: x.Encode(), Compress: true})
			},
		})
		return nil
	}
	w, err := a.files.createArtifact(ctx, name)
	if err != nil {
		return err
	}
	j, err := document.NewJSONWriter(w, head)
	if err != nil {
		return wrapArtifactError(name, err)
	}
	a.sinks = append(a.sinks, pageSink{
		page:  func(p *inkstreamv1.Page) error { return wrapArtifactError(name, j.WritePage(p)) },
		close: func() error { return wrapArtifactError(name, j.Close()) },
	})
	return nil
}

// indexesJSON reports whether an index of document.json is stored in its place.
func (a *assembly) indexesJSON() bool {
	return a.job.Options.WantsArtifact(job.ArtifactJSON) && a.st.deps.Blobs.Compresses()
}

// addMarkdown adds document.md.
func (a *assembly) addMarkdown(ctx context.Context) error {
	const name = "document.md"
	w, err := a.files.createArtifact(ctx, name)
	if err != nil {
		return err
	}
	m := document.NewMarkdownWriter(w, a.plan)
	a.sinks = append(a.sinks, pageSink{
		page:  func(p *inkstreamv1.Page) error { return wrapArtifactError(name, m.WritePage(p)) },
		close: func() error { return wrapArtifactError(name, m.Close()) },
	})
	return nil
}

// addChunks adds chunks.jsonl.
func (a *assembly) addChunks(ctx context.Context) error {
	const name = "chunks.jsonl"
	w, err := a.files.createArtifact(ctx, name)
	if err != nil {
		return err
	}
	c := document.NewChunkWriter(w, a.job.Options.ChunkWords)
	a.sinks = append(a.sinks, pageSink{
		page:  func(p *inkstreamv1.Page) error { return wrapArtifactError(name, c.WritePage(p)) },
		close: func() error { return wrapArtifactError(name, c.Close()) },
	})
	return nil
}

// addTables adds tables/<page>-<n>.csv, and tables/merges.json where tables go on over page breaks.
func (a *assembly) addTables(ctx context.Context) error {
	a.sinks = append(a.sinks, pageSink{
		page: func(p *inkstreamv1.Page) error {
			for _, b := range p.GetBlocks() {
				t := b.GetTable()
				if t == nil {
					continue
				}
				var buf bytes.Buffer
				if err := document.WriteTableCSV(&buf, t, a.job.Options.RawCSV); err != nil {
					return err
				}
				if err := a.files.storeArtifact(ctx, fmt.Sprintf("tables/%d-%d.csv", p.GetNumber(), t.GetNumber()),
					buf.Bytes()); err != nil {
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
			return a.files.storeArtifact(ctx, "tables/merges.json", append(data, '\n'))
		},
	})
	return nil
}

// addHOCR adds hocr/<page>.html, a file for each page with text.
func (a *assembly) addHOCR(ctx context.Context) error {
	a.addPageFiles(ctx, "hocr/%d.html", pageformat.WriteHOCR)
	return nil
}

// addALTO adds alto/<page>.xml, a file for each page with text.
func (a *assembly) addALTO(ctx context.Context) error {
	a.addPageFiles(ctx, "alto/%d.xml", pageformat.WriteALTO)
	return nil
}

// addPageFiles adds an artifact that has a file for each page with text.
func (a *assembly) addPageFiles(ctx context.Context, pattern string,
	write func(io.Writer, *inkstreamv1.Page, pageformat.Meta) error) {
	meta := pageformat.Meta{Title: a.job.Filename, Software: "inkstream", Version: engineVersions()["inkstream"],
		PageCount: a.job.PageCount}
	a.sinks = append(a.sinks, pageSink{
		page: func(p *inkstreamv1.Page) error {
			if len(p.GetBlocks()) == 0 {
				return nil
			}
			name := fmt.Sprintf(pattern, p.GetNumber())
			var buf bytes.Buffer
			if err := write(&buf, p, meta); err != nil {
				return wrapArtifactError(name, err)
			}
			return a.files.storeArtifact(ctx, name, buf.Bytes())
		},
		close: func() error { return nil },
	})
}

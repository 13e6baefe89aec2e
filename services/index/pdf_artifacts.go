package index

import (
	"context"
	"io"
	"iter"
	"os"
	"slices"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// pdfOutcomes says what became of the artifacts that are PDFs, for metadata.json.
type pdfOutcomes struct {
	Searchable  *pdfOutcome `json:"searchablePdf,omitempty"`
	Layout      *pdfOutcome `json:"layoutPdf,omitempty"`
	Attachments []string    `json:"attachments,omitempty"`
}

// pdfOutcome is what became of one.
type pdfOutcome struct {
	Written bool `json:"written"`
	// Original says that it is the uploaded document, byte for byte, for nothing had to be added.
	Original bool `json:"original,omitempty"`
	// ActiveContentRemoved says that the document has scripts or actions that lead out of it, and this file has not.
	ActiveContentRemoved bool `json:"activeContentRemoved,omitempty"`
	// SignaturesBroken says that the document was signed, and that its signatures do not hold for this file.
	SignaturesBroken bool `json:"signaturesBroken,omitempty"`
	// Reason is why it was not written: signed, or a stable code such as DAMAGED.
	Reason string `json:"reason,omitempty"`
}

// writePDFs writes searchable.pdf, layout.pdf and the attachments, as far as they are asked for.
func (a *assembly) writePDFs(ctx context.Context) (pdfOutcomes, error) {
	var out pdfOutcomes
	var err error
	o := &a.job.Options
	if o.WantsArtifact(job.ArtifactSearchable) {
		if out.Searchable, err = a.writeSearchablePDF(ctx); err != nil {
			return out, err
		}
	}
	if o.WantsArtifact(job.ArtifactLayout) {
		if out.Layout, err = a.writeExtendedPDF(ctx, "layout.pdf", a.st.pdf.WriteOverlay, false); err != nil {
			return out, err
		}
	}
	if o.WantsArtifact(job.ArtifactMetadata) && a.facts.attachments > 0 {
		if out.Attachments, err = a.extractAttachments(ctx); err != nil {
			return out, err
		}
	}
	return out, nil
}

// hasSignatures reports whether the document has digital signatures.
func hasSignatures(r *job.Record) bool {
	return slices.ContainsFunc(r.Findings, func(f job.Finding) bool { return f.Kind == "signature" && f.Count > 0 })
}

// activeFindings are the kinds of findings that do not go into what is written for others to open.
var activeFindings = []string{"javascript", "launch_action", "submit_form_action", "remote_goto_action", "import_data_action", "rich_media", "xfa"}

// hasActiveContent reports whether the document holds what viewers run, or what leads out of it.
func hasActiveContent(r *job.Record) bool {
	return slices.ContainsFunc(r.Findings, func(f job.Finding) bool {
		return f.Count > 0 && slices.Contains(activeFindings, f.Kind)
	})
}

// writeSearchablePDF writes searchable.pdf. Where nothing was recognised and nothing is active it is the document
// itself; of a signed one that would have to be altered there is none, unless the job allows it.
func (a *assembly) writeSearchablePDF(ctx context.Context) (*pdfOutcome, error) {
	const name = "searchable.pdf"
	r := a.job
	if a.recognised == 0 && !hasActiveContent(r) {
		o := blob.Object{Key: job.ArtifactKey(r.Tenant, r.ID, r.Run, name), From: job.SourceKey(r.Tenant, r.ID)}
		return &pdfOutcome{Written: true, Original: true}, wrapArtifactError(name, a.runCopier.addBlob(ctx, o))
	}
	if hasSignatures(a.job) && !r.Options.AllowSignatureInvalidation {
		return &pdfOutcome{Reason: "signed"}, nil
	}
	out, err := a.writeExtendedPDF(ctx, name, a.st.pdf.WriteTextLayer, true)
	if err == nil && out.Written {
		out.SignaturesBroken = hasSignatures(a.job)
	}
	return out, err
}

// pdfWriter writes a document with something added to its pages.
type pdfWriter func(context.Context, *os.File, string, iter.Seq2[*inkstreamv1.Page, error], io.Writer) error

// writeExtendedPDF writes the document with something added. A document that PDFium cannot add to is no failure of
// the job: there is no such artifact, and metadata.json says why. A child that dies of it gets a second try: it may
// have been killed for no fault of the document's, and what crashes a child does so again.
func (a *assembly) writeExtendedPDF(ctx context.Context, name string, add pdfWriter,
	recognised bool) (*pdfOutcome, error) {
	out, err := a.tryExtendedPDF(ctx, name, add, recognised)
	if err == nil && out.Reason == string(fault.EngineCrashed) {
		out, err = a.tryExtendedPDF(ctx, name, add, recognised)
	}
	if err == nil && !out.Written {
		a.st.deps.Log.WarnContext(ctx, "an artifact could not be made", "job", a.job.ID, "artifact", name, "code", out.Reason)
	}
	return out, err
}

func (a *assembly) tryExtendedPDF(ctx context.Context, name string, add pdfWriter,
	recognised bool) (*pdfOutcome, error) {
	source, password, err := a.openSource(ctx)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	w, err := a.st.deps.Blobs.NewWriter(ctx, job.ArtifactKey(a.job.Tenant, a.job.ID, a.job.Run, name), blob.PutOptions{})
	if err != nil {
		return nil, wrapArtifactError(name, err)
	}
	err = add(ctx, source, password, a.iteratePages(ctx, recognised), w)
	if err == nil {
		a.files.writers = append(a.files.writers, w)
		return &pdfOutcome{Written: true, ActiveContentRemoved: hasActiveContent(a.job)}, nil
	}
	_ = w.Abort() // err is what went wrong first; what stays behind is temporary
	switch code := fault.CodeOf(err); code {
	case fault.Damaged, fault.PageDamaged, fault.Encrypted, fault.EngineCrashed, fault.EngineMemory, fault.PageTimeout,
		fault.OpenTimeout, fault.NotAPDF:
		if ctx.Err() != nil {
			return nil, wrapArtifactError(name, err)
		}
		return &pdfOutcome{Reason: string(code)}, nil
	default:
		return nil, wrapArtifactError(name, err)
	}
}

// openSource opens the document as it was uploaded.
func (a *assembly) openSource(ctx context.Context) (*os.File, string, error) {
	password, err := a.st.deps.DocumentPassword(a.job)
	if err != nil {
		return nil, "", err
	}
	f, err := a.st.deps.OpenSource(ctx, a.job, false)
	return f, password, err
}

// iteratePages goes through the stored pages once more, or through those with recognised words alone.
func (a *assembly) iteratePages(ctx context.Context, recognised bool) iter.Seq2[*inkstreamv1.Page, error] {
	return func(yield func(*inkstreamv1.Page, error) bool) {
		for n := 1; n <= a.job.PageCount; n++ {
			stage.Heartbeat(ctx)
			if recognised && !a.pages[n-1].recognised {
				continue
			}
			data, err := a.stored.readPage(ctx, n)
			if err != nil {
				yield(nil, err)
				return
			}
			p, err := document.DecodePage(data)
			if err == nil {
				a.plan.ApplyTo(p)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

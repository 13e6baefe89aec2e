package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/stage"
)

var (
	// errAttachmentSkipped means that an attachment is left out because it cannot be read, errAttachmentTooLarge that it
	// is too large.
	errAttachmentSkipped  = errors.New("the attachment is left out")
	errAttachmentTooLarge = errors.New("more than the attachments of a document may take")
)

// attachmentType is the media type of what a document brings along: it is nothing that a browser opens by itself.
const attachmentType = "application/octet-stream"

const (
	// maxAttachments bounds how many embedded files are extracted.
	maxAttachments = 200
	// maxAttachedBytes bounds their bytes together.
	maxAttachedBytes = 512 << 20
	// maxTooLarge is how many attachments may turn out too large for what is left: each was inflated for that. Those
	// behind them are left out.
	maxTooLarge = 5
)

// extractAttachments extracts the files that are embedded in the document, and returns their names. One that cannot
// be read is left out.
func (a *assembly) extractAttachments(ctx context.Context) ([]string, error) {
	source, password, err := a.openSource(ctx)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	d, err := a.st.pdf.OpenDocument(ctx, source, password)
	if err != nil {
		if ctx.Err() == nil && fault.KindOf(err) == fault.Permanent {
			return nil, nil
		}
		return nil, fmt.Errorf("open the document: %w", err)
	}
	defer d.Close()
	e := attachmentExtractor{job: a.job, blobs: a.st.deps.Blobs, document: d}
	return e.extractAll(ctx)
}

// attachmentExtractor stores the files that are embedded in an open document as artifacts of a run.
type attachmentExtractor struct {
	job      *job.Record
	blobs    *blob.Store
	document *pdf.Document
}

// extractAll extracts all that are small enough, and returns their names.
func (e *attachmentExtractor) extractAll(ctx context.Context) ([]string, error) {
	files := e.document.Info().Metadata
	if files == nil {
		return nil, nil
	}
	var names []string
	err := extractWithinLimit(min(len(files.Attachments), maxAttachments), func(n int, left int64) (int64, error) {
		stage.Heartbeat(ctx)
		name := fmt.Sprintf("attachments/%d-%s", n, cleanAttachmentName(files.Attachments[n-1].Name))
		size, err := e.storeAttachment(ctx, n, name, left)
		if err == nil {
			names = append(names, name)
		}
		return size, err
	})
	if err != nil {
		return nil, err
	}
	return names, nil
}

// extractWithinLimit takes out so many attachments, counted from 1, one after the other, within maxAttachedBytes. One
// that does not fit, or cannot be read, is left out.
func extractWithinLimit(count int, one func(n int, left int64) (size int64, err error)) error {
	left, tooLarge := int64(maxAttachedBytes), 0
	for n := 1; n <= count && tooLarge < maxTooLarge; n++ {
		size, err := one(n, left)
		switch {
		case errors.Is(err, errAttachmentTooLarge):
			tooLarge++
		case errors.Is(err, errAttachmentSkipped):
		case err != nil:
			return err
		default:
			left -= size
		}
	}
	return nil
}

// storeAttachment stores one attachment, and returns its size.
func (e *attachmentExtractor) storeAttachment(ctx context.Context, n int, name string, most int64) (int64, error) {
	w, err := e.blobs.NewWriter(ctx, job.ArtifactKey(e.job.Tenant, e.job.ID, e.job.Run, name),
		blob.PutOptions{ContentType: attachmentType})
	if err != nil {
		return 0, wrapArtifactError("an attachment", err)
	}
	err = e.document.WriteAttachment(ctx, n, &limitedWriter{w: w, left: most})
	if err == nil {
		return w.Size(), wrapArtifactError("an attachment", w.Close())
	}
	_ = w.Abort() // err is what went wrong first; what stays behind is temporary
	_, known := errors.AsType[*fault.Error](err)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errAttachmentTooLarge) || fault.CodeOf(err) == fault.EngineMemory:
		return 0, errAttachmentTooLarge
	case known && fault.KindOf(err) != fault.Busy:
		return 0, errAttachmentSkipped
	}
	return 0, fmt.Errorf("attachment %d: %w", n, err)
}

// limitedWriter writes no more than it may.
type limitedWriter struct {
	w    io.Writer
	left int64
}

// Write implements io.Writer.
func (l *limitedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		return 0, errAttachmentTooLarge
	}
	l.left -= int64(len(p))
	return l.w.Write(p)
}

// cleanAttachmentName makes a name that may stand in a key, a URL and a terminal of what a document calls an
// attachment: its last element, not long, with an underscore for whatever is no ASCII letter or digit nor one of a
// few signs, and no stop first. metadata.json has the name as it was.
func cleanAttachmentName(name string) string {
	const longest = 80
	name = path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, ""), "\\", "/"))
	var b strings.Builder
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' && b.Len() > 0:
			b.WriteRune(r)
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsSpace(r) || r == '_':
			b.WriteByte('_')
		}
		if b.Len() >= longest {
			break
		}
	}
	out := strings.TrimRight(strings.ReplaceAll(b.String(), "..", "."), ".")
	if out == "" {
		return "file"
	}
	return out
}

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
)

var (
	// errAttachmentSkipped means that an attachment is left out because it cannot be read, errAttachmentTooLarge that it
	// is too large.
	errAttachmentSkipped  = errors.New("the attachment is left out")
	errAttachmentTooLarge = errors.New("more than the attachments of a document may take")
)

// attachmentType is the media type of what a document brings along: it is nothing that a browser opens by itself.
const attachmentType = "application/octet-stream"

// storeAttachment stores one attachment, and returns its size.
func (a *assembly) storeAttachment(ctx context.Context, d *pdf.Document, n int, name string,
	most int64) (int64, error) {
	w, err := a.st.deps.Blobs.NewWriter(ctx, job.ArtifactKey(a.job.Tenant, a.job.ID, a.job.Run, name),
		blob.PutOptions{ContentType: attachmentType})
	if err != nil {
		return 0, wrapArtifactError("an attachment", err)
	}
	err = d.WriteAttachment(ctx, n, &limitedWriter{w: w, left: most})
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

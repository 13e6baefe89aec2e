package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/pdf/internal/rawscan"
	"inkstream.dev/pkg/pdf/internal/wire"
)

// collectFindings puts together what PDFium says of the open document and what its bytes show. The bytes of a
// document that needed a password say little, so a decrypted copy is looked at, in the shared memory, which no raster
// is using then.
func (h *Host) collectFindings(ctx context.Context) (wire.Reply, proto.Message, error) {
	var source io.ReaderAt = h.file
	size, note := h.size, ""
	if h.locked {
		h.releaseScratch(0)
		room := &fixedBuffer{buf: h.scratch}
		err := h.doc.SaveDecrypted(room)
		h.used = max(h.used, room.length)
		switch {
		case err == nil:
			source, size = room, int64(room.length)
		case room.full:
			note = "encrypted, and too large to be looked at decrypted"
		default:
			note = "encrypted, and could not be looked at decrypted"
		}
	}
	limits := rawscan.DefaultLimits(size)
	report, err := rawscan.Scan(ctx, source, size, limits)
	if err != nil {
		return wire.Reply{}, nil, fmt.Errorf("findings: %w", err)
	}
	found := map[string]wire.Finding{}
	for _, f := range report.Findings(limits) {
		found[f.Kind] = wire.Finding{Kind: f.Kind, Count: f.Count, Detail: f.Detail}
	}
	h.addEngineFindings(found, note)
	reply := wire.Reply{}
	for _, f := range found {
		reply.Findings = append(reply.Findings, f)
	}
	slices.SortFunc(reply.Findings, func(a, b wire.Finding) int { return strings.Compare(a.Kind, b.Kind) })
	return reply, nil, nil
}

// addEngineFindings adds what PDFium counts. It follows the document's structure where the scan of the bytes does
// not, so the higher of both counts is the better one.
func (h *Host) addEngineFindings(found map[string]wire.Finding, note string) {
	counts := map[string]int{
		rawscan.EmbeddedFile: h.doc.AttachmentCount(),
		rawscan.JavaScript:   h.doc.JavaScriptCount(),
		rawscan.Signature:    h.doc.SignatureCount(),
	}
	const acroForm, xfaFull, xfaForeground = 1, 2, 3
	switch h.doc.FormType() {
	case acroForm:
		counts[rawscan.AcroForm] = 1
	case xfaFull, xfaForeground:
		counts[rawscan.AcroForm] = 1
		counts[rawscan.XFA] = max(1, h.doc.XFAPacketCount())
	}
	for kind, n := range counts {
		if f := found[kind]; n > f.Count {
			f.Kind, f.Count = kind, n
			found[kind] = f
		}
	}
	if note != "" {
		f := found[rawscan.ObjectCount]
		f.Kind, f.Detail = rawscan.ObjectCount, note
		found[rawscan.ObjectCount] = f
	}
}

// fixedBuffer is a file of bounded size in memory.
type fixedBuffer struct {
	buf    []byte
	length int
	full   bool
}

var errBufferFull = errors.New("no room")

// Write implements [io.Writer].
func (r *fixedBuffer) Write(p []byte) (int, error) {
	if len(p) > len(r.buf)-r.length {
		r.full = true
		return 0, errBufferFull
	}
	r.length += copy(r.buf[r.length:], p)
	return len(p), nil
}

// ReadAt implements [io.ReaderAt].
func (r *fixedBuffer) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 || off >= int64(r.length) {
		return 0, io.EOF
	}
	n := copy(p, r.buf[off:r.length])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

package host

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/structure"
	"inkstream.dev/pkg/pdf/internal/wire"
)

const (
	maxXMP         = 256 << 10
	maxLabels      = 5000
	maxAttachments = 500
	maxSignatures  = 100
	// sizedAttachments bounds how many attachments are inflated for their size, and sizedBytes what they may inflate to
	// together.
	sizedAttachments = 50
	sizedBytes       = 128 << 20
)

// collectMetadata puts together what the document says of itself besides its information dictionary.
func (h *Host) collectMetadata(pages int) *wire.Metadata {
	m := &wire.Metadata{PageLabels: h.pageLabels(min(pages, maxLabels)), Permissions: readPermissions(h.doc)}
	const acroForm, xfaFull, xfaForeground = 1, 2, 3
	switch h.doc.FormType() {
	case acroForm:
		m.Form = "AcroForm"
	case xfaFull, xfaForeground:
		m.Form = "XFA"
	}
	sized := int64(0)
	for i := range min(h.doc.AttachmentCount(), maxAttachments) {
		a, ok := h.doc.AttachmentAt(i)
		out := wire.Attachment{Name: cleanInfoString(a.Name), MIME: cleanInfoString(a.MIME),
			Modified: cleanInfoString(a.Modified), Size: -1}
		if ok && i < sizedAttachments && sized < sizedBytes {
			out.Size = h.doc.AttachmentSize(a)
			sized += max(0, out.Size)
		}
		m.Attachments = append(m.Attachments, out)
	}
	for i := range min(h.doc.SignatureCount(), maxSignatures) {
		if s, ok := h.doc.SignatureAt(i); ok {
			m.Signatures = append(m.Signatures, wire.Signature{
				SubFilter: cleanInfoString(s.SubFilter), Reason: cleanInfoString(s.Reason), Time: cleanInfoString(s.Time),
				WholeFile: coversWholeFile(s.Ranges, h.size), ModificationAllowed: s.DocMDP,
			})
		}
	}
	if packet := h.readXMP(); packet != "" {
		m.XMP = packet
		m.Fields = parseXMPFields(packet)
		m.Claims = claimedStandards(m.Fields)
	}
	return m
}

// coversWholeFile reports whether ranges cover a file but for one gap, the signature itself.
func coversWholeFile(ranges []int64, size int64) bool {
	return len(ranges) == 4 && ranges[0] == 0 && ranges[1] > 0 && ranges[2] > ranges[1] && ranges[3] > 0 &&
		ranges[2]+ranges[3] == size
}

// pageLabel returns the label of page n, nothing where it has none.
func (h *Host) pageLabel(n int) string {
	if h.unlabelled {
		return ""
	}
	return cleanInfoString(h.doc.PageLabel(n - 1))
}

// pageLabels returns the pages' labels if any differs from its number.
func (h *Host) pageLabels(pages int) []string {
	out := make([]string, pages)
	own := false
	for i := range out {
		number := strconv.Itoa(i + 1)
		if out[i] = h.pageLabel(i + 1); out[i] == "" {
			out[i] = number
		}
		own = own || out[i] != number
	}
	if !own {
		return nil
	}
	return out
}

func readPermissions(d *pdfium.Document) *wire.Permissions {
	revision := d.SecurityRevision()
	if revision < 0 {
		return nil
	}
	bits := d.PermissionBits()
	can := func(bit int) bool { return bits&(1<<(bit-1)) != 0 } // ISO 32000-1 table 22 counts bits from 1
	p := &wire.Permissions{
		Bits: bits, Print: can(3), Modify: can(4), Copy: can(5), Annotate: can(6),
		FillForms: can(9), Accessibility: can(10), Assemble: can(11), PrintFine: can(12),
		EncryptionName: "revision " + strconv.Itoa(revision),
	}
	if revision < 3 { // the older handler knows no finer rights
		p.FillForms, p.Accessibility, p.Assemble, p.PrintFine = p.Annotate, p.Copy, p.Modify, p.Print
	}
	return p
}

// readXMP returns the document's XMP packet as valid UTF-8, cut at maxXMP. A document whose structure cannot be
// followed has none.
func (h *Host) readXMP() string {
	f := h.structure
	if f == nil {
		return ""
	}
	root, err := f.Resolve(f.Trailer().Lookup("Root"))
	if err != nil || root.Lookup("Metadata").Kind != structure.Ref {
		return ""
	}
	o, err := f.FetchObject(root.Lookup("Metadata").Num)
	if err != nil {
		return ""
	}
	const inflated = 16 << 20
	data, err := f.ReadStream(o, inflated)
	if err != nil {
		return ""
	}
	packet := decodeText(data)
	if len(packet) > maxXMP {
		packet = packet[:maxXMP]
	}
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(packet, "\x00", ""), ""))
}

// decodeText reads UTF-8, or UTF-16 with a byte order mark.
func decodeText(b []byte) string {
	if text, ok := structure.DecodeUTF16(b); ok {
		return text
	}
	return strings.TrimPrefix(string(b), "\uFEFF")
}

// namespacePrefixes are the usual names of the name spaces whose properties are told.
var namespacePrefixes = map[string]string{
	"http://purl.org/dc/elements/1.1/":               "dc",
	"http://ns.adobe.com/pdf/1.3/":                   "pdf",
	"http://ns.adobe.com/xap/1.0/":                   "xmp",
	"http://ns.adobe.com/xap/1.0/mm/":                "xmpMM",
	"http://ns.adobe.com/xap/1.0/rights/":            "xmpRights",
	"http://www.aiim.org/pdfa/ns/id/":                "pdfaid",
	"http://www.aiim.org/pdfua/ns/id/":               "pdfuaid",
	"http://www.npes.org/pdfx/ns/id/":                "pdfxid",
	"http://ns.adobe.com/photoshop/1.0/":             "photoshop",
	"http://prismstandard.org/namespaces/basic/2.0/": "prism",
}

const (
	maxFields    = 100
	maxXMLTokens = 50_000
	rdfSpace     = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
)

// parseXMPFields reads the simple properties of a packet, lists joined with "; ". The decoder knows no entities but
// XML's own five, so a packet cannot grow by them.
func parseXMPFields(packet string) map[string]string {
	d := xml.NewDecoder(strings.NewReader(packet))
	d.Strict = false
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // it was decoded before
	out := map[string]string{}
	set := func(name xml.Name, value string) {
		prefix, value := namespacePrefixes[name.Space], cleanInfoString(value)
		if prefix == "" || value == "" || len(out) >= maxFields {
			return
		}
		key := prefix + ":" + name.Local
		if have := out[key]; have != "" && have != value {
			value = have + "; " + value
		}
		if utf8.RuneCountInString(value) <= maxMetaRunes {
			out[key] = value
		}
	}
	var path []xml.Name
	for range maxXMLTokens {
		token, err := d.Token()
		if err != nil {
			return out
		}
		switch t := token.(type) {
		case xml.StartElement:
			path = append(path, t.Name)
			for _, a := range t.Attr {
				if t.Name.Space == rdfSpace && t.Name.Local == "Description" {
					set(a.Name, a.Value)
				}
			}
		case xml.EndElement:
			path = path[:max(0, len(path)-1)]
		case xml.CharData:
			if p := propertyName(path); p.Local != "" {
				set(p, string(t))
			}
		}
		if len(path) > maxOutlineDepth {
			return out
		}
	}
	return out
}

// propertyName returns the property that text at a path is the value of: the element below rdf:Description, with only
// RDF's lists between.
func propertyName(path []xml.Name) xml.Name {
	for i := len(path) - 1; i > 0; i-- {
		if path[i].Space == rdfSpace {
			continue
		}
		if path[i-1].Space == rdfSpace && path[i-1].Local == "Description" {
			return path[i]
		}
		break
	}
	return xml.Name{}
}

// claimedStandards names the standards that the properties claim.
func claimedStandards(fields map[string]string) []string {
	var out []string
	if part := fields["pdfaid:part"]; part != "" {
		out = append(out, "PDF/A-"+part+strings.ToLower(fields["pdfaid:conformance"]))
	}
	if part := fields["pdfuaid:part"]; part != "" {
		out = append(out, "PDF/UA-"+part)
	}
	if version := fields["pdfxid:GTS_PDFXVersion"]; version != "" {
		out = append(out, version)
	}
	return out
}

// copyAttachment copies an attachment to the shared memory.
func (h *Host) copyAttachment(n int) (wire.Reply, error) {
	a, ok := h.doc.AttachmentAt(n - 1)
	if n < 1 || !ok {
		return wire.Reply{}, fault.New(fault.ArtifactNotFound, "the document has %d attachments", h.doc.AttachmentCount())
	}
	h.releaseScratch(0)
	size, err := h.doc.ReadAttachment(a, h.scratch)
	h.used = max(h.used, size)
	if errors.Is(err, pdfium.ErrNoMemory) {
		return wire.Reply{}, fault.New(fault.EngineMemory, "the attachment is too large to be taken out")
	}
	if err != nil {
		return wire.Reply{}, fault.New(fault.Damaged, "the attachment cannot be read")
	}
	return wire.Reply{Bytes: int64(size)}, nil
}

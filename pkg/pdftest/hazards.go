package pdftest

import (
	"fmt"
	"strings"
)

// Hazard is something in a PDF that a careful receiver wants to know of.
type Hazard string

// The hazards.
const (
	JavaScript   Hazard = "javascript"    // a script that runs when the document opens
	NamedScript  Hazard = "named-script"  // a script in the document's name tree
	PageScript   Hazard = "page-script"   // a script that runs when a page opens
	Launch       Hazard = "launch"        // a link that starts a program
	URI          Hazard = "uri"           // a link to a web page
	SubmitForm   Hazard = "submit-form"   // a button that sends the form's data somewhere
	RemoteGoTo   Hazard = "remote-goto"   // a link into another file
	OpenAction   Hazard = "open-action"   // a web page that is fetched when the document opens
	EmbeddedFile Hazard = "embedded-file" // an attachment
	XFA          Hazard = "xfa"           // a form in XML
	Signature    Hazard = "signature"     // a digital signature, in shape: it verifies nothing
)

// AllHazards returns all hazards, in a fixed order.
func AllHazards() []Hazard {
	return []Hazard{JavaScript, NamedScript, PageScript, Launch, URI, SubmitForm, RemoteGoTo, OpenAction, EmbeddedFile,
		XFA, Signature}
}

// WithHazards returns a file of one ordinary page that has the given hazards, each once.
func WithHazards(hazards ...Hazard) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	h := hazardParts{w: w}
	names := make([]string, len(hazards))
	for i, hazard := range hazards {
		h.addHazard(hazard)
		names[i] = string(hazard)
	}
	s := composePage(Report, 1, 1, 11, a4Width, a4Height, helveticaWidth, newProseGenerator(91))
	annotations := append(h.annots, h.fields...)
	d.addPage(fmt.Sprintf("%s /Contents %v /Annots %s %s", a4Boxes, w.addStream("", s.drawOperators(0, 0, 0)),
		formatRefs(annotations), h.page))
	catalogue := ""
	if h.opening != "" {
		catalogue += " /OpenAction << " + h.opening + " >>"
	}
	if h.names != "" {
		catalogue += " /Names << " + h.names + " >>"
	}
	if h.form != "" || len(h.fields) > 0 {
		catalogue += fmt.Sprintf(" /AcroForm << /Fields %s %s >>", formatRefs(h.fields), h.form)
	}
	name := "hazards-" + fmt.Sprint(len(names))
	if len(names) == 1 {
		name = "hazard-" + names[0]
	}
	return File{Name: name + ".pdf", PDF: d.finishDocument(catalogue, ""), Pages: []Page{describeNativePage(s, 1)}}
}

// hazardParts gathers what hazards add to the objects of a document.
type hazardParts struct {
	w                          *pdfWriter
	opening, names, form, page string
	annots, fields             []objectRef
}

const scriptAction = "/Type /Action /S /JavaScript /JS (app.alert\\('hello'\\);)"

// addOpenAction adds an action that runs when the document opens; a second one is chained to the first.
func (h *hazardParts) addOpenAction(action string) {
	if h.opening != "" {
		h.opening = fmt.Sprintf("%s /Next << %s >>", action, h.opening)
		return
	}
	h.opening = action
}

func (h *hazardParts) addHazard(hazard Hazard) {
	w := h.w
	link := func(action string) {
		h.annots = append(h.annots,
			w.addObject("<< /Type /Annot /Subtype /Link /Rect [60 700 300 720] /Border [0 0 0] /A << /Type /Action %s >> >>",
				action))
	}
	switch hazard {
	case JavaScript:
		h.addOpenAction(scriptAction)
	case NamedScript:
		h.names += fmt.Sprintf(" /JavaScript << /Names [(start) %v] >>", w.addObject("<< %s >>", scriptAction))
	case PageScript:
		h.page += " /AA << /O << " + scriptAction + " >> >>"
	case Launch:
		link("/S /Launch /F (program.exe) /Win << /F (program.exe) >>")
	case URI:
		link("/S /URI /URI (https://example.org/page)")
	case RemoteGoTo:
		link("/S /GoToR /F (other.pdf) /D [0 /Fit]")
	case OpenAction:
		h.addOpenAction("/Type /Action /S /URI /URI (https://example.org/opened)")
	case SubmitForm:
		h.fields = append(h.fields,
			w.addObject("<< /Type /Annot /Subtype /Widget /FT /Btn /Ff 65536 /T (send) /Rect [60 60 120 80]"+
				" /A << /Type /Action /S /SubmitForm /F << /FS /URL /F (https://example.org/collect) >> >> >>"))
	case EmbeddedFile:
		file := w.addStream("/Type /EmbeddedFile /Subtype /text#2Fplain", []byte("An attachment.\n"))
		spec := w.addObject("<< /Type /Filespec /F (notes.txt) /UF (notes.txt) /EF << /F %v >> >>", file)
		h.names += fmt.Sprintf(" /EmbeddedFiles << /Names [(notes.txt) %v] >>", spec)
	case XFA:
		packet := w.addStream("",
			[]byte(`<xdp:xdp xmlns:xdp="http://ns.adobe.com/xdp/"><template xmlns="http://www.xfa.org/schema/xfa-template/3.3/"/></xdp:xdp>`))
		h.form += fmt.Sprintf(" /XFA [(template) %v]", packet)
	case Signature:
		value := w.addObject("<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached /ByteRange [0 100 1200 300]"+
			" /M (D:20260102030405Z) /Name (A. Signer) /Reason (Approval) /Contents <%s> >>", strings.Repeat("00", 512))
		h.fields = append(h.fields,
			w.addObject("<< /Type /Annot /Subtype /Widget /FT /Sig /T (signature) /F 132 /Rect [0 0 0 0] /V %v >>", value))
		h.form += " /SigFlags 3"
	}
}

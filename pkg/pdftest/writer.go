package pdftest

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strconv"
)

// objectRef is the number of an indirect object.
type objectRef int

func (r objectRef) String() string { return strconv.Itoa(int(r)) + " 0 R" }

// pdfWriter puts the objects of a PDF one after the other and closes with a classic cross-reference table. That is
// all the format that the tests need: what readers have to cope with is made by changing the bytes afterwards.
type pdfWriter struct {
	buf        bytes.Buffer
	offsets    []int // by object number less one; 0: not written
	deflate    *zlib.Writer
	encryption *encryption // nil: not encrypted
	info       objectRef
}

func newPDFWriter() *pdfWriter {
	w := &pdfWriter{}
	// The second line marks the file as binary for tools that guess.
	w.buf.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	return w
}

// PDFFromObjects returns a PDF of those objects, numbered from 1; the first is the catalogue.
func PDFFromObjects(objects ...string) []byte {
	w := newPDFWriter()
	for _, o := range objects {
		w.addObject("%s", o)
	}
	return w.finishFile(1, "")
}

// reserveObject reserves an object number, so that objects can refer to what comes later.
func (w *pdfWriter) reserveObject() objectRef {
	w.offsets = append(w.offsets, 0)
	return objectRef(len(w.offsets))
}

// writeObject writes the object r.
func (w *pdfWriter) writeObject(r objectRef, format string, args ...any) {
	w.offsets[r-1] = w.buf.Len()
	fmt.Fprintf(&w.buf, "%d 0 obj\n", int(r))
	fmt.Fprintf(&w.buf, format, args...)
	w.buf.WriteString("\nendobj\n")
}

// addObject writes a new object.
func (w *pdfWriter) addObject(format string, args ...any) objectRef {
	r := w.reserveObject()
	w.writeObject(r, format, args...)
	return r
}

// addStream writes a new stream object whose data is compressed here; dict holds what its dictionary needs besides.
func (w *pdfWriter) addStream(dict string, data []byte) objectRef {
	return w.addRawStream(dict+" /Filter /FlateDecode", w.compress(data))
}

// addRawStream writes a new stream object with data as it is.
func (w *pdfWriter) addRawStream(dict string, data []byte) objectRef {
	r := w.reserveObject()
	if w.encryption != nil {
		data = w.encryption.encryptObject(r, data)
	}
	w.offsets[r-1] = w.buf.Len()
	fmt.Fprintf(&w.buf, "%d 0 obj\n<< %s /Length %d >>\nstream\n", int(r), dict, len(data))
	w.buf.Write(data)
	w.buf.WriteString("\nendstream\nendobj\n")
	return r
}

// compress compresses data with Flate. The fast level: a test waits for this, and the result is not stored.
func (w *pdfWriter) compress(data []byte) []byte {
	var out bytes.Buffer
	if w.deflate == nil {
		w.deflate, _ = zlib.NewWriterLevel(&out, zlib.BestSpeed) // the level is known to be valid
	} else {
		w.deflate.Reset(&out)
	}
	w.deflate.Write(data) // a bytes.Buffer takes everything
	w.deflate.Close()
	return out.Bytes()
}

// formatString returns s as a string of object r, encrypted if the file is. s must be ASCII.
func (w *pdfWriter) formatString(r objectRef, s string) string {
	if w.encryption != nil {
		return fmt.Sprintf("<%x>", w.encryption.encryptObject(r, []byte(s)))
	}
	return formatLiteral(s)
}

// finishFile writes the cross-reference table and the trailer, and returns the file. trailer holds what the trailer
// needs besides /Size, /Root and /ID.
func (w *pdfWriter) finishFile(root objectRef, trailer string) []byte {
	start := w.buf.Len()
	fmt.Fprintf(&w.buf, "xref\n0 %d\n0000000000 65535 f \n", len(w.offsets)+1)
	for _, offset := range w.offsets {
		if offset == 0 {
			w.buf.WriteString("0000000000 00000 f \n")
			continue
		}
		fmt.Fprintf(&w.buf, "%010d 00000 n \n", offset)
	}
	if w.info != 0 {
		trailer += fmt.Sprintf(" /Info %v", w.info)
	}
	fmt.Fprintf(&w.buf, "trailer\n<< /Size %d /Root %v /ID [<%x> <%x>] %s >>\nstartxref\n%d\n%%%%EOF\n",
		len(w.offsets)+1, root, fileID, fileID, trailer, start)
	return w.buf.Bytes()
}

// fileID is the identity of every file made here: a real one would change with each call.
const fileID = "inkstream-pdftst"

// formatLiteral returns s as a PDF string in parentheses. s must be in the encoding of the font that shows it.
func formatLiteral(s string) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '(')
	for i := range len(s) {
		switch c := s[i]; c {
		case '(', ')', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		default:
			out = append(out, c)
		}
	}
	return string(append(out, ')'))
}

// formatNumber returns v as PDF writes it: never with an exponent.
func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

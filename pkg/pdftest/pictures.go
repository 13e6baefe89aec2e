package pdftest

import (
	"fmt"
	"image"
)

// DamagedPhoto returns a file of one page with a picture that claims to be a JPEG and is a few bytes of something
// else, which it returns too.
func DamagedPhoto() (File, []byte) {
	w := newPDFWriter()
	d := newPDFDocument(w)
	data := []byte("1234")
	picture := w.addRawStream("/Type /XObject /Subtype /Image /Width 730 /Height 760 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /DCTDecode", data)
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, w.addStream("", []byte("q 100 0 0 100 60 600 cm /Im1 Do Q\n"))),
		fmt.Sprintf("/XObject << /Im1 %v >>", picture))
	return File{Name: "damaged-photo.pdf", Pages: []Page{{Kind: NativePage, Width: a4Width, Height: a4Height}},
		PDF: d.finishDocument("", "")}, data
}

// FilmPoster returns a file of one page whose only picture stands for a film: it is drawn by an annotation.
func FilmPoster() File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	img := image.NewGray(image.Rect(0, 0, 64, 48))
	for i := range img.Pix {
		img.Pix[i] = byte(i)
	}
	poster := d.addImage(img, 0, false)
	look := w.addStream(fmt.Sprintf("/Type /XObject /Subtype /Form /BBox [0 0 320 240] /Resources << /XObject << /Im1 %v >> >>", poster),
		[]byte("q 320 0 0 240 0 0 cm /Im1 Do Q\n"))
	film := w.addObject("<< /Type /Annot /Subtype /RichMedia /Rect [100 400 420 640] /F 4 /AP << /N %v >> >>", look)
	d.addPage(fmt.Sprintf("%s /Annots [%v]", a4Boxes, film))
	return File{Name: "film-poster.pdf", Pages: []Page{{Kind: NativePage, Width: a4Width, Height: a4Height}},
		PDF: d.finishDocument("", "")}
}

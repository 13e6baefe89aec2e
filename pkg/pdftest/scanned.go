package pdftest

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"strings"
)

// Scanned returns a file whose pages are images of text, without a text layer.
func Scanned(o ScanOptions) File {
	o = o.withDefaults()
	return once(o, func() File { return scanned(o) })
}

func scanned(o ScanOptions) File {
	w := newWriter()
	d := newDocument(w)
	f := File{Name: fmt.Sprintf("scanned-%s-%d.pdf", o.Design, o.Pages)}
	for n := 1; n <= o.Pages; n++ {
		f.Pages = append(f.Pages, d.scan(o, n))
	}
	f.PDF = d.finish("", "")
	return f
}

// SidewaysScans returns a file of four scanned pages whose sheets lay upright, on their right side, upside down and on their left side,
// and whose /Rotate says nothing of it.
func SidewaysScans(o ScanOptions) File {
	return turnedScans(o, "sideways-scans.pdf", func(int) int { return 0 })
}

// RotatedScans returns the pages of SidewaysScans, each with the /Rotate that sets it upright.
func RotatedScans(o ScanOptions) File {
	return turnedScans(o, "rotated-scans.pdf", func(turn int) int { return (360 - turn) % 360 })
}

func turnedScans(o ScanOptions, name string, rotate func(turn int) int) File {
	o = o.withDefaults()
	o.Pages = 4
	w := newWriter()
	d := newDocument(w)
	f := File{Name: name}
	for n := 1; n <= 4; n++ {
		o.Turn = 90 * (n - 1)
		o.Rotate = rotate(o.Turn)
		f.Pages = append(f.Pages, d.scan(o, n))
	}
	f.PDF = d.finish("", "")
	return f
}

// MixedDocument returns a file that has pages of every kind: text, scan, text, blank, a text page with a picture of text, and a scan that
// is black and white.
func MixedDocument() File { return MixedDocumentWith(ScanOptions{}) }

// MixedDocumentWith is MixedDocument with scans of another resolution, size of text or design. Of the options no other counts.
func MixedDocumentWith(o ScanOptions) File {
	o = ScanOptions{DPI: o.DPI, Size: o.Size, Design: o.Design, Pages: 6}
	type mixed ScanOptions
	return once(mixed(o), func() File { return mixedDocument(o) })
}

func mixedDocument(o ScanOptions) File {
	w := newWriter()
	d := newDocument(w)
	words := newProse(51)
	f := File{Name: "mixed.pdf"}
	native := func(n int, design Design) {
		s := compose(design, n, 6, 11, a4Width, a4Height, helveticaWidth, words)
		d.page(fmt.Sprintf("%s /Contents %v", a4Boxes, w.stream("", s.content(0, 0, 0))))
		f.Pages = append(f.Pages, nativePage(s, n))
	}
	native(1, Report)
	dirty := Dirty()
	dirty.Seed, dirty.Pages, dirty.DPI, dirty.Size, dirty.Design = 52, o.Pages, o.DPI, o.Size, o.Design
	f.Pages = append(f.Pages, d.scan(dirty.withDefaults(), 2))
	native(3, Columns)
	native(4, blankPage)
	f.Pages = append(f.Pages, d.figure(5, words))
	o.Seed, o.Bitonal = 53, true
	f.Pages = append(f.Pages, d.scan(o.withDefaults(), 6))
	f.PDF = d.finish("", "")
	return f
}

// PageWithImage returns a file of one page: text as characters, and below it a picture that shows more text, which no character of the
// page repeats.
func PageWithImage() File {
	w := newWriter()
	d := newDocument(w)
	page := d.figure(1, newProse(55))
	return File{Name: "page-with-image.pdf", Pages: []Page{page}, PDF: d.finish("", "")}
}

// figure adds page n: a heading and paragraphs, a picture of a notice, a caption and another paragraph.
func (d *document) figure(n int, words prose) Page {
	s := newSetter(a4Width, a4Height, 11, helveticaWidth, words)
	s.text(bold, 15, words.heading())
	s.text(regular, 11, words.paragraph(4)+" The notice is entered as "+Marker(n)+".")
	s.text(regular, 11, words.paragraph(4))

	// The picture: a sheet of its own, as wide as the column.
	p := newPen(200)
	const height = 220
	inner := newSetter(s.right-s.left, height, 12, p.width, words)
	inner.left, inner.right, inner.y, inner.bottom = 18, inner.w-18, 8, height-8
	inner.text(bold, 17, words.heading())
	inner.text(regular, 12, words.paragraph(5))
	inner.rules = []box{{4, 4, inner.w - 8, 1.5}, {4, height - 5.5, inner.w - 8, 1.5}, {4, 4, 1.5, height - 8}, {inner.w - 5.5, 4, 1.5, height - 8}}
	picture := d.image(p.draw(inner.sheet, 240, 20), 90, false)
	top := s.y + 6
	s.y = top + height + 6
	s.block()
	s.truth.WriteString(inner.truth.String())
	s.text(regular, 9.5, "Figure 1. "+words.sentence())
	s.text(regular, 11, words.paragraph(4))

	content := fmt.Appendf(s.content(0, 0, 0), "q %s 0 0 %d %s %s cm /Im1 Do Q\n", number(inner.w), height, number(s.left), number(s.h-top-height))
	d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, d.w.stream("", content)), fmt.Sprintf("/XObject << /Im1 %v >>", picture))
	page := nativePage(s.sheet, n)
	page.Kind, page.ImageText = MixedPage, inner.truth.String()
	return page
}

// scan adds a page that is an image of page n.
func (d *document) scan(o ScanOptions, n int) Page {
	img, s := rasterSheet(o, n)
	picture := d.image(img, o.JPEG, o.Bitonal)
	pw, ph := s.w, s.h
	if o.Turn%180 != 0 {
		pw, ph = ph, pw
	}
	content := d.w.stream("", fmt.Appendf(nil, "q %s 0 0 %s 0 0 cm /Im1 Do Q\n", number(pw), number(ph)))
	entries := fmt.Sprintf("/MediaBox [0 0 %s %s] /Contents %v", number(pw), number(ph), content)
	if o.Rotate != 0 {
		entries += fmt.Sprintf(" /Rotate %d", o.Rotate)
	}
	d.pageWith(entries, fmt.Sprintf("/XObject << /Im1 %v >>", picture))
	page := nativePage(s, n)
	page.Rotate = o.Rotate
	page.Upright = (720 - o.Turn - o.Rotate) % 360
	page.Width, page.Height = pw, ph
	if o.Rotate%180 != 0 {
		page.Width, page.Height = ph, pw
	}
	if page.Kind == NativePage {
		page.Kind, page.ImageText = ScannedPage, page.Text
	}
	return page
}

// image adds an image: JPEG of the given quality if that is not 0, else lossless with 8 bits a pixel, or one if it is bitonal.
func (d *document) image(img *image.Gray, quality int, bitonal bool) ref {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	dict := fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray", w, h)
	switch {
	case bitonal:
		return d.w.stream(dict+" /BitsPerComponent 1", packBits(img))
	case quality > 0:
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
			panic(err) // only an image of more than 65,535 pixels a side fails
		}
		return d.w.rawStream(dict+" /BitsPerComponent 8 /Filter /DCTDecode", b.Bytes())
	default:
		return d.w.stream(dict+" /BitsPerComponent 8", img.Pix)
	}
}

// packBits returns the image with eight pixels a byte, each row beginning a byte, white as 1.
func packBits(img *image.Gray) []byte {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	stride := (w + 7) / 8
	out := make([]byte, stride*h)
	for y := range h {
		for x := range w {
			if img.Pix[y*img.Stride+x] >= 128 {
				out[y*stride+x/8] |= 0x80 >> (x % 8)
			}
		}
	}
	return out
}

// ScannedBlank returns a file of one page: a scan of an empty sheet, with the noise and dust of a real one.
func ScannedBlank() File {
	w := newWriter()
	d := newDocument(w)
	o := Dirty()
	o.Design = blankPage
	page := d.scan(o.withDefaults(), 1)
	return File{Name: "scanned-blank.pdf", Pages: []Page{page}, PDF: d.finish("", "")}
}

// ScanWithTextLayer returns a scanned file of one page that someone has had recognised before: the text is there as characters that show
// nothing (rendering mode 3). If sound is false, the layer is full of errors, as bad recognisers leave it.
func ScanWithTextLayer(sound bool) File {
	o := ScanOptions{Seed: 57, DPI: 200, JPEG: 85}.withDefaults()
	w := newWriter()
	d := newDocument(w)
	img, s := rasterSheet(o, 1)
	rng := rand.New(rand.NewPCG(57, 1))
	layer := *s
	layer.runs = append([]run(nil), s.runs...)
	layer.rules = nil
	if !sound {
		for i := range layer.runs {
			layer.runs[i].text = ruin(layer.runs[i].text, rng)
		}
	}
	content := fmt.Appendf(nil, "q %s 0 0 %s 0 0 cm /Im1 Do Q\n3 Tr\n%s", number(s.w), number(s.h), layer.content(0, 0, 0))
	d.pageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, w.stream("", content)),
		fmt.Sprintf("/XObject << /Im1 %v >>", d.image(img, o.JPEG, false)))
	page := nativePage(s, 1)
	page.Kind, page.ImageText = ScannedPage, page.Text
	name := "scan-with-text-layer.pdf"
	if !sound {
		name = "scan-with-bad-text-layer.pdf"
	}
	return File{Name: name, Pages: []Page{page}, PDF: d.finish("", "")}
}

// ruin returns s as a bad recogniser reads it: every third letter is another character.
func ruin(s string, rng *rand.Rand) string {
	const wrong = "~^|;:!1l{}[]*#%/\\<>_="
	return strings.Map(func(r rune) rune {
		if r != ' ' && rng.IntN(3) == 0 {
			return rune(wrong[rng.IntN(len(wrong))])
		}
		return r
	}, s)
}

package pdftest

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"unicode"
)

// ScannedFile returns a file whose pages are images of text, without a text layer.
func ScannedFile(o ScanOptions) File {
	o = o.withDefaults()
	return makeOnce(o, func() File { return makeScannedFile(o) })
}

func makeScannedFile(o ScanOptions) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	f := File{Name: fmt.Sprintf("scanned-%s-%d.pdf", o.Design, o.Pages)}
	for n := 1; n <= o.Pages; n++ {
		f.Pages = append(f.Pages, d.addScanPage(o, n))
	}
	f.PDF = d.finishDocument("", "")
	return f
}

// SidewaysScannedFile returns a file of four scanned pages whose sheets lay upright, on their right side, upside down
// and on their left side, and whose /Rotate says nothing of it.
func SidewaysScannedFile(o ScanOptions) File {
	return makeTurnedScans(o, "sideways-scans.pdf", func(int) int { return 0 })
}

// RotatedScannedFile returns the pages of SidewaysScannedFile, each with the /Rotate that sets it upright.
func RotatedScannedFile(o ScanOptions) File {
	return makeTurnedScans(o, "rotated-scans.pdf", func(turn int) int { return (360 - turn) % 360 })
}

func makeTurnedScans(o ScanOptions, name string, rotate func(turn int) int) File {
	o = o.withDefaults()
	o.Pages = 4
	w := newPDFWriter()
	d := newPDFDocument(w)
	f := File{Name: name}
	for n := 1; n <= 4; n++ {
		o.Turn = 90 * (n - 1)
		o.Rotate = rotate(o.Turn)
		f.Pages = append(f.Pages, d.addScanPage(o, n))
	}
	f.PDF = d.finishDocument("", "")
	return f
}

// MixedFile returns a file that has pages of every kind: text, scan, text, blank, a text page with a picture of text,
// and a scan that is black and white.
func MixedFile() File { return MixedFileWith(ScanOptions{}) }

// MixedFileWith is MixedFile with scans of another resolution, size of text or design. Of the options no other counts.
func MixedFileWith(o ScanOptions) File {
	o = ScanOptions{DPI: o.DPI, Size: o.Size, Design: o.Design, Pages: 6}
	type mixed ScanOptions
	return makeOnce(mixed(o), func() File { return makeMixedFile(o) })
}

func makeMixedFile(o ScanOptions) File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	words := newProseGenerator(51)
	f := File{Name: "mixed.pdf"}
	native := func(n int, design PageDesign) {
		s := composePage(design, n, 6, 11, a4Width, a4Height, helveticaWidth, words)
		d.addPage(fmt.Sprintf("%s /Contents %v", a4Boxes, w.addStream("", s.drawOperators(0, 0, 0))))
		f.Pages = append(f.Pages, describeNativePage(s, n))
	}
	native(1, Report)
	dirty := DirtyScanOptions()
	dirty.Seed, dirty.Pages, dirty.DPI, dirty.Size, dirty.Design = 52, o.Pages, o.DPI, o.Size, o.Design
	f.Pages = append(f.Pages, d.addScanPage(dirty.withDefaults(), 2))
	native(3, Columns)
	native(4, blankPage)
	f.Pages = append(f.Pages, d.addFigurePage(5, words))
	o.Seed, o.Bitonal = 53, true
	f.Pages = append(f.Pages, d.addScanPage(o.withDefaults(), 6))
	f.PDF = d.finishDocument("", "")
	return f
}

// PageWithImage returns a file of one page: text as characters, and below it a picture that shows more text, which no
// character of the page repeats.
func PageWithImage() File {
	w := newPDFWriter()
	d := newPDFDocument(w)
	page := d.addFigurePage(1, newProseGenerator(55))
	return File{Name: "page-with-image.pdf", Pages: []Page{page}, PDF: d.finishDocument("", "")}
}

// addFigurePage adds page n: a heading and paragraphs, a picture of a notice, a caption and another paragraph.
func (d *pdfDocument) addFigurePage(n int, words proseGenerator) Page {
	s := newTypesetter(a4Width, a4Height, 11, helveticaWidth, words)
	s.setText(bold, 15, words.makeHeading())
	s.setText(regular, 11, words.makeParagraph(4)+" The notice is entered as "+MarkerWord(n)+".")
	s.setText(regular, 11, words.makeParagraph(4))

	// The picture: a sheet of its own, as wide as the column.
	p := newTextRenderer(200)
	const height = 220
	inner := newTypesetter(s.right-s.left, height, 12, p.textWidth, words)
	inner.left, inner.right, inner.y, inner.bottom = 18, inner.w-18, 8, height-8
	inner.setText(bold, 17, words.makeHeading())
	inner.setText(regular, 12, words.makeParagraph(5))
	inner.rules = []box{{4, 4, inner.w - 8, 1.5}, {4, height - 5.5, inner.w - 8, 1.5}, {4, 4, 1.5, height - 8},
		{inner.w - 5.5, 4, 1.5, height - 8}}
	picture := d.addImage(p.drawSheet(inner.typesetPage, 240, 20), 90, false)
	top := s.y + 6
	s.y = top + height + 6
	s.endBlock()
	s.truth.WriteString(inner.truth.String())
	s.setText(regular, 9.5, "Figure 1. "+words.makeSentence())
	s.setText(regular, 11, words.makeParagraph(4))

	content := fmt.Appendf(s.drawOperators(0, 0, 0), "q %s 0 0 %d %s %s cm /Im1 Do Q\n", formatNumber(inner.w), height,
		formatNumber(s.left), formatNumber(s.h-top-height))
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, d.w.addStream("", content)),
		fmt.Sprintf("/XObject << /Im1 %v >>", picture))
	page := describeNativePage(s.typesetPage, n)
	page.Kind, page.ImageText = MixedPage, inner.truth.String()
	return page
}

// addScanPage adds a page that is an image of page n.
func (d *pdfDocument) addScanPage(o ScanOptions, n int) Page {
	img, s := drawScanSheet(o, n)
	picture := d.addImage(img, o.JPEG, o.Bitonal)
	pw, ph := s.w, s.h
	if o.Turn%180 != 0 {
		pw, ph = ph, pw
	}
	content := d.w.addStream("", fmt.Appendf(nil, "q %s 0 0 %s 0 0 cm /Im1 Do Q\n", formatNumber(pw), formatNumber(ph)))
	entries := fmt.Sprintf("/MediaBox [0 0 %s %s] /Contents %v", formatNumber(pw), formatNumber(ph), content)
	if o.Rotate != 0 {
		entries += fmt.Sprintf(" /Rotate %d", o.Rotate)
	}
	d.addPageWith(entries, fmt.Sprintf("/XObject << /Im1 %v >>", picture))
	page := describeNativePage(s, n)
	page.Rotate = o.Rotate
	page.UprightTurn = (720 - o.Turn - o.Rotate) % 360
	page.Width, page.Height = pw, ph
	if o.Rotate%180 != 0 {
		page.Width, page.Height = ph, pw
	}
	if page.Kind == NativePage {
		page.Kind, page.ImageText = ScannedPage, page.Text
	}
	return page
}

// addImage adds an image: JPEG of the given quality if that is not 0, else lossless with 8 bits a pixel, or one if it
// is bitonal.
func (d *pdfDocument) addImage(img *image.Gray, quality int, bitonal bool) objectRef {
	w, h := img.Rect.Dx(), img.Rect.Dy()
	dict := fmt.Sprintf("/Type /XObject /Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray", w, h)
	switch {
	case bitonal:
		return d.w.addStream(dict+" /BitsPerComponent 1", packBits(img))
	case quality > 0:
		var b bytes.Buffer
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
			panic(err) // only an image of more than 65,535 pixels a side fails
		}
		return d.w.addRawStream(dict+" /BitsPerComponent 8 /Filter /DCTDecode", b.Bytes())
	default:
		return d.w.addStream(dict+" /BitsPerComponent 8", img.Pix)
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
	w := newPDFWriter()
	d := newPDFDocument(w)
	o := DirtyScanOptions()
	o.Design = blankPage
	page := d.addScanPage(o.withDefaults(), 1)
	return File{Name: "scanned-blank.pdf", Pages: []Page{page}, PDF: d.finishDocument("", "")}
}

// ScanWithTextLayer returns a scanned file of one page that a recogniser has read before: the text is there as
// characters that show nothing (rendering mode 3). If sound is false, the layer is full of errors, as bad recognisers
// leave it.
func ScanWithTextLayer(sound bool) File {
	if sound {
		return makeLayeredScan("scan-with-text-layer.pdf", unseenLayer, func(s string, _ *rand.Rand) string { return s })
	}
	return makeLayeredScan("scan-with-bad-text-layer.pdf", unseenLayer, garbleText)
}

// ScanOverText returns ScanWithTextLayer's page with a sound layer that is painted, all in one font, under the scan.
func ScanOverText() File {
	return makeLayeredScan("scan-over-text.pdf", "%[2]s\n%[1]s", func(s string, _ *rand.Rand) string { return s })
}

// ScanWithWrongTextLayer returns ScanWithTextLayer's page with a layer that looks like words, in which the given share
// of the letters, 0 to 1, is wrong.
func ScanWithWrongTextLayer(share float64) File {
	return makeLayeredScan("scan-with-wrong-text-layer.pdf", unseenLayer, func(s string, rng *rand.Rand) string {
		return ReplaceLetters(s, share, rng)
	})
}

// ReplaceLetters returns s with the given share of its letters and digits, 0 to 1, replaced by others.
func ReplaceLetters(s string, share float64, rng *rand.Rand) string {
	const letters, digits = "etaoinshrdlucmfwypvbgk", "0123456789"
	return strings.Map(func(r rune) rune {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r), rng.Float64() >= share:
			return r
		case unicode.IsDigit(r):
			return rune(digits[rng.IntN(len(digits))])
		case unicode.IsUpper(r):
			return unicode.ToUpper(rune(letters[rng.IntN(len(letters))]))
		default:
			return rune(letters[rng.IntN(len(letters))])
		}
	}, s)
}

// unseenLayer is the content of a page whose text, %[2]s, is not painted over its image, %[1]s.
const unseenLayer = "%[1]s\n3 Tr\n%[2]s"

// makeLayeredScan returns a scan whose page has a content, and in its layer the text of its runs, changed.
func makeLayeredScan(name, content string, change func(s string, rng *rand.Rand) string) File {
	o := ScanOptions{Seed: 57, DPI: 200, JPEG: 85}.withDefaults()
	w := newPDFWriter()
	d := newPDFDocument(w)
	img, s := drawScanSheet(o, 1)
	rng := rand.New(rand.NewPCG(57, 1))
	layer := *s
	layer.runs = append([]textRun(nil), s.runs...)
	layer.rules = nil
	for i := range layer.runs {
		layer.runs[i].text = change(layer.runs[i].text, rng)
		layer.runs[i].face = s.runs[0].face
	}
	scan := fmt.Sprintf("q %s 0 0 %s 0 0 cm /Im1 Do Q", formatNumber(s.w), formatNumber(s.h))
	operators := fmt.Appendf(nil, content, scan, layer.drawOperators(0, 0, 0))
	d.addPageWith(fmt.Sprintf("%s /Contents %v", a4Boxes, w.addStream("", operators)),
		fmt.Sprintf("/XObject << /Im1 %v >>", d.addImage(img, o.JPEG, false)))
	page := describeNativePage(s, 1)
	page.Kind, page.ImageText = ScannedPage, page.Text
	return File{Name: name, Pages: []Page{page}, PDF: d.finishDocument("", "")}
}

// garbleText returns s as a bad recogniser reads it: every third letter is another character.
func garbleText(s string, rng *rand.Rand) string {
	const wrong = "~^|;:!1l{}[]*#%/\\<>_="
	return strings.Map(func(r rune) rune {
		if r != ' ' && rng.IntN(3) == 0 {
			return rune(wrong[rng.IntN(len(wrong))])
		}
		return r
	}, s)
}

// ScannedSheet is a page that is an image of its sheet.
type ScannedSheet struct {
	Image *image.Gray
	// Width and Height are those of the page in points.
	Width, Height float64
	// JPEG is the quality of the image's compression; 0 means none.
	JPEG int
	// Bitonal stores one bit a pixel.
	Bitonal bool
	// Layer is text that stands in the page without being seen.
	Layer []LayerWord
}

// LayerWord is a word of a text layer, with its box in points from the top left of the page. Letters beyond Latin-1
// become question marks.
type LayerWord struct {
	Text string
	Box  [4]float64
}

// layerOperators returns words as invisible text, each as wide as its box.
func layerOperators(words []LayerWord, height float64) []byte {
	const ascent = 0.75 // how much of a box is above the base line
	b := []byte("3 Tr\n")
	for _, w := range words {
		size := w.Box[3] - w.Box[1]
		text := encodeLatin1(w.Text)
		natural := latin1Width(size, text)
		if size <= 0 || natural <= 0 {
			continue
		}
		b = fmt.Appendf(b, "BT /F1 %.2f Tf %.2f Tz %.2f %.2f Td %s Tj ET\n", size, 100*(w.Box[2]-w.Box[0])/natural,
			w.Box[0], height-w.Box[1]-ascent*size, formatLiteral(text))
	}
	return b
}

func encodeLatin1(s string) string {
	out := make([]byte, 0, len(s))
	for _, r := range s {
		switch {
		case r == '\u00ad': // a soft hyphen that breaks no line is not seen
			continue
		case r == '‐' || r == '–' || r == '—':
			r = '-'
		case r == '’' || r == '‘':
			r = '\''
		case r > 0xff || r < ' ':
			r = '?'
		}
		out = append(out, byte(r))
	}
	return string(out)
}

// latin1Width returns the width of s in Helvetica in points. Letters with accents are as wide as most others.
func latin1Width(size float64, s string) float64 {
	const accented = 0.556
	width := helveticaWidth(regular, size, s)
	for i := range len(s) {
		if s[i] > '~' {
			width += accented * size
		}
	}
	return width
}

// EncodeSheets returns a PDF whose pages are images, with the text layers that they have.
func EncodeSheets(sheets []ScannedSheet) []byte {
	d := newPDFDocument(newPDFWriter())
	for _, s := range sheets {
		width, height := formatNumber(s.Width), formatNumber(s.Height)
		drawn := fmt.Appendf(nil, "q %s 0 0 %s 0 0 cm /Im1 Do Q\n", width, height)
		if len(s.Layer) > 0 {
			drawn = append(drawn, layerOperators(s.Layer, s.Height)...)
		}
		content := d.w.addStream("", drawn)
		d.addPageWith(fmt.Sprintf("/MediaBox [0 0 %s %s] /Contents %v", width, height, content),
			fmt.Sprintf("/XObject << /Im1 %v >>", d.addImage(s.Image, s.JPEG, s.Bitonal)))
	}
	return d.finishDocument("", "")
}

package host

import (
	"errors"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/pdf/internal/pagetext"
	"inkstream.dev/pkg/pdf/internal/pdfium"
	"inkstream.dev/pkg/pdf/internal/raster"
	"inkstream.dev/pkg/pdf/internal/structure"
	"inkstream.dev/pkg/pdf/internal/triage"
	"inkstream.dev/pkg/pdf/internal/wire"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	// maxChars bounds the text of one page: a newspaper page has some 60,000 characters.
	maxChars = 200_000
	// defaultObjects bounds the walk over a page's objects where the request does not.
	defaultObjects = 50_000
	maxImages      = 500
	maxRulings     = 2000
	maxFormDepth   = 8
	// keepScratch is how much of the shared memory stays warm between pages: an ordinary raster.
	keepScratch = 16 << 20
)

// loadPage loads page n, from 1, with its form fields and stamps drawn into it, unless plain. The caller closes it.
func (h *Host) loadPage(n int, plain bool) (*pdfium.Page, error) {
	if n < 1 || n > h.doc.PageCount() {
		return nil, fault.New(fault.PageNotFound, "the document has %d pages", h.doc.PageCount())
	}
	p, ok := h.doc.LoadPage(n - 1)
	if ok && !plain && p.HasUsableSize() {
		p, ok = p.FlattenAnnotations(h.pages.HasNoResources)
	}
	if !ok {
		return nil, fault.New(fault.PageDamaged, "the page cannot be loaded")
	}
	if !p.HasUsableSize() {
		p.Close()
		return nil, fault.New(fault.PageGeometry, "the page's size is not usable")
	}
	p.SetUserUnit(h.pages.UserUnit(n - 1))
	return p, nil
}

func (h *Host) readPage(req wire.Request) (wire.Reply, proto.Message, error) {
	p, err := h.loadPage(req.Page, req.Plain)
	if err != nil {
		return wire.Reply{}, nil, err
	}
	defer p.Close()
	if req.MaxObjects <= 0 {
		req.MaxObjects = defaultObjects
	}
	s := pageReader{page: p, mode: req.Mode, images: req.Images, plain: req.Plain, tagged: !req.Plain &&
		h.isTagged(), out: &inkstreamv1.Page{
		Number: int32(req.Page), Width: float32(p.Width), Height: float32(p.Height), Rotation: int32(p.Turns * 90),
	}}
	s.drawnFonts = func() []structure.DrawnFont { return h.pages.DrawnFonts(req.Page - 1) }
	s.ligatures = func() map[string]map[rune]string { return h.pages.Ligatures(req.Page - 1) }
	if !req.Plain {
		s.fields = h.pages.UndrawnFields(req.Page - 1)
		if label := h.pageLabel(req.Page); label != strconv.Itoa(req.Page) {
			s.out.Label = label
		}
	}
	s.readContent(req.MaxObjects)
	reply := wire.Reply{Kind: triage.DecideKind(s.facts)}
	if req.Mode == wire.Force && reply.Kind != triage.Blank {
		reply.Kind = triage.Scanned
	}
	if (reply.Kind.WantsOCR() && !req.NoRaster) || req.AlwaysRaster {
		if err := h.drawRaster(&s, req, &reply); err != nil {
			return wire.Reply{}, nil, err
		}
	}
	if req.Images {
		used := 0
		if r := reply.Raster; r != nil {
			used = r.Width * r.Height
		} else {
			h.releaseScratch(keepScratch)
		}
		reply.Images = h.writeImages(&s, req, reply.Kind, used)
	}
	s.setOutcome(reply.Kind)
	return reply, s.out, nil
}

// isTagged reports whether the document says that it is tagged. It keeps the first answer.
func (h *Host) isTagged() bool {
	if h.tags == nil {
		tagged := h.doc.IsTagged()
		h.tags = &tagged
	}
	return *h.tags
}

// drawRaster draws the page into the shared memory, and corrects the triage by what is seen there.
func (h *Host) drawRaster(s *pageReader, req wire.Request, reply *wire.Reply) error {
	h.releaseScratch(keepScratch)
	out := h.scratch
	if req.MaxPixels > 0 && req.MaxPixels < len(out) {
		out = out[:req.MaxPixels]
	}
	if len(out) == 0 {
		return errors.New("page: no shared memory to draw to")
	}
	if s.hasTooLargeImage() && (reply.Kind == triage.Mixed || reply.Kind.HasLayer()) {
		s.out.Notes = append(s.out.Notes, "an image is too large to be drawn")
		reply.Kind = triage.Native
		return nil
	}
	if s.hasTooLargeImage() {
		return fault.New(fault.EngineMemory, "an image of the page is too large to be drawn")
	}
	subject := raster.Source{Page: s.page, Objects: s.objects, Painted: s.painted, CountsAt: s.withoutText}
	if req.Images {
		subject.OnDecoded = func(img pdfium.Image, b *pdfium.Bitmap) {
			if filterExtensions[lastFilter(img.Filters())] == "" {
				s.early = h.encodeEarlyPNG(b)
			}
		}
	}
	r, err := raster.DrawPage(subject, out)
	if errors.Is(err, raster.ErrMemory) {
		return fault.New(fault.EngineMemory, "the page's image does not fit the engine's memory")
	}
	if err != nil {
		return err
	}
	h.used = max(h.used, r.Width*r.Height)
	s.out.Notes = append(s.out.Notes, r.Notes...)
	if !req.AlwaysRaster {
		reply.Kind = triage.CorrectKind(reply.Kind, triage.RasterFacts{Ink: r.Text.Ink, Letters: r.Text.Letters})
	}
	if own := triage.DecideKind(s.facts); reply.Kind == triage.Blank && s.withoutOutlines &&
		(own == triage.Native || own == triage.Mixed || own.HasLayer()) {
		// Recognition was forced, but no font draws the text that is there.
		s.out.Notes = append(s.out.Notes,
			"the page is drawn without its text, which was taken from the file and not recognised")
		reply.Kind = triage.Native
	}
	if reply.Kind.WantsOCR() || req.AlwaysRaster {
		reply.Raster = &wire.Raster{Width: r.Width, Height: r.Height, DPI: r.DPI, XHeight: r.Text.XHeight}
	}
	return nil
}

// pageReader is one page as it is being read.
type pageReader struct {
	page            *pdfium.Page
	out             *inkstreamv1.Page
	objects         pdfium.Objects
	coverage        coverageGrid
	facts           triage.Facts
	fields          []structure.Field // that are not drawn
	drawnFonts      func() []structure.DrawnFont
	ligatures       func() map[string]map[rune]string // see structure.PageLookup
	painted         bool                              // text or annotations are painted
	withoutOutlines bool                              // most characters have no outlines, for want of a font

	mode           string // see wire.Request
	plain          bool   // see wire.Request
	images, tagged bool   // images are wanted; the document is tagged, and its tags are wanted
	early          []byte // the page's one image as PNG, encoded when it was decoded for the raster
}

func (s *pageReader) readContent(maxObjects int) {
	limits := pdfium.ObjectLimits{Objects: maxObjects, Images: maxImages, Rulings: maxRulings, Depth: maxFormDepth}
	if s.images {
		limits.Shapes = maxShapes
	}
	if s.tagged {
		limits.Marked = maxMarks
	}
	s.objects = s.page.ReadObjects(limits)
	s.page.WidenFlatText(s.objects)
	text := s.page.ReadText(maxChars)
	if len(text.UnnamedFonts) > 0 {
		nameFonts(&text, s.drawnFonts())
	}
	if slices.ContainsFunc(text.Chars, func(c pdfium.Char) bool { return isControlCode(&c) }) {
		nameLigatures(&text, s.ligatures())
	}
	if s.textUnderScan() && len(text.Fonts) == 1 { // a stand-in: what a watermark lies on has fonts of its own, and several
		for i := range text.Runs {
			text.Runs[i].Invisible = true
		}
	}
	if s.mode == wire.Redo {
		text = s.dropHiddenText(text)
	}
	s.addFieldText(&text, s.fields)
	addBullets(&text, s.objects.Discs, s.page.Unit)
	built := pagetext.BuildText(text, pagetext.Frame{Display: s.page.UserToDisplay, Width: s.page.Width,
		Height: s.page.Height})
	s.out.Blocks, s.out.Fonts = built.Blocks, built.Fonts
	s.withoutOutlines = text.WithoutOutlines > 0 && 2*text.WithoutOutlines >= built.Stats.Chars &&
		built.Stats.Chars > built.Stats.Invisible
	if text.Cut {
		s.out.Notes = append(s.out.Notes, "text cut: the page has too many characters")
	}
	if s.objects.Cut {
		s.out.Notes = append(s.out.Notes, "images and rulings cut: the page has too many objects")
	}
	s.addImagesAndRulings()
	if !s.plain {
		s.addLinks()
	}
	if s.tagged {
		s.addTags()
	}
	s.facts = triage.Facts{
		Chars: built.Stats.Chars, Bad: built.Stats.Bad, Invisible: built.Stats.Invisible, Odd: built.Stats.Odd,
		Words:       built.Stats.Words,
		TextObjects: s.objects.Texts, Images: len(s.objects.Images), Paths: s.objects.Paths, Shadings: s.objects.Shadings,
		Segments: s.objects.Segments, Annotations: s.page.HasAnnotations(),
	}
	if s.textUnderScan() {
		s.facts.Invisible = s.facts.Chars
	}
	s.painted = s.facts.Annotations || s.facts.Chars > s.facts.Invisible || (s.objects.Texts > 0 && s.facts.Chars == 0)
	if asked := built.Stats.Asked; asked > 0 {
		s.facts.Unmapped = float64(built.Stats.Unmapped) / float64(asked)
	}
	if len(s.objects.Images) > 0 {
		s.measureCoverage()
	}
}

// measureCoverage measures what of the page is under images, and what of that is under no text.
func (s *pageReader) measureCoverage() {
	s.coverage = newCoverageGrid(s.page.Width, s.page.Height)
	for _, img := range s.out.Images {
		s.coverage.markImage(img.Bbox)
	}
	for _, b := range s.out.Blocks {
		for _, l := range b.Lines {
			s.coverage.markText(l.Bbox)
		}
	}
	s.facts.ImageCover, s.facts.BareCover = s.coverage.imageShares()
}

// textUnderScan reports whether an image that fills most of the page is painted over nearly all of its text: another
// way to lay a text layer under a scan.
func (s *pageReader) textUnderScan() bool {
	const most = 0.8
	for _, img := range s.objects.Images {
		b, ok := s.displayBox(img.Bounds)
		if ok && s.objects.Texts > 0 && float64(img.TextsBefore) >= most*float64(s.objects.Texts) &&
			float64(b[2]-b[0])*float64(b[3]-b[1]) > most*s.page.Width*s.page.Height {
			return true
		}
	}
	return false
}

// addImagesAndRulings adds the images and rulings to the page, in display coordinates and cut to the page.
func (s *pageReader) addImagesAndRulings() {
	for _, img := range s.objects.Images {
		// One that lies off the page has no extent on it, but is an image of the document all the same.
		b, _ := s.displayBox(img.Bounds)
		b[2], b[3] = max(b[0], b[2]), max(b[1], b[3])
		s.out.Images = append(s.out.Images, &inkstreamv1.Image{
			Bbox: b, Width: int32(max(0, img.Width)), Height: int32(max(0, img.Height)), Kind: embedded,
		})
	}
	for _, r := range s.objects.Rulings {
		if b, ok := s.displayBox(r); ok {
			s.out.Rulings = append(s.out.Rulings, &inkstreamv1.Ruling{Bbox: b})
		}
	}
}

func (s *pageReader) displayBox(r pdfium.Rect) ([]float32, bool) {
	x0, y0 := s.page.UserToDisplay(r.Left, r.Bottom)
	x1, y1 := s.page.UserToDisplay(r.Right, r.Top)
	x0, x1 = max(0, min(x0, x1)), min(s.page.Width, max(x0, x1))
	y0, y1 = max(0, min(y0, y1)), min(s.page.Height, max(y0, y1))
	return []float32{float32(x0), float32(y0), float32(x1), float32(y1)}, x1 >= x0 && y1 >= y0
}

// hasTooLargeImage reports whether the page has an image that is not worth trying: hours to decode, or a lie. 500
// million pixels are a large map at 600 dpi.
func (s *pageReader) hasTooLargeImage() bool {
	const maxImagePixels = 500_000_000
	for _, img := range s.objects.Images {
		if img.Width*img.Height > maxImagePixels {
			return true
		}
	}
	return false
}

// withoutText reports whether a point of the page, given as shares of its width and height, lies where native text is
// not.
func (s *pageReader) withoutText(x, y float64) bool { return s.coverage.withoutTextAt(x, y) }

// setOutcome sets the outcome where it is known, and drops text that recognition will replace.
func (s *pageReader) setOutcome(kind triage.Kind) {
	if s.mode == wire.Skip && kind.WantsOCR() {
		s.skipRecognition(kind)
		return
	}
	switch kind {
	case triage.Native:
		outcome.SetNative(s.out)
	case triage.Blank:
		outcome.SetBlank(s.out)
		s.out.Blocks, s.out.Fonts = nil, nil
	case triage.Garbled, triage.Scanned:
		s.out.Blocks, s.out.Fonts = nil, nil
	}
}

// skipRecognition sets the outcome of a page that would have to be recognised, but is not to be: its own text is all
// there is, whatever it is worth.
func (s *pageReader) skipRecognition(kind triage.Kind) {
	if len(s.out.GetBlocks()) == 0 {
		outcome.SetSkipped(s.out, outcome.OCRSkipped)
		return
	}
	outcome.SetNative(s.out)
	if kind == triage.Garbled {
		s.out.Notes = append(s.out.Notes, "the text may not say what the page shows")
	}
}

// Package triage decides what a page is and whether it wants to be recognised. It is a pure function over facts, so
// that every rule can be read, and tested, in one place.
package triage

// Kind is what a page is.
type Kind int

// The kinds.
const (
	// Native pages have sound text of their own.
	Native Kind = iota
	// Scanned pages are images, or drawn outlines, of text.
	Scanned
	// Mixed pages have sound text, and images that may hold more.
	Mixed
	// Blank pages show nothing.
	Blank
	// Garbled pages have text that does not say which characters it stands for.
	Garbled
	// Layered pages are pictures with a text layer, which is believed only as far as it says what the picture shows.
	Layered
	// LayeredMixed pages are such pages with pictures beside their text that may hold more.
	LayeredMixed
)

// String returns the name that logs and metrics carry.
func (k Kind) String() string {
	return [...]string{"native", "scanned", "mixed", "blank", "garbled", "layered", "layered_mixed"}[k]
}

// WantsOCR reports whether pages of the kind go to the recogniser.
func (k Kind) WantsOCR() bool { return k == Scanned || k == Mixed || k == Garbled || k.HasLayer() }

// HasLayer reports whether the text of pages of the kind is a text layer under or over a picture of it.
func (k Kind) HasLayer() bool { return k == Layered || k == LayeredMixed }

// Facts are what is known of a page from its objects alone, before anything is drawn.
type Facts struct {
	// Chars counts the page's characters, blanks not counted; Bad those that are control or private-use characters or
	// replacements; Invisible those that are not painted.
	Chars, Bad, Invisible int
	// Unmapped is the share of characters whose font does not say what they stand for, 0 to 1.
	Unmapped float64
	// Odd counts words that no language writes, of Words.
	Odd, Words int

	// TextObjects, Images, Paths and Shadings count what is drawn; Segments the segments of paths that are no lines.
	TextObjects, Images, Paths, Shadings, Segments int
	// ImageCover is the share of the page that images cover, 0 to 1; BareCover the share that they cover where no text
	// is near.
	ImageCover, BareCover float64
	// Annotations says that something is drawn over the page that is none of its objects.
	Annotations bool
}

// The rules' numbers. They were set on the corpus: every page of it falls on the side that a reader would put it.
const (
	// fewChars is text that says nothing of the page: a page number, a stamp.
	fewChars = 8
	// garbledShare is how much of the text has to be bad to distrust all of it.
	garbledShare = 0.4
	// layerCover is how much of the page an image must cover for invisible text to be its text layer.
	layerCover = 0.5
	// oddShare is how many words in a text layer may be odd; sound layers have under 0.01.
	oddShare = 0.035
	// bareCover is how much of the page images with no text on them must cover to be looked at beside native text: a
	// picture with a few lines in it. Look sends back the pictures that show no letters.
	bareCover = 0.15
	// scanCover is how much of the page images must cover for a page with next to no text to be a scan.
	scanCover = 0.3
	// lineArtSegments is a drawing of so many segments that it may be text in outlines; a letter has some ten.
	lineArtSegments = 200
)

// DecideKind says what a page is.
func DecideKind(f Facts) Kind {
	if f.Chars == 0 && f.TextObjects == 0 && f.Images == 0 && f.Paths == 0 && f.Shadings == 0 && !f.Annotations {
		return Blank
	}
	if f.Chars == 0 {
		return decideWithoutText(f)
	}
	if f.isGarbled() || f.hasPoorLayer() {
		return Garbled
	}
	sound := f.Chars - f.Bad
	drawn := f.ImageCover > scanCover || f.Segments >= lineArtSegments
	if sound < fewChars && drawn {
		if f.Invisible > 0 || sound == 0 {
			return Scanned
		}
		return Mixed
	}
	more := f.BareCover > bareCover
	switch {
	case f.hasLayer() && more:
		return LayeredMixed
	case f.hasLayer():
		return Layered
	case more:
		return Mixed
	default:
		return Native
	}
}

// decideWithoutText decides pages on which no character is set. What is drawn on them may still be text.
func decideWithoutText(f Facts) Kind {
	if f.Images > 0 || f.TextObjects > 0 || f.Shadings > 0 || f.Annotations || f.Segments >= lineArtSegments {
		return Scanned
	}
	return Blank // a few lines or boxes
}

func (f Facts) isGarbled() bool {
	return f.Chars >= fewChars && (float64(f.Bad) > garbledShare*float64(f.Chars) || f.Unmapped > garbledShare)
}

// hasLayer reports whether the text is a scan's text layer: invisible, over an image. What a reader sees on the page is
// taken at its word.
func (f Facts) hasLayer() bool { return f.Invisible*10 > f.Chars*8 && f.ImageCover > layerCover }

// hasPoorLayer reports whether the text is a scan's text layer by a recogniser that could not read it.
func (f Facts) hasPoorLayer() bool {
	const enoughWords = 20
	return f.hasLayer() && f.Words >= enoughWords && float64(f.Odd) > oddShare*float64(f.Words)
}

// RasterFacts is what the page's raster shows.
type RasterFacts struct {
	// Ink is the share of dark pixels.
	Ink float64
	// Letters counts what has the shape of letters, where the page has no native text.
	Letters int
}

const (
	// minInk is fewer dark pixels than any character makes: 250 on a page of 300 dpi. speckInk is what dust makes, if
	// none of it looks like a letter.
	minInk   = 0.00003
	speckInk = 0.0005
	// pictureLetters is how many letter shapes a picture without text may show.
	pictureLetters = 25
)

// CorrectKind corrects a decision by what was seen when the page was drawn: a scan of white paper is blank, pictures
// that show no letters add nothing to native text, and with no ink at all there is nothing to hold a layer against.
func CorrectKind(k Kind, s RasterFacts) Kind {
	switch {
	case k == Scanned && (s.Ink < minInk || (s.Ink < speckInk && s.Letters == 0)):
		return Blank
	case k == Mixed && s.Letters < pictureLetters, k.HasLayer() && s.Ink < minInk:
		return Native
	case k == LayeredMixed && s.Letters < pictureLetters:
		return Layered
	default:
		return k
	}
}

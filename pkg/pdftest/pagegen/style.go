package pagegen

// style is how a document looks. Sizes are in points.
type style struct {
	pageWidth, pageHeight        float64
	marginX, marginY             float64
	bodyFont, headFont, monoFont string
	size, leading                float64 // of the body's text; leading is a multiple of the size
	justify, hyphens, indent     bool    // indent: paragraphs begin with an indent rather than after a gap
	gutter                       float64
	columnRule                   bool
	accent, shade                string // colours
}

var (
	serifFonts = []string{"Liberation Serif", "EB Garamond", "Linux Libertine O", "TeX Gyre Pagella", "TeX Gyre Schola",
		"TeX Gyre Bonum", "TeX Gyre Termes", "Noto Serif", "DejaVu Serif", "Latin Modern Roman", "Utopia"}
	sansFonts = []string{"Liberation Sans", "Lato", "Linux Biolinum O", "TeX Gyre Heros", "TeX Gyre Adventor", "Noto Sans",
		"DejaVu Sans", "Liberation Sans Narrow", "TeX Gyre Heros Cn"}
	monoFonts  = []string{"Liberation Mono", "DejaVu Sans Mono", "TeX Gyre Cursor", "Latin Modern Mono"}
	wideSerifs = []string{"Liberation Serif", "DejaVu Serif", "Noto Serif", "Linux Libertine O"}
	wideSans   = []string{"Liberation Sans", "DejaVu Sans", "Noto Sans", "Linux Biolinum O"}
	colours    = []string{"#1f3a5f", "#7a1f1f", "#2f5d3a", "#333333", "#000000", "#5b3a6b", "#8a5a00", "#00606b"}
	shades     = []string{"#f0f0f0", "#e6ecf3", "#f5efe0", "#e9f2e9", "#f6e9e9", "#ececf6"}
	pageSizes  = [][2]float64{{595, 842}, {595, 842}, {612, 792}, {612, 792}, {420, 595}, {516, 729}, {612, 1008}}
)

// fontsFor returns the fonts with serifs and without that have a language's letters.
func fontsFor(code string) (serif, sans []string) {
	switch code {
	case "rus", "ell":
		return wideSerifs, wideSans
	case "ara":
		return []string{"Noto Naskh Arabic"}, []string{"Noto Sans Arabic", "Noto Kufi Arabic"}
	case "heb":
		return []string{"Noto Serif Hebrew"}, []string{"Noto Sans Hebrew"}
	case "jpn":
		return []string{"Noto Serif CJK JP"}, []string{"Noto Sans CJK JP"}
	}
	return serifFonts, sansFonts
}

func newStyle(c chance, code string) style {
	size := choose(c, pageSizes...)
	serif, sans := fontsFor(code)
	s := style{
		pageWidth: size[0], pageHeight: size[1],
		bodyFont: choose(c, serif...), headFont: choose(c, sans...), monoFont: choose(c, monoFonts...),
		size: c.between(8.5, 11.5), leading: c.between(1.14, 1.5),
		justify: c.happens(0.6), indent: c.happens(0.5),
		gutter: c.between(10, 26), columnRule: c.happens(0.25),
		accent: choose(c, colours...), shade: choose(c, shades...),
	}
	s.marginX, s.marginY = s.pageWidth*c.between(0.06, 0.14), s.pageHeight*c.between(0.06, 0.1)
	if c.happens(0.3) {
		s.bodyFont = choose(c, sans...)
	}
	if c.happens(0.4) {
		s.headFont = s.bodyFont
	}
	s.hyphens = s.justify && c.happens(0.75)
	return s
}

// resize sets another page size, and margins that go with it.
func (s *style) resize(width, height float64) {
	s.marginX, s.marginY = s.marginX*width/s.pageWidth, s.marginY*height/s.pageHeight
	s.pageWidth, s.pageHeight = width, height
}

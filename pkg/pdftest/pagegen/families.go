package pagegen

import (
	"fmt"
	"slices"
	"strings"
)

// Chromium is the typesetter that prints HTML.
const Chromium = "chromium"

// Family is a kind of layout.
type Family struct {
	Name       string
	Typesetter string
	// Tables says that the family is made to show tables.
	Tables bool
	// languages are those that the family's text may be in; nil means those of any layout.
	languages []string
	// compose writes the HTML of a family that Chromium sets.
	compose func(c *composer)
	// composeLaTeX writes the LaTeX of one that LuaLaTeX sets.
	composeLaTeX func(c *latexComposer)
	// composeODT writes the OpenDocument text of one that LibreOffice sets.
	composeODT func(c *odtComposer)
}

// webFamilies are set by Chromium.
var webFamilies = []Family{
	{Name: "newspaper", compose: composeNewspaper},
	{Name: "magazine", compose: composeMagazine},
	{Name: "articles", compose: composeArticles},
	{Name: "sidebar", compose: composeSidebar},
	{Name: "brochure", compose: composeBrochure},
	{Name: "cards", compose: composeCards},
	{Name: "catalogue", compose: composeCatalogue},
	{Name: "paper", compose: composePaper, languages: latin},
	{Name: "book", compose: composeBook},
	{Name: "spread", compose: composeSpread},
	{Name: "transcript", compose: composeTranscript, languages: english},
	{Name: "transcript-plain", compose: composePlainTranscript, languages: english},
	{Name: "transcript-two-up", compose: composeTwoUpTranscript, languages: english},
	{Name: "play", compose: composePlay, languages: latin},
	{Name: "directory", compose: composeDirectory, languages: latin},
	{Name: "glossary", compose: composeGlossary},
	{Name: "contents", compose: composeContents},
	{Name: "lists", compose: composeLists},
	{Name: "bilingual", compose: composeBilingual, languages: latin},
	{Name: "japanese-vertical", compose: composeVertical, languages: []string{"jpn"}},
	{Name: "right-to-left", compose: composeRightToLeft, languages: []string{"ara", "heb"}},
	{Name: "letter", compose: composeLetter, languages: latin},
	{Name: "invoice", compose: composeInvoice, languages: latin, Tables: true},
	{Name: "form", compose: composeForm, languages: latin},
	{Name: "ledger", compose: composeLedger, languages: latin, Tables: true},
	{Name: "receipt", compose: composeReceipt, languages: latin},
	{Name: "timetable", compose: composeTimetable, languages: latin, Tables: true},
	{Name: "tables-ruled", compose: tableReport(Ruled), Tables: true},
	{Name: "tables-half-ruled", compose: tableReport(HalfRuled), Tables: true},
	{Name: "tables-plain", compose: tableReport(Plain), Tables: true},
	{Name: "slides", compose: composeSlides},
	{Name: "code", compose: composeCode, languages: english},
	{Name: "figures", compose: composeFigures},
	{Name: "report", compose: composeReport},
	{Name: "data-sheet", compose: composeDataSheet, languages: latin, Tables: true},
	{Name: "features", compose: composeFeatures, languages: latin, Tables: true},
	{Name: "tables-beside", compose: composeTablesBeside, languages: latin, Tables: true},
	{Name: "week", compose: composeWeek, languages: latin, Tables: true},
	{Name: "register", compose: composeRegister, languages: latin, Tables: true},
	{Name: "column-tables", compose: composeColumnTables, Tables: true},
	{Name: "column-notes", compose: composeColumnNotes, languages: latin},
	{Name: "marginalia", compose: composeMarginalia},
	{Name: "menu", compose: composeMenu, languages: latin},
	{Name: "minutes", compose: composeMinutes, languages: latin},
	{Name: "gazette", compose: composeGazette, languages: latin},
	{Name: "classifieds", compose: composeClassifieds, languages: latin},
	{Name: "index", compose: composeIndex, languages: latin},
	{Name: "patent", compose: composePatent, languages: english},
	{Name: "display-ads", compose: composeDisplayAds, languages: latin},
	{Name: "want-ads", compose: composeWantAds, languages: latin},
	{Name: "announcements", compose: composeAnnouncements, languages: latin},
	{Name: "yellow-pages", compose: composeYellowPages, languages: latin},
	{Name: "bill", compose: composeBill, languages: latin},
	{Name: "listings", compose: composeListings, languages: latin},
	{Name: "departures", compose: composeDepartures, languages: latin, Tables: true},
	{Name: "parish-register", compose: composeParishRegister, languages: latin, Tables: true},
	{Name: "statement", compose: composeStatement, languages: latin, Tables: true},
	{Name: "price-list", compose: composePriceList, languages: latin, Tables: true},
	{Name: "standings", compose: composeStandings, languages: latin, Tables: true},
	{Name: "comparison", compose: composeComparison, languages: latin, Tables: true},
	{Name: "tax-form", compose: composeTaxForm, languages: latin},
	{Name: "exam", compose: composeExam, languages: latin},
	{Name: "crossword", compose: composeCrossword, languages: latin},
	{Name: "recipe", compose: composeRecipe, languages: latin},
	{Name: "dictionary", compose: composeDictionary, languages: latin},
	{Name: "statute", compose: composeStatute, languages: latin},
	{Name: "hymnal", compose: composeHymnal, languages: latin},
	{Name: "condensed", compose: composeCondensed, languages: english},
	{Name: "curriculum", compose: composeCurriculum, languages: latin},
	{Name: "table-across", compose: composeTableAcross, languages: latin, Tables: true},
	{Name: "order", compose: composeOrder, languages: latin, Tables: true},
	{Name: "agenda", compose: composeAgenda, languages: latin},
}

var (
	english = []string{"eng"}
	latin   = []string{"eng", "eng", "eng", "deu", "fra", "spa", "ita", "pol"}
	anyText = []string{"eng", "eng", "eng", "eng", "deu", "fra", "spa", "ita", "pol", "rus", "ell"}
)

// Families returns all families.
func Families() []Family {
	out := slices.Concat(webFamilies, latexFamilies, officeFamilies)
	for i := range out {
		out[i].Typesetter = Chromium
		switch {
		case out[i].composeLaTeX != nil:
			out[i].Typesetter = LuaLaTeX
		case out[i].composeODT != nil:
			out[i].Typesetter = LibreOffice
		}
	}
	return out
}

// SelectFamilies returns the families whose names a list with commas has; all if it is empty.
func SelectFamilies(names string) ([]Family, error) {
	if names == "" {
		return Families(), nil
	}
	var out []Family
	for name := range strings.SplitSeq(names, ",") {
		family, err := FindFamily(name)
		if err != nil {
			return nil, err
		}
		out = append(out, family)
	}
	return out, nil
}

// FindFamily returns the family of a name.
func FindFamily(name string) (Family, error) {
	for _, f := range Families() {
		if f.Name == name {
			return f, nil
		}
	}
	return Family{}, fmt.Errorf("no family is called %q", name)
}

// pickLanguage returns the language of a document.
func (f Family) pickLanguage(seed uint64) string {
	c := newChance(seed, f.Name+" language")
	if f.languages != nil {
		return choose(c, f.languages...)
	}
	return choose(c, anyText...)
}

// Fold is a division of the families: what is learnt on those of Train is measured on those of Test.
type Fold struct{ Train, Test []Family }

// SplitFamilies divides the families into a number of folds, so that each family is tested in exactly one. Families that
// are like each other (the tables, the transcripts, those that two typesetters share) stand in the same fold, so that
// none is learnt from its sister.
func SplitFamilies(families []Family, folds int) []Fold {
	groups := map[string]int{}
	out := make([]Fold, folds)
	for _, f := range families {
		name := kinName(f.Name)
		fold, known := groups[name]
		if !known {
			fold = len(groups) % folds
			groups[name] = fold
		}
		for i := range out {
			if i == fold {
				out[i].Test = append(out[i].Test, f)
			} else {
				out[i].Train = append(out[i].Train, f)
			}
		}
	}
	return out
}

// kin names, for families that are like others, what they have in common.
var kin = map[string]string{"transcript-plain": "transcript", "transcript-two-up": "transcript", "tables-half-ruled": "tables",
	"data-sheet": "tables", "tables-beside": "tables", "column-tables": "tables",
	"tables-ruled": "tables", "tables-plain": "tables", "timetable": "tables", "ledger": "tables", "tex-tables": "tables",
	"catalogue": "cards", "spread": "book", "tex-book": "book", "tex-paper": "paper", "articles": "newspaper",
	"tex-columns": "newspaper", "tex-lists": "lists", "tex-report": "report", "tex-contents": "contents",
	"gazette": "newspaper", "classifieds": "newspaper", "column-notes": "paper", "minutes": "glossary", "index": "glossary", "menu": "directory",
	"display-ads": "cards", "want-ads": "newspaper", "announcements": "cards", "yellow-pages": "directory", "bill": "directory",
	"departures": "tables", "parish-register": "register", "statement": "tables", "price-list": "tables", "standings": "tables",
	"comparison": "features", "tax-form": "form", "office-report": "report", "office-newsletter": "newspaper", "office-letter": "letter",
	"office-minutes": "minutes", "office-manual": "report", "dictionary": "glossary", "statute": "marginalia", "condensed": "transcript",
	"table-across": "tables", "order": "invoice", "agenda": "glossary"}

func kinName(name string) string {
	if group := kin[name]; group != "" {
		return group
	}
	return name
}

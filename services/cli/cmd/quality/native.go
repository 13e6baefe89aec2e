package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsNative takes files with a text of their own. Those of the folder hostile are made to be read otherwise, and
// those of the folder ocr have what a recognition left in them.
func wantsNative(f pdftest.CorpusFile) bool {
	return isPDF(f) && f.HasText && f.TopFolder() != "hostile" && f.TopFolder() != "ocr"
}

const (
	// agreement is how far the peers have to agree, in words or in their order, for a file to count: where they do not,
	// a difference tells as much of them as of Inkstream.
	agreement = 0.97
	// fewWords is how many words a file must have to count: in a shorter one a single word is too much of the figure.
	fewWords = 20
	// lowF1 and lowOrder are below what files are listed as outliers.
	lowF1, lowOrder = 0.97, 0.97
	// The target.
	minMedianF1 = 0.985
)

// textAgreement is how the texts of a file agree.
type textAgreement struct {
	*sample
	words              int
	peers, peersOrder  float64    // of the peers with each other
	f1, order          float64    // the means of ours with each of them
	pdftotext, mutool  [2]float64 // F1 and order of ours with each of them
	counts, orderCount bool
	note               string
}

func scoreNative(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	sec := section{method: fmt.Sprintf("Word F1, regardless of order, and likeness of order (one less the edit distance of the words that both have, "+
		"over their number) of text.txt against pdftotext and mutool; the figure is the mean of both. Normalised as for recognition. Words "+
		"recognised in pictures, which the two lack, do not count. A file "+
		"counts where the two agree with each other to at least %.2f and have at least %d words; its order where they agree in that too.", agreement, fewWords)}
	if !b.peers.areInstalled("pdftotext", "mutool") {
		sec.method += " Not measured: pdftotext or mutool is not installed."
		return sec, nil
	}
	all, err := forEachSample(ctx, b, samples,
		func(ctx context.Context, s *sample) (textAgreement, error) { return b.compareNativeTexts(ctx, s) })
	if err != nil {
		return section{}, err
	}
	var f1s, orders []float64
	for _, a := range all {
		if a.counts {
			f1s = append(f1s, a.f1)
		}
		if a.orderCount {
			orders = append(orders, a.order)
		}
	}
	sec.summary = []summaryFigure{
		{"median word F1 against pdftotext and mutool", formatRatio(medianOf(f1s)), absent,
			fmt.Sprintf("≥ %.3f", minMedianF1), medianOf(f1s) >= minMedianF1},
		{"mean word F1", formatRatio(meanOf(f1s)), absent, "", false},
		{"median likeness of order", formatRatio(medianOf(orders)), absent, "", false},
		{fmt.Sprintf("files with a word F1 below %.2f", lowF1), fmt.Sprintf("%d of %d", countBelow(f1s, lowF1), len(f1s)),
			absent, "", false},
		{fmt.Sprintf("files with a likeness of order below %.2f", lowOrder),
			fmt.Sprintf("%d of %d", countBelow(orders, lowOrder), len(orders)), absent, "", false},
	}
	columns := []string{
		"File", "Words", "F1", "Order", "F1 pdftotext", "F1 mutool", "Peers' F1", "Order pdftotext", "Order mutool",
		"Peers' order", "Note"}
	counted := reportTable{title: "Native text by file, worst first", columns: columns}
	others := reportTable{title: "Files that do not count, because the peers do not agree or there are few words",
		columns: columns}
	slices.SortStableFunc(all, func(x, y textAgreement) int { return cmp.Compare(x.lowestFigure(), y.lowestFigure()) })
	for _, a := range all {
		order := absent
		if a.orderCount {
			order = formatRatio(a.order)
		}
		row := []string{a.Path, fmt.Sprint(a.words), formatRatio(a.f1), order, formatRatio(a.pdftotext[0]),
			formatRatio(a.mutool[0]), formatRatio(a.peers),
			formatRatio(a.pdftotext[1]), formatRatio(a.mutool[1]), formatRatio(a.peersOrder), a.note}
		if a.counts {
			counted.addRow(row...)
		} else {
			others.addRow(row...)
		}
	}
	sec.tables = []reportTable{counted, others}
	return sec, nil
}

// lowestFigure is the lowest figure that counts.
func (a textAgreement) lowestFigure() float64 {
	if a.orderCount {
		return min(a.f1, a.order)
	}
	return a.f1
}

// compareNativeTexts compares the three texts of a file.
func (b *qualityRun) compareNativeTexts(ctx context.Context, s *sample) (textAgreement, error) {
	a := textAgreement{sample: s}
	ours, ok := s.readArtifact("text.txt")
	if !ok {
		a.note = "text.txt " + absentArtifact + ": " + s.state
	}
	poppler, err := b.peers.cachedText(ctx, s.CorpusFile, "pdftotext", "-enc", "UTF-8", "-cropbox", inputFile, "-")
	mupdf := ""
	if err == nil {
		mupdf, err = b.peers.cachedText(ctx, s.CorpusFile, "mutool", "draw", "-q", "-F", "txt", inputFile)
	}
	if note, err := noteForFailure(err); err != nil || note != "" {
		a.note = note
		return a, err
	}
	ours, poppler, mupdf = foldForComparison(ours), foldForComparison(poppler), foldForComparison(mupdf)
	a.words = len(score.SplitWords(poppler))
	a.peers, a.peersOrder = score.WordF1(poppler, mupdf), score.WordOrder(poppler, mupdf)
	var pictures []string
	if doc := s.parsedDocument(); doc != nil {
		pictures = doc.recognisedWords()
		a.note = strings.TrimSpace(a.note + " " + doc.describeOutcomes())
	}
	a.pdftotext = [2]float64{nativeF1(poppler, ours, pictures), score.WordOrder(poppler, ours)}
	a.mutool = [2]float64{nativeF1(mupdf, ours, pictures), score.WordOrder(mupdf, ours)}
	a.f1 = (a.pdftotext[0] + a.mutool[0]) / 2
	a.order = (a.pdftotext[1] + a.mutool[1]) / 2
	a.counts = a.words >= fewWords && a.peers >= agreement
	a.orderCount = a.counts && a.peersOrder >= agreement
	return a, nil
}

// nativeF1 is the F1 of the words of a text, where words that were recognised in pictures and that the peer, which
// recognises none, lacks do not count.
func nativeF1(peer, ours string, pictures []string) float64 {
	want, got := comparedWords(peer), comparedWords(ours)
	more := subtractWords(got, want)
	read := len(more) - len(subtractWords(more, pictures))
	return score.F1(len(got)-len(more), len(want), len(got)-read)
}

// foldForComparison folds what readers write differently without reading it differently.
func foldForComparison(text string) string {
	return score.NormaliseText(score.StripPDFToTextMarks(text), score.Options{Lenient: true})
}

func countBelow(v []float64, bound float64) int {
	n := 0
	for _, x := range v {
		if x < bound {
			n++
		}
	}
	return n
}

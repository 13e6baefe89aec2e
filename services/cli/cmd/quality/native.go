package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
	"inkstream.dev/pkg/quality"
)

// wantsNative takes files with a text of their own. Those of the folder hostile are made to be read otherwise, and those of the folder ocr
// have what a recognition left in them.
func wantsNative(f pdftest.CorpusFile) bool {
	return isPDF(f) && f.HasText && f.Folder() != "hostile" && f.Folder() != "ocr"
}

const (
	// agreement is how far the peers have to agree, in words or in their order, for a file to count: where they do not, a difference tells
	// as much of them as of us.
	agreement = 0.97
	// fewWords is how many words a file must have to count: in a shorter one a single word is too much of the figure.
	fewWords = 20
	// lowF1 and lowOrder are below what files are listed as outliers.
	lowF1, lowOrder = 0.97, 0.97
	// The target.
	minMedianF1 = 0.985
)

// agreeing is how the texts of a file agree.
type agreeing struct {
	*sample
	words              int
	peers, peersOrder  float64    // of the peers with each other
	f1, order          float64    // the means of ours with each of them
	pdftotext, mutool  [2]float64 // F1 and order of ours with each of them
	counts, orderCount bool
	note               string
}

func scoreNative(ctx context.Context, b *bench, samples []*sample) (section, error) {
	sec := section{how: fmt.Sprintf("Word F1, regardless of order, and likeness of order (one less the edit distance of the words that both have, "+
		"over their number) of text.txt against pdftotext and mutool; the figure is the mean of both. Normalised as for recognition. Words "+
		"recognised in pictures, which the two lack, do not count. A file "+
		"counts where the two agree with each other to at least %.2f and have at least %d words; its order where they agree in that too.", agreement, fewWords)}
	if !b.peers.has("pdftotext", "mutool") {
		sec.how += " Not measured: pdftotext or mutool is not installed."
		return sec, nil
	}
	all, err := each(ctx, b, samples, func(ctx context.Context, s *sample) (agreeing, error) { return b.agree(ctx, s) })
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
	sec.summary = []figure{
		{"median word F1 against pdftotext and mutool", ratio(median(f1s)), absent, fmt.Sprintf("≥ %.3f", minMedianF1), median(f1s) >= minMedianF1},
		{"mean word F1", ratio(mean(f1s)), absent, "", false},
		{"median likeness of order", ratio(median(orders)), absent, "", false},
		{fmt.Sprintf("files with a word F1 below %.2f", lowF1), fmt.Sprintf("%d of %d", below(f1s, lowF1), len(f1s)), absent, "", false},
		{fmt.Sprintf("files with a likeness of order below %.2f", lowOrder), fmt.Sprintf("%d of %d", below(orders, lowOrder), len(orders)), absent, "", false},
	}
	columns := []string{
		"File", "Words", "F1", "Order", "F1 pdftotext", "F1 mutool", "Peers' F1", "Order pdftotext", "Order mutool", "Peers' order", "Note"}
	counted := table{title: "Native text by file, worst first", columns: columns}
	others := table{title: "Files that do not count, because the peers do not agree or there are few words", columns: columns}
	slices.SortStableFunc(all, func(x, y agreeing) int { return cmp.Compare(x.worst(), y.worst()) })
	for _, a := range all {
		order := absent
		if a.orderCount {
			order = ratio(a.order)
		}
		row := []string{a.Path, fmt.Sprint(a.words), ratio(a.f1), order, ratio(a.pdftotext[0]), ratio(a.mutool[0]), ratio(a.peers),
			ratio(a.pdftotext[1]), ratio(a.mutool[1]), ratio(a.peersOrder), a.note}
		if a.counts {
			counted.add(row...)
		} else {
			others.add(row...)
		}
	}
	sec.tables = []table{counted, others}
	return sec, nil
}

// worst is the lowest figure that counts.
func (a agreeing) worst() float64 {
	if a.orderCount {
		return min(a.f1, a.order)
	}
	return a.f1
}

// agree compares the three texts of a file.
func (b *bench) agree(ctx context.Context, s *sample) (agreeing, error) {
	a := agreeing{sample: s}
	ours, ok := s.read("text.txt")
	if !ok {
		a.note = "text.txt " + absentArtifact + ": " + s.state
	}
	poppler, err := b.peers.text(ctx, s.CorpusFile, "pdftotext", "-enc", "UTF-8", "-cropbox", inputFile, "-")
	mupdf := ""
	if err == nil {
		mupdf, err = b.peers.text(ctx, s.CorpusFile, "mutool", "draw", "-q", "-F", "txt", inputFile)
	}
	if note, err := excuse(err); err != nil || note != "" {
		a.note = note
		return a, err
	}
	ours, poppler, mupdf = comparable(ours), comparable(poppler), comparable(mupdf)
	a.words = len(score.Words(poppler))
	a.peers, a.peersOrder = score.WordF1(poppler, mupdf), score.Order(poppler, mupdf)
	var pictures []string
	if doc := s.doc(); doc != nil {
		pictures = doc.recognisedWords()
		a.note = strings.TrimSpace(a.note + " " + doc.outcomes())
	}
	a.pdftotext = [2]float64{nativeF1(poppler, ours, pictures), score.Order(poppler, ours)}
	a.mutool = [2]float64{nativeF1(mupdf, ours, pictures), score.Order(mupdf, ours)}
	a.f1 = (a.pdftotext[0] + a.mutool[0]) / 2
	a.order = (a.pdftotext[1] + a.mutool[1]) / 2
	a.counts = a.words >= fewWords && a.peers >= agreement
	a.orderCount = a.counts && a.peersOrder >= agreement
	return a, nil
}

// nativeF1 is the F1 of the words of a text, where words that were recognised in pictures and that the peer, which recognises none, lacks do
// not count.
func nativeF1(peer, ours string, pictures []string) float64 {
	want, got := words(peer), words(ours)
	more := without(got, want)
	read := len(more) - len(without(more, pictures))
	return quality.F1(len(got)-len(more), len(want), len(got)-read)
}

// comparable folds what readers write differently without reading it differently.
func comparable(text string) string {
	return score.Normalise(score.Unmarked(text), score.Options{Lenient: true})
}

func below(v []float64, bound float64) int {
	n := 0
	for _, x := range v {
		if x < bound {
			n++
		}
	}
	return n
}

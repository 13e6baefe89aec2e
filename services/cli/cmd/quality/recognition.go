package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsRecognition takes scans whose text is known.
func wantsRecognition(f pdftest.CorpusFile) bool { return f.Has("ocr-truth") && isPDF(f) }

func isPDF(f pdftest.CorpusFile) bool { return strings.HasSuffix(f.Path, ".pdf") }

// The readers that are compared.
const (
	inkstream = iota
	tesseractAlone
	ocrmypdf
	readers
)

var readerNames = [readers]string{"Inkstream", "tesseract", "OCRmyPDF"}

// reading is how well each reader read a file; nil where a reader could not be run. A reader that failed has read nothing.
type reading struct {
	*sample
	by   [readers]*score.Result
	note string
}

func scoreRecognition(ctx context.Context, b *bench, samples []*sample) (section, error) {
	readings, err := each(ctx, b, samples, func(ctx context.Context, s *sample) (reading, error) { return b.recognise(ctx, s) })
	if err != nil {
		return section{}, err
	}
	sec := section{how: "Character and word error rates (CER, WER) against the known text of scans, as ocr_score.py --lenient has them: Unicode " +
		"NFKC, white space, quotes, dashes and hyphens at line ends folded; case does not count where the truth is in capitals only. A sum over " +
		"files is that of their edits over that of their characters. F1 is that of words regardless of order: a high CER with a high F1 is " +
		"wrong order, with a low one wrong letters. A group is worse by as many characters as more are wrong than for the better peer. Peers: pdftoppm at 300 dpi with the tesseract command, and OCRmyPDF, which turns and " +
		"straightens pages, with the same models and languages. Target: in every group at least as good as the better peer, and better in the groups " +
		strings.Join(hardGroups, ", ") + ", as far as there are such files.",
	}
	byGroup := table{title: "Recognition by group", columns: []string{"Group", "Files", "CER", "tesseract", "OCRmyPDF", "WER", "tesseract", "OCRmyPDF", ""}}
	all := total(readings)
	sec.summary = append(sec.summary,
		figure{"CER, all scans", rate(all[inkstream], cer), bestPeer(all, cer), "≤ peer", !worse(all, cer)},
		figure{"WER, all scans", rate(all[inkstream], wer), bestPeer(all, wer), "≤ peer", !worse(all, wer)})
	groups := map[string][]reading{}
	for _, r := range readings {
		for _, g := range groupsOf(r.sample) {
			groups[g] = append(groups[g], r)
		}
	}
	var asGood, asGoodWords, hard, won int
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		sum := total(groups[g])
		verdict := ""
		if n := behind(sum); n > 0 {
			verdict = fmt.Sprintf("worse by %d", n)
		} else {
			asGood++
		}
		asGoodWords += one(!worse(sum, wer))
		if slices.Contains(hardGroups, g) {
			hard++
			won += one(ahead(sum, cer))
		}
		byGroup.add(append(append([]string{g, fmt.Sprint(len(groups[g]))}, rates(sum)...), verdict)...)
	}
	byGroup.add(append(append([]string{"all", fmt.Sprint(len(readings))}, rates(all)...), "")...)
	of := func(what string, n, of int) figure {
		return figure{what, fmt.Sprintf("%d of %d", n, of), absent, "all", n == of}
	}
	sec.summary = append(sec.summary, of("groups with a CER not above the better peer's", asGood, len(groups)),
		of("groups with a WER not above the better peer's", asGoodWords, len(groups)),
		of("groups of skewed, noisy, low-resolution or inverted scans with a CER below the better peer's", won, hard))

	byFile := table{title: "Recognition by file, worst against the peers first", columns: []string{
		"File", "CER", "tesseract", "OCRmyPDF", "WER", "tesseract", "OCRmyPDF", "F1", "Note"}}
	slices.SortStableFunc(readings, func(x, y reading) int { return cmp.Compare(behind(y.by), behind(x.by)) })
	for _, r := range readings {
		byFile.add(append(append([]string{r.Path}, rates(r.by)...), ratio(r.by[inkstream].F1), r.note)...)
	}
	sec.tables = []table{byGroup, byFile}
	return sec, nil
}

// recognise scores what every reader made of a scan.
func (b *bench) recognise(ctx context.Context, s *sample) (reading, error) {
	truth, err := os.ReadFile(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath)))
	if err != nil {
		return reading{}, err
	}
	o := score.Options{Lenient: true, IgnoreCase: strings.Contains(s.Notes, "--ignore-case")}
	r := reading{sample: s}
	compare := func(reader int, text string) {
		res := score.Compare(string(truth), text, o)
		r.by[reader] = &res
	}
	text, ok := s.read("text.txt")
	if !ok {
		r.note = "text.txt " + absentArtifact + ": " + s.state
	}
	compare(inkstream, text)
	if b.peers.has("pdftoppm", "tesseract") {
		text, err := b.peers.tesseract(ctx, s.CorpusFile, s.languages())
		if err != nil && !errors.Is(err, errPeer) {
			return r, err
		}
		compare(tesseractAlone, text)
	}
	if b.peers.has("ocrmypdf", "pdftotext") {
		text, err := b.peers.ocrmypdfText(ctx, s.CorpusFile, s.languages())
		if err != nil && !errors.Is(err, errPeer) {
			return r, err
		}
		compare(ocrmypdf, text)
	}
	return r, nil
}

// behind is by how many characters Inkstream is worse than the better peer.
func behind(by [readers]*score.Result) int {
	peer, found := better(by, cer)
	if !found {
		return 0
	}
	return by[inkstream].CharEdits - by[peer].CharEdits
}

// hardGroups are those in which we are to be better than the peers.
var hardGroups = []string{"skew", "noise", "made lowdpi", "inverted"}

// recipe finds what was done to a made scan.
var recipe = regexp.MustCompile(`; recipe (\S+)`)

// groupsOf names the groups that a scan is in: the collection it is from, its tags, and what was done to it if it was made.
func groupsOf(s *sample) []string {
	groups := []string{"from " + strings.Split(s.Path, "/")[1]}
	if m := recipe.FindStringSubmatch(s.Notes); m != nil {
		groups = append(groups, "made "+m[1])
	}
	for _, tag := range s.Tags {
		if tag != "ocr-truth" && tag != "scanned" { // nearly all are
			groups = append(groups, tag)
		}
	}
	return groups
}

// total sums the edits of several files, by reader.
func total(readings []reading) [readers]*score.Result {
	var sums [readers]*score.Result
	for i := range sums {
		for _, r := range readings {
			if r.by[i] == nil {
				continue
			}
			if sums[i] == nil {
				sums[i] = &score.Result{}
			}
			s, f := sums[i], r.by[i]
			s.CharEdits, s.TruthChars = s.CharEdits+f.CharEdits, s.TruthChars+f.TruthChars
			s.WordEdits, s.TruthWords = s.WordEdits+f.WordEdits, s.TruthWords+f.TruthWords
		}
	}
	return sums
}

func cer(r *score.Result) float64 { return float64(r.CharEdits) / float64(max(1, r.TruthChars)) }
func wer(r *score.Result) float64 { return float64(r.WordEdits) / float64(max(1, r.TruthWords)) }

func rate(r *score.Result, of func(*score.Result) float64) string {
	if r == nil {
		return absent
	}
	return ratio(of(r))
}

// rates returns the cells of all readers' CER and WER.
func rates(by [readers]*score.Result) []string {
	var out []string
	for _, of := range []func(*score.Result) float64{cer, wer} {
		for _, r := range by {
			out = append(out, rate(r, of))
		}
	}
	return out
}

// better returns the peer with the lower rate; nil if none was run.
func better(by [readers]*score.Result, of func(*score.Result) float64) (peer int, found bool) {
	for i := inkstream + 1; i < readers; i++ {
		if by[i] != nil && (!found || of(by[i]) < of(by[peer])) {
			peer, found = i, true
		}
	}
	return peer, found
}

func worse(by [readers]*score.Result, of func(*score.Result) float64) bool {
	peer, found := better(by, of)
	return found && of(by[inkstream]) > of(by[peer])
}

func ahead(by [readers]*score.Result, of func(*score.Result) float64) bool {
	peer, found := better(by, of)
	return !found || of(by[inkstream]) < of(by[peer])
}

func bestPeer(by [readers]*score.Result, of func(*score.Result) float64) string {
	peer, found := better(by, of)
	if !found {
		return absent
	}
	return ratio(of(by[peer])) + " " + readerNames[peer]
}

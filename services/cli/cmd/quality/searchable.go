package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// wantsSearchable takes the same files as the images.
func wantsSearchable(f pdftest.CorpusFile) bool { return wantsImages(f) }

// The targets.
const (
	minSearchF1   = 0.99
	wordTolerance = 2.0    // points
	bytesPerPage  = 20_000 // that a text layer may add
	pixelDPI      = "100"
)

// searchableResult is what is measured of a searchable PDF.
type searchableResult struct {
	*sample
	exists                bool
	withheld              bool // as is meant: the document is signed, and would have to be altered
	recognised            int  // pages with recognised words
	f1                    float64
	rawF1                 float64 // in the order of the file
	placement             score.Placement
	changed               []int   // pages that look otherwise than in the original
	addedBytesPerPage     float64 // bytes a page
	peerAddedBytesPerPage float64 // of OCRmyPDF's, where it was run
	peerRan               bool
	valid                 bool // for qpdf, or no worse than the original
	note                  string
}

func scoreSearchable(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	sec := section{method: fmt.Sprintf("searchable.pdf of every job whose document was not refused. Text: word F1 of what pdftotext reads, beyond what it reads in the "+
		"original, against the recognised words in document.json; raw: the same of pdftotext -raw, which leaves the words in the order of the file. "+
		"Without -raw it takes words that lie on others, those of the page itself or of a recognition that saw things, for one. "+
		"Places: the boxes of those words as pdftotext -bbox has them, in either order, each edge within %g points. Pixels: every page at %s dpi as pdftoppm draws it, against the original. Size: at most the "+
		"original's and %d kB a page. qpdf --check: no worse than for the original. Of signed documents that would have to be altered there is none. Peer: OCRmyPDF, for size.",
		wordTolerance, pixelDPI, bytesPerPage/1000)}
	if !b.peers.areInstalled("pdftotext", "pdftoppm", "qpdf") {
		sec.method += " Not measured: pdftotext, pdftoppm or qpdf is not installed."
		return sec, nil
	}
	all, err := forEachSample(ctx, b, samples,
		func(ctx context.Context, s *sample) (searchableResult, error) { return b.measureSearchable(ctx, s) })
	if err != nil {
		return section{}, err
	}
	sec.summary = summariseSearchable(all)
	slices.SortStableFunc(all, func(x, y searchableResult) int { return cmp.Compare(x.qualityRank(), y.qualityRank()) })
	t := reportTable{title: "Searchable PDF by file, worst first", columns: []string{
		"File", "Recognised pages", "Text F1", "Raw F1", "Words", "In place", "Across only", "Not found", "Worst, pt",
		"Pages changed", "Bytes a page", "OCRmyPDF", "qpdf", "Note"}}
	fine := 0
	for _, s := range all {
		if s.exists && s.recognised == 0 && s.qualityRank() == 1 {
			fine++
			continue
		}
		t.addRow(s.tableRow()...)
	}
	t.title += fmt.Sprintf(" (%d files without recognised pages, in which nothing is wrong, are left out)", fine)
	sec.tables = []reportTable{t}
	return sec, nil
}

func summariseSearchable(all []searchableResult) []summaryFigure {
	var files, scans, text, raw, looks, small, sound int
	var place score.Placement
	var grown, peerGrown []float64
	for _, s := range all {
		if !s.shouldHaveArtifacts() || s.withheld {
			continue
		}
		files++
		looks += boolToInt(s.exists && len(s.changed) == 0)
		small += boolToInt(s.exists && s.addedBytesPerPage <= bytesPerPage)
		sound += boolToInt(s.exists && s.valid)
		if s.recognised == 0 {
			continue
		}
		scans++
		text += boolToInt(s.exists && s.f1 >= minSearchF1)
		raw += boolToInt(s.exists && s.rawF1 >= minSearchF1)
		place = place.Add(s.placement)
		if s.exists && s.peerRan {
			grown, peerGrown = append(grown, s.addedBytesPerPage), append(peerGrown, s.peerAddedBytesPerPage)
		}
	}
	added, peer := absent, absent
	if len(grown) > 0 {
		added, peer = fmt.Sprintf("%.0f", medianOf(grown)), fmt.Sprintf("%.0f OCRmyPDF", medianOf(peerGrown))
	}
	of := func(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }
	return []summaryFigure{
		{fmt.Sprintf("files whose text pdftotext gives back with an F1 of %.2f", minSearchF1), of(text, scans), absent,
			"all", text == scans},
		{fmt.Sprintf("files whose text pdftotext -raw gives back with an F1 of %.2f", minSearchF1), of(raw, scans), absent,
			"all", raw == scans},
		{fmt.Sprintf("words within %g points of their places", wordTolerance), of(place.Both, place.Words), absent, "all",
			place.Both == place.Words},
		{"files that look like the original in every pixel", of(looks, files), absent, "all", looks == files},
		{"files within the bound of their size", of(small, files), absent, "all", small == files},
		{"files in which qpdf finds nothing new", of(sound, files), absent, "all", sound == files},
		{"bytes added a page, median", added, peer, "", false},
	}
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// qualityRank is 1 for a file in which nothing is wrong, and less the more is.
func (s searchableResult) qualityRank() float64 {
	switch {
	case s.withheld:
		return 1
	case !s.exists:
		return -1
	}
	share := 1.0
	if s.recognised > 0 {
		share = min(s.f1, s.rawF1) * float64(s.placement.Both) / float64(max(1, s.placement.Words))
	}
	return share - float64(boolToInt(len(s.changed) > 0)+boolToInt(s.addedBytesPerPage > bytesPerPage)+boolToInt(!s.valid))
}

func (s searchableResult) tableRow() []string {
	if !s.exists {
		return append(append([]string{s.Path}, slices.Repeat([]string{absent}, 12)...), s.note)
	}
	f1, raw, peer, qpdf := absent, absent, absent, "clean"
	if s.recognised > 0 {
		f1, raw = formatRatio(s.f1), formatRatio(s.rawF1)
	}
	if s.peerRan {
		peer = fmt.Sprintf("%.0f", s.peerAddedBytesPerPage)
	}
	if !s.valid {
		qpdf = "worse"
	}
	return []string{s.Path, fmt.Sprint(s.recognised), f1, raw, fmt.Sprint(s.placement.Words),
		fmt.Sprint(s.placement.Both), fmt.Sprint(s.placement.Across - s.placement.Both),
		fmt.Sprint(s.placement.Missing), fmt.Sprintf("%.1f", s.placement.Worst), formatPageList(s.changed),
		fmt.Sprintf("%.0f", s.addedBytesPerPage), peer, qpdf, s.note}
}

func formatPageList(pages []int) string {
	if len(pages) > 5 {
		return fmt.Sprintf("%d pages", len(pages))
	}
	return strings.Trim(fmt.Sprint(pages), "[]")
}

// measureSearchable measures the searchable PDF of a file.
func (b *qualityRun) measureSearchable(ctx context.Context, s *sample) (searchableResult, error) {
	r := searchableResult{sample: s}
	doc := s.parsedDocument()
	if doc == nil {
		r.note = "document.json " + absentArtifact + ": " + s.state
		return r, nil
	}
	for i := range doc.Pages {
		if n := len(doc.Pages[i].recognisedBoxes()); n > 0 {
			r.recognised++
			r.placement.Words += n
		}
	}
	pdf := s.artifactPath("searchable.pdf")
	r.placement.Missing = r.placement.Words // until they are found
	info, err := os.Stat(pdf)
	if errors.Is(err, fs.ErrNotExist) {
		r.note = "searchable.pdf " + absentArtifact
		if r.withheld = s.isSearchableWithheld(); r.withheld {
			r.note += ": signed, and would have to be altered"
		}
		return r, nil
	}
	if err != nil {
		return r, err
	}
	r.exists = true
	r.addedBytesPerPage = float64(info.Size()-s.Bytes) / float64(max(1, len(doc.Pages)))
	text, err := noteForFailure(r.compareText(ctx, b.peers, doc, pdf))
	if err != nil {
		return r, err
	}
	looks, err := noteForFailure(r.compareAppearance(ctx, b.peers, pdf))
	if err != nil {
		return r, err
	}
	r.note = strings.TrimSpace(text + " " + looks)
	if r.valid, err = passesQpdf(ctx, s.CorpusFile, pdf); err != nil {
		return r, err
	}
	return r, r.measurePeerSize(ctx, b.peers, len(doc.Pages))
}

// isSearchableWithheld reports whether metadata.json says that there is no searchable.pdf because the document is signed.
func (s *sample) isSearchableWithheld() bool {
	var m struct {
		Artifacts struct {
			SearchablePDF struct {
				Reason string `json:"reason"`
			} `json:"searchablePdf"`
		} `json:"artifacts"`
	}
	data, _ := s.readArtifact("metadata.json") // without it, nothing says so
	return json.Unmarshal([]byte(data), &m) == nil && m.Artifacts.SearchablePDF.Reason == "signed"
}

// compareText compares words and their places on the recognised pages.
func (s *searchableResult) compareText(ctx context.Context, peers *peerPrograms, doc *document, pdf string) error {
	if s.recognised == 0 {
		return nil
	}
	var places [2][][]score.Box
	for i, order := range [2]struct {
		f1   *float64
		args []string
	}{{&s.f1, nil}, {&s.rawF1, []string{"-raw"}}} {
		args := append([]string{"-enc", "UTF-8", "-cropbox"}, order.args...)
		text, err := runCommand(ctx, "pdftotext", append(slices.Clone(args), pdf, "-")...)
		if err != nil {
			return fmt.Errorf("%w: %w", errPeer, err)
		}
		before, err := peers.cachedText(ctx, s.CorpusFile, "pdftotext", append(slices.Clone(args), inputFile, "-")...)
		if err != nil {
			return err
		}
		*order.f1 = doc.recoveredF1(strings.Split(string(text), "\f"), strings.Split(before, "\f"))
		boxes, err := runCommand(ctx, "pdftotext", append(args, "-bbox", pdf, "-")...)
		if err != nil {
			return fmt.Errorf("%w: %w", errPeer, err)
		}
		if places[i], err = score.ReadBoxes(bytes.NewReader(boxes)); err != nil {
			return err
		}
	}
	s.placement = score.Placement{}
	for i := range doc.Pages {
		p := &doc.Pages[i]
		found := slices.Concat(pageNumbered(places[0], p.Number), pageNumbered(places[1], p.Number))
		s.placement = s.placement.Add(score.MatchPlacements(p.recognisedBoxes(), found, wordTolerance))
	}
	return nil
}

// recoveredF1 returns the F1 of the recognised words in the text of the pages, of which the words that were there
// before do not count.
func (d *document) recoveredF1(now, before []string) float64 {
	var want, got []string
	for i := range d.Pages {
		p := &d.Pages[i]
		read := comparedWords(p.recognisedText())
		if len(read) == 0 {
			continue
		}
		want = append(want, read...)
		got = append(got, subtractWords(comparedWords(pageNumbered(now, p.Number)),
			comparedWords(pageNumbered(before, p.Number)))...)
	}
	return score.F1(len(want)-len(subtractWords(want, got)), len(want), len(got))
}

// comparedWords returns the words of a text as they are compared.
func comparedWords(text string) []string {
	out := score.SplitWords(score.NormaliseText(text, score.Options{Lenient: true}))
	for i, w := range out {
		out[i] = score.SortRightToLeft(w)
	}
	return out
}

// pageNumbered returns the page with a number, from 1; nothing if there is none.
func pageNumbered[T any](pages []T, number int) T {
	var none T
	if number < 1 || number > len(pages) {
		return none
	}
	return pages[number-1]
}

// subtractWords returns the words of a less those of b, each as often as b has it.
func subtractWords(a, b []string) []string {
	count := map[string]int{}
	for _, w := range b {
		count[w]++
	}
	var out []string
	for _, w := range a {
		if count[w]--; count[w] < 0 {
			out = append(out, w)
		}
	}
	return out
}

// compareAppearance finds the pages that look otherwise than in the original.
func (s *searchableResult) compareAppearance(ctx context.Context, peers *peerPrograms, pdf string) error {
	if same, err := haveSameBytes(pdf, s.Abs); same || err != nil {
		return err
	}
	dir, err := peers.cachedOutput(ctx, s.CorpusFile, "pdftoppm -r "+pixelDPI+", digests",
		func(ctx context.Context, dir string) error {
			digests, err := drawnPageDigests(ctx, s.Abs)
			if err != nil {
				return err
			}
			data, err := json.Marshal(digests)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "digests.json"), data, 0o600)
		})
	if err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(dir, "digests.json"))
	if err != nil {
		return err
	}
	var then [][]byte
	if err := json.Unmarshal(data, &then); err != nil {
		return err
	}
	now, err := drawnPageDigests(ctx, pdf) // as far as it goes, if it cannot be read to its end
	for i := range max(len(then), len(now)) {
		if i >= len(then) || i >= len(now) || !bytes.Equal(then[i], now[i]) {
			s.changed = append(s.changed, i+1)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errPeer, err)
	}
	return nil
}

func haveSameBytes(a, b string) (bool, error) {
	x, err := os.ReadFile(a)
	if err != nil {
		return false, err
	}
	y, err := os.ReadFile(b)
	return bytes.Equal(x, y), err
}

// drawnPageDigests returns a digest of each page as pdftoppm draws it.
func drawnPageDigests(ctx context.Context, pdf string) ([][]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the program where what it writes is not understood
	cmd := exec.CommandContext(ctx, "pdftoppm", "-r", pixelDPI, pdf)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pages, err := readPageDigests(bufio.NewReaderSize(out, 1<<16))
	if err != nil {
		cancel()
	}
	return pages, errors.Join(err, cmd.Wait())
}

// readPageDigests reads portable pixmaps, as pdftoppm writes them one after the other, and returns a digest of each.
func readPageDigests(r *bufio.Reader) ([][]byte, error) {
	var out [][]byte
	for {
		head := ""
		for range 3 { // P6, width and height, depth
			line, err := r.ReadString('\n')
			if errors.Is(err, io.EOF) && head+line == "" {
				return out, nil
			}
			if err != nil {
				return out, fmt.Errorf("pixmap: %w", err)
			}
			head += line
		}
		var width, height, depth int64
		if _, err := fmt.Sscanf(head, "P6\n%d %d\n%d\n", &width, &height, &depth); err != nil {
			return out, fmt.Errorf("pixmap: %w", err)
		}
		h := sha256.New()
		h.Write([]byte(head))
		if _, err := io.CopyN(h, r, width*height*3); err != nil {
			return out, fmt.Errorf("pixmap: %w", err)
		}
		out = append(out, h.Sum(nil))
	}
}

// passesQpdf reports whether qpdf finds a file no worse than its original.
func passesQpdf(ctx context.Context, f pdftest.CorpusFile, pdf string) (bool, error) {
	now, err := qpdfExitCode(ctx, pdf)
	if err != nil || now == 0 {
		return err == nil, err
	}
	then, err := qpdfExitCode(ctx, f.Abs)
	// 3 are warnings and 2 are errors.
	return now == then || now == 3 && then == 2, err
}

func qpdfExitCode(ctx context.Context, pdf string) (int, error) {
	_, err := runCommand(ctx, "qpdf", "--check", pdf)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// measurePeerSize says how much OCRmyPDF adds, for files that it recognises for another measure as well.
func (s *searchableResult) measurePeerSize(ctx context.Context, peers *peerPrograms, pages int) error {
	if s.recognised == 0 || !wantsRecognition(s.CorpusFile) || !peers.areInstalled("ocrmypdf") {
		return nil
	}
	dir, err := peers.runOCRmyPDF(ctx, s.CorpusFile, s.tesseractLanguages())
	if note, err := noteForFailure(err); err != nil || note != "" {
		return err
	}
	info, err := os.Stat(filepath.Join(dir, "out.pdf"))
	if err != nil {
		return err
	}
	s.peerAddedBytesPerPage, s.peerRan = float64(info.Size()-s.Bytes)/float64(max(1, pages)), true
	return nil
}

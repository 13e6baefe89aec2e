package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"inkstream.dev/pkg/agree"
	"inkstream.dev/pkg/agree/agreetest"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr"
)

// verificationTrials is how often each corruption is tried on a page: over 60 pages a share near its target is then known
// to a hundredth.
const verificationTrials = 10

// verifiedPage is a scan of one page, its true words, and what the engine reads on it.
type verifiedPage struct {
	*sample
	truth   []string
	raster  *os.File
	reading *inkstreamv1.Page
}

// verificationResult is what came of the page's true text and of its corruptions.
type verificationResult struct {
	path    string
	located [][2]int // of each corruption: how often it was located, and tried
	alarms  []agree.Kind
	moved   [2]int // doubts that another order of the text added, and trials
	worse   bool   // the true text would have lost words, or not have been taken
	// unjudged says that the witness reads the page too badly to tell what is wrong.
	unjudged bool
}

// scoreVerification corrupts true texts of scans and holds them against the engine's reading, as what a vision model
// writes is held.
func scoreVerification(ctx context.Context, b *qualityRun, samples []*sample) (section, error) {
	if !b.peers.areInstalled("pdftoppm") {
		return section{method: "Not measured: pdftoppm is missing."}, nil
	}
	seed := b.seed
	if seed == 0 {
		seed = uint64(time.Now().Unix())
	}
	cfg := ocr.DefaultEngineConfig()
	cfg.Workers, cfg.Languages = b.jobs, "eng"
	engine, err := ocr.NewEngine(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return section{}, err
	}
	defer func() { _ = engine.Close() }() // nothing more is read
	pages, err := forEachSample(ctx, b, samples, func(ctx context.Context, s *sample) (*verifiedPage, error) {
		return b.readVerifiedPage(ctx, engine, s)
	})
	if err != nil {
		return section{}, err
	}
	pages = slices.DeleteFunc(pages, func(p *verifiedPage) bool { return p == nil })
	results := make([]verificationResult, len(pages))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(b.jobs)
	for i, p := range pages {
		g.Go(func() (err error) {
			defer p.raster.Close()
			other := pages[(i+1)%len(pages)].truth
			if results[i], err = p.corrupt(gctx, engine, rand.New(rand.NewPCG(seed, uint64(i))), other); err != nil {
				return fmt.Errorf("%s: %w", p.Path, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return section{}, err
	}
	return reportVerification(results, seed), nil
}

// readVerifiedPage reads a scan of one page; nil where it has more, or no text that can be told.
func (b *qualityRun) readVerifiedPage(ctx context.Context, engine ocr.Engine, s *sample) (*verifiedPage, error) {
	if strings.Contains(s.Notes, "--ignore-case") {
		return nil, nil // its truth is not what the page says
	}
	truth, err := os.ReadFile(filepath.Join(b.corpus, filepath.FromSlash(s.TruthPath)))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(b.tempDir, "verification-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	const dpi = 300
	if _, err := runCommand(ctx, "pdftoppm", "-r", fmt.Sprint(dpi), "-l", "2", "-gray", s.Abs, filepath.Join(dir, "page")); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, "page*"))
	if err != nil || len(files) != 1 {
		return nil, err
	}
	raster, err := os.Open(files[0])
	if err != nil {
		return nil, err
	}
	page, err := engine.RecognisePage(ctx, ocr.Image{File: raster, DPI: dpi}, verificationOptions(s))
	if err != nil {
		_ = raster.Close() // the error that matters is the first
		return nil, err
	}
	return &verifiedPage{sample: s, truth: agreetest.SplitTruth(string(truth)), raster: raster, reading: page}, nil
}

func verificationOptions(s *sample) ocr.RecogniseOptions {
	return ocr.RecogniseOptions{Languages: s.tesseractLanguages(), Timeout: 2 * time.Minute, Deskew: true, Rotate: true}
}

// corrupt holds the true text against the page, and then every corruption of it.
func (p *verifiedPage) corrupt(ctx context.Context, engine ocr.Engine, rng *rand.Rand, other []string) (verificationResult, error) {
	r := verificationResult{path: p.Path, located: make([][2]int, len(agreetest.Corruptions()))}
	comparer, err := ocr.NewComparer(ctx, engine, ocr.Image{File: p.raster, DPI: p.reading.GetDpi()}, p.reading, verificationOptions(p.sample))
	if err != nil {
		return r, err
	}
	whole := comparer.CompareText(ctx, p.truth)
	for _, d := range whole.Doubts {
		if d.Kind != agree.Unverified {
			r.alarms = append(r.alarms, d.Kind)
		}
		r.worse = r.worse || d.Invented
	}
	r.worse, r.unjudged = r.worse || whole.Refused, !whole.CanJudge
	for k, c := range agreetest.Corruptions() {
		for range verificationTrials {
			text, at, ok := c.Apply(rng, p.truth, other)
			if !ok {
				continue
			}
			got := comparer.CompareText(ctx, text)
			switch {
			case c.Kinds == nil:
				r.moved[0] += max(0, len(got.Doubts)-len(whole.Doubts))
				r.moved[1]++
			case !r.unjudged:
				r.located[k][1]++
				if c.Locates(got.Doubts, at) || got.Refused && !whole.Refused {
					r.located[k][0]++
				}
			}
			if c.Kinds == nil {
				break // it is the same each time
			}
		}
	}
	return r, nil
}

// verificationTargets are the shares that are to be located of each corruption.
var verificationTargets = map[string]float64{"8 to 20 words inserted": 0.97, "5 words inserted": 0.97, "8 to 20 words dropped": 0.97,
	"5 words dropped": 0.97, "last 30 % cut": 0.97, "3 to 12 words repeated 20 times": 0.97, "text of another page": 0.97,
	"10 to 20 words of another language in their place": 0.97, "word exchanged": 0.95, "digit changed": 0.85}

func reportVerification(results []verificationResult, seed uint64) section {
	sec := section{method: fmt.Sprintf("The true texts of %d scans of one page, corrupted %d times in each way, seed %d, and held against what Tesseract "+
		"reads, against the ink, and against doubtful places that are read again, enlarged, as what a vision model writes is. Located: a doubt of a fitting kind stands in the "+
		"place, or the text is not taken at all; on pages that the witness reads too badly to judge nothing counts as located or missed, and every difference is unverified. False alarms: doubts about the true text as it is, but for those that say that the witness cannot tell. Made worse: pages whose true text would lose words, or be taken for another page's.",
		len(results), verificationTrials, seed)}
	table := reportTable{title: "Corruptions located", columns: []string{"Corruption", "Trials", "Located", "Share", "Target"}}
	for k, c := range agreetest.Corruptions() {
		located, tried := 0, 0
		for _, r := range results {
			located, tried = located+r.located[k][0], tried+r.located[k][1]
		}
		if c.Kinds == nil || tried == 0 {
			continue
		}
		share, target, shown := float64(located)/float64(tried), verificationTargets[c.Name], ""
		if target > 0 {
			shown = fmt.Sprintf("≥ %.2f", target)
			sec.summary = append(sec.summary, summaryFigure{"located: " + c.Name, formatRatio(share), absent, shown, share >= target})
		}
		table.addRow(c.Name, fmt.Sprint(tried), fmt.Sprint(located), formatRatio(share), shown)
	}
	pages := reportTable{title: "False alarms by page", columns: []string{"File", "Alarms", "Kinds", "Made worse"}}
	alarms, worse, moved, unjudged := 0, 0, 0, 0
	slices.SortStableFunc(results, func(x, y verificationResult) int { return len(y.alarms) - len(x.alarms) })
	for _, r := range results {
		alarms, worse, moved = alarms+len(r.alarms), worse+boolToInt(r.worse), moved+r.moved[0]
		unjudged += boolToInt(r.unjudged)
		if len(r.alarms) > 0 || r.worse {
			pages.addRow(r.path, fmt.Sprint(len(r.alarms)), countKinds(r.alarms), fmt.Sprint(r.worse))
		}
	}
	n := float64(max(1, len(results)))
	sec.summary = append(sec.summary,
		summaryFigure{"false alarms a page", formatRatio(float64(alarms) / n), absent, "≤ 0.4", float64(alarms)/n <= 0.4},
		summaryFigure{"pages of true text made worse", formatRatio(float64(worse) / n), absent, "≤ 0.01", float64(worse)/n <= 0.01},
		summaryFigure{"pages that the witness reads too badly to judge", fmt.Sprintf("%d of %d", unjudged, len(results)), absent, "", false},
		summaryFigure{"doubts that another order of half the page adds, a page", formatRatio(float64(moved) / n), absent, "", false})
	sec.tables = []reportTable{table, pages}
	return sec
}

func countKinds(kinds []agree.Kind) string {
	counts := map[agree.Kind]int{}
	for _, k := range kinds {
		counts[k]++
	}
	var out []string
	for _, k := range []agree.Kind{agree.Unsupported, agree.Dropped, agree.Number, agree.Differs, agree.Moved, agree.Loop} {
		if counts[k] > 0 {
			out = append(out, fmt.Sprintf("%s × %d", k, counts[k]))
		}
	}
	return strings.Join(out, ", ")
}

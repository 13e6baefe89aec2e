package vision

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"time"

	"golang.org/x/image/draw"
	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"

	"inkstream.dev/pkg/agree"
	"inkstream.dev/services/ocr/internal/vision/answer"
)

// Endpoints are shown a page with known words in known places, and a blank one, when the process starts and every
// canaryInterval. One that could not be asked is asked again after canaryRetry.
const (
	canaryInterval = time.Hour
	canaryRetry    = 30 * time.Second
)

// errUnproven is what is wrong with an endpoint until it has read the canary page.
var errUnproven = errors.New("it has not read the page that it is tried with yet")

// canaryBlock is a paragraph of the canary page, in pixels.
type canaryBlock struct {
	at    image.Point // of its upper left corner
	lines []string
}

var canaryBlocks = []canaryBlock{
	{image.Pt(80, 90), []string{"The ferry leaves the harbour at seven every", "morning and comes back before the light",
		"on the pier is lit. Nobody on the island has", "ever missed the last boat of the day."}},
	{image.Pt(330, 780), []string{"In winter he brings letters, flour and warm", "blankets; in summer he brings visitors who",
		"ask about the tower. Number 4752 of the", "old register names its builder."}},
}

const (
	canaryWidth, canaryHeight = 850, 1100 // a letter page at 100 dpi
	canaryType, canaryLeading = 22, 30
)

// canaryPage is a page whose words are known.
type canaryPage struct {
	picture *image.Gray
	words   []agree.Word
	bounds  answer.Box // around all words, as shares of the page
}

// drawCanary draws the page that endpoints are tried with.
func drawCanary() (canaryPage, error) {
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		return canaryPage{}, fmt.Errorf("parse font: %w", err)
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: canaryType, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		return canaryPage{}, fmt.Errorf("open font: %w", err)
	}
	page := canaryPage{picture: newBlankPicture(), bounds: answer.Box{1, 1, 0, 0}}
	for _, b := range canaryBlocks {
		for i, line := range b.lines {
			d := font.Drawer{Dst: page.picture, Src: image.Black, Face: face,
				Dot: fixed.P(b.at.X, b.at.Y+canaryType+i*canaryLeading)}
			ink, _ := d.BoundString(line)
			d.DrawString(line)
			page.bounds = answer.Box{min(page.bounds[0], shareOf(ink.Min.X, canaryWidth)),
				min(page.bounds[1], shareOf(ink.Min.Y, canaryHeight)), max(page.bounds[2], shareOf(ink.Max.X, canaryWidth)),
				max(page.bounds[3], shareOf(ink.Max.Y, canaryHeight))}
			for _, w := range strings.Fields(line) {
				page.words = append(page.words, agree.Word{Text: w, Confidence: 1})
			}
		}
	}
	return page, nil
}

// TrialPageSize returns the size in pixels of the pages that endpoints are tried with.
func TrialPageSize() image.Point { return image.Pt(canaryWidth, canaryHeight) }

// WriteTrialPage returns what a sound model writes about the page of known words in the format Grounded, with boxes on
// those scales; without boxes where they are 0. It is for servers of tests.
func WriteTrialPage(scaleX, scaleY float64) string {
	var out strings.Builder
	for _, b := range canaryBlocks {
		if scaleX > 0 {
			fmt.Fprintf(&out, "<|ref|>text<|/ref|><|det|>[[%.0f, %.0f, %.0f, %.0f]]<|/det|>\n",
				float64(b.at.X)/canaryWidth*scaleX, float64(b.at.Y)/canaryHeight*scaleY,
				float64(b.at.X+450)/canaryWidth*scaleX, float64(b.at.Y+canaryLeading*len(b.lines))/canaryHeight*scaleY)
		}
		out.WriteString(strings.Join(b.lines, "\n") + "\n\n")
	}
	return out.String()
}

func shareOf(v fixed.Int26_6, of int) float64 { return float64(v) / 64 / float64(of) }

func newBlankPicture() *image.Gray {
	out := image.NewGray(image.Rect(0, 0, canaryWidth, canaryHeight))
	draw.Draw(out, out.Rect, image.NewUniform(color.Gray{Y: 255}), image.Point{}, draw.Src)
	return out
}

// Run tries every endpoint at the start and hourly until ctx is done. Pages go to none that has not read the canary
// page. It is a unit's Run.
func (e *Engine) Run(ctx context.Context, ready func()) error {
	page, err := drawCanary()
	if err != nil {
		return fmt.Errorf("draw the page that vision endpoints are tried with: %w", err)
	}
	for _, p := range e.client.balance.endpoints {
		e.client.balance.setVerdict(p, errUnproven, nil)
	}
	ready()
	for {
		wait := canaryInterval
		for _, p := range e.client.balance.endpoints {
			if !e.tryEndpoint(ctx, p, page) {
				wait = canaryRetry
			}
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// tryEndpoint has an endpoint read both pages and notes what is wrong with it. It reports whether the endpoint answered.
func (e *Engine) tryEndpoint(ctx context.Context, p *endpoint, page canaryPage) bool {
	written, err := e.askCanary(ctx, p, page.picture)
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		e.log.WarnContext(ctx, "a vision endpoint could not be tried", "endpoint", p.number, "error", err)
		e.client.balance.setUnreachable(p, err)
		return false
	}
	fatal, flaw := e.judgeCanary(page, written)
	if fatal == nil {
		blank, err := e.askCanary(ctx, p, newBlankPicture())
		if err == nil {
			flaw = errors.Join(flaw, judgeBlank(e.client.profile, blank))
		}
	}
	e.client.balance.setVerdict(p, fatal, flaw)
	if err := errors.Join(fatal, flaw); err != nil {
		e.log.WarnContext(ctx, "a vision endpoint does not read the page that it is tried with as it should",
			"endpoint", p.number, "used", fatal == nil, "error", err)
	}
	return true
}

// askCanary has one endpoint read a picture, whole or block by block as the family does.
func (e *Engine) askCanary(ctx context.Context, p *endpoint, picture *image.Gray) (string, error) {
	if !e.client.profile.byBlock {
		return e.askCanaryPart(ctx, p, picture)
	}
	var written []string
	for _, b := range canaryBlocks {
		const margin = 10
		part := image.Rect(b.at.X-margin, b.at.Y-margin, canaryWidth, b.at.Y+canaryLeading*len(b.lines)+margin)
		text, err := e.askCanaryPart(ctx, p, cutPicture(picture, part))
		if err != nil {
			return "", err
		}
		written = append(written, text)
	}
	return strings.Join(written, "\n\n"), nil
}

func (e *Engine) askCanaryPart(ctx context.Context, p *endpoint, picture *image.Gray) (string, error) {
	data, _, err := encodePicture(picture, e.client.profile.longestSide)
	if err != nil {
		return "", err
	}
	body, err := e.client.encodeRequest(question{png: data})
	if err != nil {
		return "", err
	}
	got, out := e.client.askEndpoint(ctx, p, body, defaultTimeout, account{})
	if out.result != answered {
		return "", out.err
	}
	return got.text, nil
}

const (
	// leastCanaryWords is the share of the page's letters that a model which sees pictures reads; it is taken for one
	// that does not below half of that.
	leastCanaryWords = 0.95
	// leastCanaryFit is how well, as intersection over union, boxes of the right scale lie around the words.
	leastCanaryFit = 0.5
	// clearlyBetter is by how much another scale must fit better: those up to 999, 1000 and 1024 are alike.
	clearlyBetter = 0.15
)

// judgeCanary says what forbids the use of an endpoint that wrote that about the canary page, and what is wrong with it
// beside.
func (e *Engine) judgeCanary(page canaryPage, written string) (fatal, flaw error) {
	profile := e.client.profile
	parsed := parseCanary(profile, profile.scale, written)
	var words []agree.Word
	boxes := 0
	for _, b := range parsed.Blocks {
		for _, text := range strings.Fields(b.Text) {
			words = append(words, agree.Word{Text: text})
		}
		if b.Box.Exists() {
			boxes++
		}
	}
	result := agree.Align(words, page.words, agree.Options{})
	switch {
	case result.Coverage < leastCanaryWords/2:
		return errors.New("it does not see pictures: of a page of known words it reads other ones, or none; see vision.model " +
			"and the server's template"), nil
	case result.Coverage < leastCanaryWords:
		flaw = fmt.Errorf("it reads %.0f %% of a clearly printed page", 100*result.Coverage)
	}
	if profile.format == answer.Markdown {
		return nil, flaw
	}
	best, fit := findScale(profile, page.bounds, written)
	own := fitOf(profile, profile.scale, page.bounds, written)
	switch {
	case boxes == 0 && fit < leastCanaryFit:
		flaw = errors.Join(flaw, errors.New("its answers have no boxes: the server drops special tokens, or vision.profile is "+
			"another family's"))
	case fit >= leastCanaryFit && fit > own+clearlyBetter:
		return fmt.Errorf("its boxes count %s, and those of vision.profile %s", describeScale(best), describeScale(profile.scale)), flaw
	case own < leastCanaryFit:
		return errors.New("its boxes lie elsewhere than the words"), flaw
	}
	return nil, flaw
}

func parseCanary(profile profile, scale float64, written string) answer.Answer {
	opts := answer.Options{ScaleX: scale, ScaleY: scale}
	if scale == pixels {
		opts = answer.Options{ScaleX: canaryWidth, ScaleY: canaryHeight}
	}
	return answer.Parse(profile.format, written, opts)
}

// findScale returns the scale on which the boxes lie best around the words.
func findScale(profile profile, bounds answer.Box, written string) (scale, fit float64) {
	for _, s := range []float64{profile.scale, 1000, 500, pixels} {
		if f := fitOf(profile, s, bounds, written); f > fit {
			scale, fit = s, f
		}
	}
	return scale, fit
}

// fitOf returns the intersection over union of the words' bounds and the boxes on a scale; 0 where a box is none there.
func fitOf(profile profile, scale float64, bounds answer.Box, written string) float64 {
	parsed := parseCanary(profile, scale, written)
	around := answer.Box{1, 1, 0, 0}
	for _, b := range parsed.Blocks {
		if b.Box.Exists() {
			around = answer.Box{min(around[0], b.Box[0]), min(around[1], b.Box[1]), max(around[2], b.Box[2]), max(around[3], b.Box[3])}
		}
	}
	if parsed.BadBoxes > 0 || !around.Exists() {
		return 0
	}
	areaOf := func(b answer.Box) float64 { return max(0, b[2]-b[0]) * max(0, b[3]-b[1]) }
	shared := areaOf(answer.Box{max(around[0], bounds[0]), max(around[1], bounds[1]), min(around[2], bounds[2]), min(around[3], bounds[3])})
	return shared / math.Max(areaOf(around)+areaOf(bounds)-shared, 1e-9)
}

func describeScale(scale float64) string {
	if scale == pixels {
		return "pixels"
	}
	return fmt.Sprintf("up to %.0f", scale)
}

// judgeBlank says what is wrong with what an endpoint wrote about a blank page. Text that has no ink never reaches a
// page, so that such an endpoint is used all the same.
func judgeBlank(profile profile, written string) error {
	const mostWords = 3 // such as "blank page"
	words := 0
	for _, b := range parseCanary(profile, profile.scale, written).Blocks {
		if b.Kind != answer.Figure {
			words += len(strings.Fields(b.Text))
		}
	}
	if words > mostWords {
		return fmt.Errorf("it invents %d words on a blank page", words)
	}
	return nil
}

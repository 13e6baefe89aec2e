package pagegen

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"math"
	"os"
	"os/exec"
	"path/filepath"

	"inkstream.dev/pkg/pdftest"
	"inkstream.dev/pkg/pdftest/score"
)

// ScanRecipe says what printing, paper, glass and sensor did to a page.
type ScanRecipe struct {
	DPI    int     `json:"dpi"`
	Skew   float64 `json:"skew,omitempty"`   // degrees clockwise
	Warp   float64 `json:"warp,omitempty"`   // how far the middle of a line is off its ends, in points
	Blur   int     `json:"blur,omitempty"`   // how often a 3 by 3 kernel is applied
	Noise  float64 `json:"noise,omitempty"`  // standard deviation of the grey values
	Specks float64 `json:"specks,omitempty"` // share of the pixels that dust turns over
	Bleed  float64 `json:"bleed,omitempty"`  // how dark the other side of the sheet shows through, from 0 to 1
	Shade  float64 `json:"shade,omitempty"`  // how much light is missing in a corner, from 0 to 1
	Gutter float64 `json:"gutter,omitempty"` // how dark the shadow at one edge is, from 0 to 1
	Faint  float64 `json:"faint,omitempty"`  // how much of the ink's darkness is missing, from 0 to 1
	JPEG   int     `json:"jpeg,omitempty"`   // quality of the compression
	Fax    bool    `json:"fax,omitempty"`    // black and white
}

// PickRecipe returns the degradation of a seed. A third of the scans are clean, a third show one fault, the others more.
func PickRecipe(seed uint64) ScanRecipe {
	c := newChance(seed, "scan")
	r := ScanRecipe{DPI: choose(c, 100, 150, 200, 200, 200, 300, 300, 300, 400), JPEG: c.count(45, 92)}
	faults := choose(c, 0, 1, 1, 2, 3, 4)
	if r.DPI <= 150 {
		faults = min(faults, 1)
	}
	for range faults {
		switch c.IntN(10) {
		case 0, 1:
			r.Skew = c.between(-2.5, 2.5)
		case 2:
			r.Warp = c.between(2, 7)
		case 3:
			r.Blur = c.count(1, max(1, r.DPI/150))
		case 4:
			r.Noise = c.between(6, 26)
		case 5:
			r.Specks = c.between(0.0002, 0.002)
		case 6:
			r.Bleed = c.between(0.08, 0.3)
		case 7:
			r.Shade = c.between(0.15, 0.5)
		case 8:
			r.Gutter = c.between(0.3, 0.8)
		default:
			r.Faint = c.between(0.2, 0.5)
		}
	}
	if c.happens(0.15) && r.DPI >= 150 {
		r.Fax, r.JPEG, r.Faint = true, 0, 0
	}
	return r
}

// MakeScan returns a document's pages as a degraded scan. pdftoppm draws them.
func MakeScan(ctx context.Context, made *Made, recipe ScanRecipe) ([]byte, error) {
	sheets, err := MakeSheets(ctx, made, recipe)
	if err != nil {
		return nil, err
	}
	return pdftest.EncodeSheets(sheets), nil
}

// MakeSheets returns a document's pages as pictures of a degraded scan.
func MakeSheets(ctx context.Context, made *Made, recipe ScanRecipe) ([]pdftest.ScannedSheet, error) {
	dir, err := os.MkdirTemp("", "pagegen-scan-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	source := filepath.Join(dir, "source.pdf")
	if err := os.WriteFile(source, made.PDF, 0o600); err != nil {
		return nil, err
	}
	drawn, err := exec.CommandContext(ctx, "pdftoppm", "-r", fmt.Sprint(recipe.DPI), "-gray", source).Output()
	if err != nil {
		return nil, fmt.Errorf("pdftoppm: %w", err)
	}
	var pages []*image.Gray
	for len(drawn) > 0 {
		page, rest, err := readPGM(drawn)
		if err != nil {
			return nil, err
		}
		pages, drawn = append(pages, page), rest
	}
	if len(pages) != len(made.Truth.Pages) {
		return nil, fmt.Errorf("%s: %d pages were drawn, want %d", made.Truth.Name, len(pages), len(made.Truth.Pages))
	}
	sheets := make([]pdftest.ScannedSheet, len(pages))
	for i, page := range pages {
		other := pages[(i+1)%len(pages)]
		c := newChance(made.Truth.Seed, fmt.Sprintf("scan of page %d", i+1))
		sheets[i] = pdftest.ScannedSheet{Image: recipe.degrade(c, page, other), Width: made.Truth.Pages[i].Width,
			Height: made.Truth.Pages[i].Height, JPEG: recipe.JPEG, Bitonal: recipe.Fax}
	}
	return sheets, nil
}

// AddTextLayer gives the sheets of a scan that was made by a recipe without Warp the document's words as a text layer,
// in which the given share of the letters, 0 to 1, is wrong. pdftotext finds the words.
func AddTextLayer(ctx context.Context, made *Made, recipe ScanRecipe, sheets []pdftest.ScannedSheet, share float64) error {
	words := exec.CommandContext(ctx, "pdftotext", "-bbox", "-", "-")
	words.Stdin = bytes.NewReader(made.PDF)
	out, err := words.Output()
	if err != nil {
		return fmt.Errorf("pdftotext: %w", err)
	}
	pages, err := score.ReadBoxes(bytes.NewReader(out))
	if err != nil || len(pages) != len(sheets) {
		return fmt.Errorf("%s: %d pages of words, want %d: %w", made.Truth.Name, len(pages), len(sheets), err)
	}
	for i, page := range pages {
		c := newChance(made.Truth.Seed, fmt.Sprintf("layer of page %d", i+1))
		sheets[i].Layer = nil
		for _, w := range page {
			sheets[i].Layer = append(sheets[i].Layer,
				pdftest.LayerWord{Text: pdftest.ReplaceLetters(w.Text, share, c.Rand), Box: recipe.turnBox(w.At, sheets[i])})
		}
	}
	return nil
}

// turnBox returns where a word of a page stands on the skewed sheet.
func (r ScanRecipe) turnBox(box [4]float64, sheet pdftest.ScannedSheet) [4]float64 {
	sin, cos := math.Sincos(r.Skew * math.Pi / 180)
	x, y := (box[0]+box[2]-sheet.Width)/2, (box[1]+box[3]-sheet.Height)/2
	dx, dy := cos*x-sin*y-x, sin*x+cos*y-y
	return [4]float64{box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy}
}

// readPGM reads the first image of a sequence in the format that pdftoppm writes.
func readPGM(data []byte) (*image.Gray, []byte, error) {
	var width, height, top int
	head := data[:min(len(data), 64)]
	if _, err := fmt.Sscanf(string(head), "P5\n%d %d\n%d\n", &width, &height, &top); err != nil || top != 255 || width < 1 || height < 1 {
		return nil, nil, fmt.Errorf("no PGM image: %.20q", head)
	}
	start := 0
	for range 3 {
		start += bytes.IndexByte(data[start:], '\n') + 1
	}
	if len(data) < start+width*height {
		return nil, nil, fmt.Errorf("a PGM image of %d × %d pixels is cut short", width, height)
	}
	img := &image.Gray{Pix: data[start : start+width*height], Stride: width, Rect: image.Rect(0, 0, width, height)}
	return img, data[start+width*height:], nil
}

// degrade returns what a scanner makes of a page. other is drawn on the back of the sheet.
func (r ScanRecipe) degrade(c chance, page, other *image.Gray) *image.Gray {
	width, height := page.Rect.Dx(), page.Rect.Dy()
	out := image.NewGray(page.Rect)
	sin, cos := math.Sincos(r.Skew * math.Pi / 180)
	middleX, middleY := float64(width)/2, float64(height)/2
	bend := r.Warp * float64(r.DPI) / 72
	phase := c.between(0, 1)
	for y := range height {
		for x := range width {
			dx, dy := float64(x)-middleX, float64(y)-middleY
			sx := cos*dx + sin*dy + middleX
			sy := -sin*dx + cos*dy + middleY + bend*math.Sin(math.Pi*(float64(x)/float64(width)+phase))
			grey := sampleGrey(page, sx, sy)
			if r.Bleed > 0 && other.Rect == page.Rect {
				grey -= r.Bleed * (255 - sampleGrey(other, float64(width)-sx, sy))
			}
			out.Pix[y*out.Stride+x] = uint8(min(255, max(0, grey)))
		}
	}
	for range r.Blur {
		blurImage(out)
	}
	r.expose(c, out)
	return out
}

// expose adds light, noise and dust.
func (r ScanRecipe) expose(c chance, img *image.Gray) {
	width, height := img.Rect.Dx(), img.Rect.Dy()
	paper := c.between(228, 255)
	ink := r.Faint * 200
	left := c.happens(0.5)
	for y := range height {
		for x := range width {
			at := y*img.Stride + x
			grey := ink + float64(img.Pix[at])/255*(paper-ink)
			across, down := float64(x)/float64(width), float64(y)/float64(height)
			if left {
				across = 1 - across
			}
			light := 1 - r.Shade*across*down
			if r.Gutter > 0 {
				light *= 1 - r.Gutter*math.Exp(-(1-across)*28)
			}
			grey *= light
			if r.Noise > 0 {
				grey += r.Noise * c.NormFloat64()
			}
			if r.Specks > 0 && c.Float64() < r.Specks {
				grey = 255 - grey
			}
			if r.Fax {
				if grey >= 128 {
					grey = 255
				} else {
					grey = 0
				}
			}
			img.Pix[at] = uint8(min(255, max(0, grey)))
		}
	}
}

// sampleGrey returns the grey value between pixels; outside of the page it is white.
func sampleGrey(img *image.Gray, x, y float64) float64 {
	left, top := int(math.Floor(x)), int(math.Floor(y))
	if left < 0 || top < 0 || left+1 >= img.Rect.Dx() || top+1 >= img.Rect.Dy() {
		return 255
	}
	fx, fy := x-float64(left), y-float64(top)
	at := top*img.Stride + left
	upper := float64(img.Pix[at])*(1-fx) + float64(img.Pix[at+1])*fx
	lower := float64(img.Pix[at+img.Stride])*(1-fx) + float64(img.Pix[at+img.Stride+1])*fx
	return upper*(1-fy) + lower*fy
}

// blurImage blurs with the 3 by 3 kernel 1 2 1.
func blurImage(img *image.Gray) {
	source := bytes.Clone(img.Pix)
	for y := 1; y < img.Rect.Dy()-1; y++ {
		for x := 1; x < img.Rect.Dx()-1; x++ {
			sum := 0
			for row, weight := range [3]int{1, 2, 1} {
				at := (y+row-1)*img.Stride + x
				sum += weight * (int(source[at-1]) + 2*int(source[at]) + int(source[at+1]))
			}
			img.Pix[y*img.Stride+x] = uint8(sum / 16)
		}
	}
}

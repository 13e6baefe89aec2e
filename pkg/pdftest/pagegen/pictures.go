package pagegen

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"strings"
)

// picture returns a figure: a photograph's blur of colours, or a drawing.
func (c *composer) picture(width, height float64) string {
	inner := c.chart(c.chance, width, height)
	if c.happens(0.6) {
		inner = fmt.Sprintf(`<img src="%s" style="width:%.1fpt;height:%.1fpt">`, c.photograph(), width, height)
	}
	return fmt.Sprintf(`<figure data-k="figure" data-f="%s" style="width:%.1fpt;height:%.1fpt;margin:2pt 0 4pt">%s</figure>`,
		c.flow, width, height, inner)
}

// photograph returns a picture as a data URL.
func (c chance) photograph() string {
	const width, height = 160, 110
	img := image.NewRGBA(image.Rect(0, 0, width, height))
	var waves [5][4]float64
	for i := range waves {
		waves[i] = [4]float64{c.between(0.01, 0.12), c.between(0.01, 0.12), c.between(0, 6), c.between(0.3, 1)}
	}
	tint := [3]float64{c.between(0.5, 1), c.between(0.5, 1), c.between(0.5, 1)}
	for y := range height {
		for x := range width {
			value := 0.0
			for _, w := range waves {
				value += w[3] * math.Sin(w[0]*float64(x)+w[1]*float64(y)*2+w[2])
			}
			value = 128 + 45*value + 18*c.Float64()
			level := func(i int) uint8 { return uint8(min(255, max(0, value*tint[i]))) }
			img.SetRGBA(x, y, color.RGBA{level(0), level(1), level(2), 255})
		}
	}
	var data bytes.Buffer
	if err := jpeg.Encode(&data, img, &jpeg.Options{Quality: 70}); err != nil {
		panic(err) // only an image of more than 65,535 pixels a side fails
	}
	return "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(data.Bytes())
}

// chart returns a drawing of bars or lines, without words.
func (s style) chart(c chance, width, height float64) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<svg width="%.1fpt" height="%.1fpt" viewBox="0 0 100 60" preserveAspectRatio="none">`, width, height)
	out.WriteString(`<path d="M6 3V56H97" fill="none" stroke="#222" stroke-width="0.6"/>`)
	number := c.count(4, 9)
	if c.happens(0.5) {
		step := 88.0 / float64(number)
		for i := range number {
			tall := c.between(5, 48)
			fmt.Fprintf(&out, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`, 8+float64(i)*step, 56-tall, step*0.7, tall,
				choose(c, s.accent, "#888"))
		}
	} else {
		for range c.count(1, 3) {
			fmt.Fprintf(&out, `<polyline fill="none" stroke="%s" points="`, choose(c, colours...))
			for i := range number {
				fmt.Fprintf(&out, "%.1f,%.1f ", 8+float64(i)*86/float64(number-1), c.between(6, 54))
			}
			out.WriteString(`"/>`)
		}
	}
	out.WriteString("</svg>")
	return out.String()
}

package score

import (
	"fmt"
	"strconv"
	"strings"
)

// ListedImage is a row of what pdfimages -list writes.
type ListedImage struct {
	Page, Number int
	Type         string // image, mask, smask, stencil
	Encoding     string // jpeg, jpx, ccitt, jbig2, image
}

// ReadImageList reads what pdfimages -list writes: two lines of headings, then a line for each image that is drawn.
func ReadImageList(list string) ([]ListedImage, error) {
	var out []ListedImage
	for i, line := range strings.Split(strings.TrimSpace(list), "\n") {
		f := strings.Fields(line)
		if i < 2 || len(f) == 0 {
			continue
		}
		if len(f) < 9 {
			return nil, fmt.Errorf("images: line %d has %d columns, want at least 9", i+1, len(f))
		}
		page, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, fmt.Errorf("images: line %d: %w", i+1, err)
		}
		number, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, fmt.Errorf("images: line %d: %w", i+1, err)
		}
		out = append(out, ListedImage{Page: page, Number: number, Type: f[2], Encoding: f[8]})
	}
	return out, nil
}

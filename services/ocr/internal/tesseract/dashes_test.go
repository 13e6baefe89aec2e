package tesseract

import "testing"

// TestDashedRulesAreErased draws letters, a frame of dashes around them, a rule of dots down the page, and what is no
// rule: a column of stems at the distance of lines, hyphens that begin lines, and a few hyphens in a row.
func TestDashedRulesAreErased(t *testing.T) {
	t.Parallel()
	img := greyImage{width: 900, height: 700}
	for range img.width * img.height {
		img.pix = append(img.pix, 255)
	}
	var kept, rules []box
	for row := range 10 {
		for column := range 20 {
			kept = append(kept, box{100 + 24*column, 100 + 40*row, 112 + 24*column, 120 + 40*row})
		}
		kept = append(kept, box{700, 100 + 40*row, 703, 128 + 40*row}, box{740, 112 + 40*row, 750, 115 + 40*row})
	}
	for i := range 6 {
		kept = append(kept, box{100 + 14*i, 600, 108 + 14*i, 603})
	}
	for i := range 40 {
		rules = append(rules, box{60 + 14*i, 60 + i/10, 68 + 14*i, 63 + i/10}, // a little askew
			box{50 - i/10, 70 + 12*i, 53 - i/10, 77 + 12*i}, box{650, 70 + 6*i, 653, 73 + 6*i})
	}
	for _, b := range append(append([]box{}, kept...), rules...) {
		img.fillBox(b, 0)
	}
	r := &reader{img: img, dpi: 300, below: 128}
	findAreas(r)
	eraseDashedRules(r)
	isInk := func(b box) bool { return r.img.pix[(b[1]+b[3])/2*r.img.width+(b[0]+b[2])/2] < r.below }
	for _, b := range kept {
		if !isInk(b) {
			t.Errorf("what is no rule at %v is gone", b)
		}
	}
	for _, b := range rules {
		if isInk(b) {
			t.Errorf("a dash is left at %v", b)
		}
	}
	if len(r.areas) != len(kept) {
		t.Errorf("%d areas are left, want %d", len(r.areas), len(kept))
	}
	if img.pix[61*img.width+64] != 0 {
		t.Error("the image that was given has changed")
	}
}

#include "image.h"
#include "enlarge.h"

#include <leptonica/allheaders.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// LEAST_LETTERS is how many light spots a dark area has that is written on, in all and for each square inch. The corpus's slide has 17 a
// square inch, the black cloth around two old books 1 and 2.
#define LEAST_LETTERS 3

// from_bytes returns rows of 8-bit grey without padding as an image of Leptonica's, NULL without memory. Leptonica keeps pixels in 32-bit
// words, the first in the highest byte.
static PIX *from_bytes(const unsigned char *pixels, int width, int height) {
	PIX *pix = pixCreateNoInit(width, height, 8);
	if (pix == NULL) {
		return NULL;
	}
	const int words = pixGetWpl(pix);
	l_uint32 *data = pixGetData(pix);
	for (int y = 0; y < height; y++) {
		l_uint32 *row = data + (size_t)y * words;
		row[words - 1] = 0;
		memcpy(row, pixels + (size_t)y * width, width);
	}
	pixEndianByteSwap(pix);
	return pix;
}

// to_bytes is the way back, and frees the image. The bytes are the caller's to free.
static unsigned char *to_bytes(PIX *pix, int *width, int *height) {
	*width = pixGetWidth(pix);
	*height = pixGetHeight(pix);
	unsigned char *out = malloc((size_t)*width * *height);
	if (out != NULL) {
		pixEndianByteSwap(pix);
		const int words = pixGetWpl(pix);
		const l_uint32 *data = pixGetData(pix);
		for (int y = 0; y < *height; y++) {
			memcpy(out + (size_t)y * *width, data + (size_t)y * words, *width);
		}
	}
	pixDestroy(&pix);
	return out;
}

// replace puts the outcome of a step in the place of what went into it. A step that fails changes nothing.
static void replace(PIX **pix, PIX *by) {
	if (by != NULL) {
		pixDestroy(pix);
		*pix = by;
	}
}

// level brings the ground of a page to an even white. Tiles are a seventh of an inch; what is taken for ink is darker than half of white at
// least, so that letters are never taken for ground.
static PIX *level(PIX *pix, int dpi) {
	int tile = dpi / 10;
	if (tile < 10) {
		tile = 10;
	}
	return pixBackgroundNorm(pix, NULL, NULL, tile, tile, 60, tile * tile / 3, 230, 2, 2);
}

// binary returns an image's ink as one bit a pixel.
static PIX *binary(const unsigned char *pixels, int width, int height, int below) {
	PIX *grey = from_bytes(pixels, width, height);
	if (grey == NULL) {
		return NULL;
	}
	PIX *ink = pixThresholdToBinary(grey, below);
	pixDestroy(&grey);
	return ink;
}

// fill_letters fills the holes of a mask that are no larger than some letters that touch, width by height.
static void fill_letters(PIX *mask, int width, int height) {
	PIX *outside = pixInvert(NULL, mask);
	BOXA *holes = outside == NULL ? NULL : pixConnComp(outside, NULL, 4);
	for (int i = 0; i < boxaGetCount(holes); i++) {
		l_int32 x, y, w, h;
		boxaGetBoxGeometry(holes, i, &x, &y, &w, &h);
		if (w <= width && h <= height && x > 0 && y > 0 && x + w < pixGetWidth(mask) && y + h < pixGetHeight(mask)) {
			pixRasterop(mask, x, y, w, h, PIX_SET, NULL, 0, 0);
		}
	}
	boxaDestroy(&holes);
	pixDestroy(&outside);
}

// letters counts the connected areas of a mask that are as high as small print, and lower than a headline.
static int letters(PIX *mask, int lowest, int highest) {
	BOXA *found = pixConnComp(mask, NULL, 8);
	int count = 0;
	for (int i = 0; i < boxaGetCount(found); i++) {
		l_int32 h = 0;
		boxaGetBoxGeometry(found, i, NULL, NULL, NULL, &h);
		count += h >= lowest && h <= highest;
	}
	boxaDestroy(&found);
	return count;
}

// drop_wordless clears the areas of a mask in which no light letters stand out of the ink: the shadow of a book's fold, a black border. size
// is a tenth of an inch. Those that reach the edge of the image are put into border.
static void drop_wordless(PIX *mask, PIX *ink, PIX *border, int size) {
	BOXA *areas = pixConnComp(mask, NULL, 8);
	for (int i = 0; i < boxaGetCount(areas); i++) {
		BOX *box = boxaGetBox(areas, i, L_CLONE);
		PIX *light = pixClipRectangle(mask, box, NULL);
		PIX *dark = pixClipRectangle(ink, box, NULL);
		if (light != NULL && dark != NULL) {
			pixSubtract(light, light, dark);
			l_int32 x, y, w, h, area = 0;
			pixCountPixels(dark, &area, NULL);
			int found = letters(light, (size + 2) / 3, 5 * size);
			if (found < LEAST_LETTERS || (double)found * 100 * size * size < (double)LEAST_LETTERS * area) {
				boxGetGeometry(box, &x, &y, &w, &h);
				if (x == 0 || y == 0 || x + w == pixGetWidth(mask) || y + h == pixGetHeight(mask)) {
					pixRasterop(border, x, y, w, h, PIX_PAINT, mask, x, y);
				}
				pixRasterop(mask, x, y, w, h, PIX_CLR, NULL, 0, 0);
			}
		}
		pixDestroy(&light);
		pixDestroy(&dark);
		boxDestroy(&box);
	}
	boxaDestroy(&areas);
}

// dark_areas returns a mask of the areas that are ink all over but for what is written on them: solid ink a tenth of an inch high and wide,
// and what it encloses. It is at a quarter of the resolution. What lies around the page on the scanner's glass comes as border.
static PIX *dark_areas(PIX *grey, int below, int dpi, PIX **border) {
	PIX *ink = pixThresholdToBinary(grey, below);
	if (ink == NULL) {
		return NULL;
	}
	PIX *small = pixReduceRankBinaryCascade(ink, 3, 3, 0, 0);
	pixDestroy(&ink);
	if (small == NULL) {
		return NULL;
	}
	int size = dpi / 40; // a tenth of an inch
	if (size < 4) {
		size = 4;
	}
	PIX *solid = pixOpenBrick(NULL, small, 2 * size, size / 2);
	PIX *joined = solid == NULL ? NULL : pixCloseSafeBrick(NULL, solid, 2 * size, 2 * size);
	PIX *areas = joined == NULL ? NULL : pixOpenBrick(NULL, joined, 4 * size, size);
	*border = areas == NULL ? NULL : pixCreateTemplate(areas);
	if (*border != NULL) {
		fill_letters(areas, 20 * size, 5 * size);
		drop_wordless(areas, small, *border, size);
	}
	pixDestroy(&small);
	pixDestroy(&solid);
	pixDestroy(&joined);
	return areas;
}

// paper_grey returns the grey that a tenth of those which are no ink exceed: of a page in shadow, that where it is
// light.
static int paper_grey(PIX *grey, int below) {
	NUMA *counts = pixGetGrayHistogram(grey, 4);
	l_float32 count = 0, sum = 0, seen = 0;
	for (int v = below; v < numaGetCount(counts); v++) {
		numaGetFValue(counts, v, &count);
		sum += count;
	}
	int paper = below;
	for (; paper < 255; paper++) {
		numaGetFValue(counts, paper, &count);
		if ((seen += count) * 10 >= sum * 9) {
			break;
		}
	}
	numaDestroy(&counts);
	return paper;
}

// ground_grey returns the grey of most of an image.
static int ground_grey(PIX *grey) {
	NUMA *counts = pixGetGrayHistogram(grey, 4);
	l_float32 count = 0;
	int most = 0, ground = 0;
	for (int v = 0; v < numaGetCount(counts); v++) {
		numaGetFValue(counts, v, &count);
		if (count > most) {
			most = count;
			ground = v;
		}
	}
	numaDestroy(&counts);
	return ground;
}

// turn_area turns the pixels of an area, whose mask at a quarter of the resolution stands at a place of such a mask, to their opposite. Its
// ground becomes as light as the paper: the opposite of grey is grey, and beside white would pass for ink as before.
static void turn_area(PIX *out, PIX *area, BOX *place, int paper) {
	l_int32 x, y, w, h;
	boxGetGeometry(place, &x, &y, &w, &h);
	BOX *box = boxCreate(4 * x, 4 * y, 4 * w, 4 * h);
	PIX *mask = pixExpandReplicate(area, 4);
	PIX *part = pixClipRectangle(out, box, NULL);
	PIX *opposite = part == NULL ? NULL : pixInvert(NULL, part);
	if (mask != NULL && opposite != NULL) {
		int ground = ground_grey(opposite);
		if (ground > 0 && ground < paper) {
			pixMultConstantGray(opposite, (float)paper / ground);
		}
		pixCombineMasked(part, opposite, mask);
		pixRasterop(out, 4 * x, 4 * y, pixGetWidth(part), pixGetHeight(part), PIX_SRC, part, 0, 0);
	}
	pixDestroy(&opposite);
	pixDestroy(&part);
	pixDestroy(&mask);
	boxDestroy(&box);
}

// turn_light makes light text dark: pixels of dark areas are turned to their opposite. What lies around the page becomes
// as light as the page: beside white, grey paper would pass for ink.
static PIX *turn_light(PIX *grey, int below, int dpi) {
	PIX *border = NULL;
	PIX *areas = dark_areas(grey, below, dpi, &border);
	PIX *around = border == NULL ? NULL : pixExpandReplicate(border, 4);
	PIXA *masks = NULL;
	BOXA *places = areas == NULL ? NULL : pixConnComp(areas, &masks, 8);
	PIX *out = places == NULL ? NULL : pixCopy(NULL, grey);
	if (out != NULL) {
		int paper = paper_grey(grey, below);
		for (int i = 0; i < boxaGetCount(places); i++) {
			PIX *mask = pixaGetPix(masks, i, L_CLONE);
			BOX *place = boxaGetBox(places, i, L_CLONE);
			turn_area(out, mask, place, paper);
			pixDestroy(&mask);
			boxDestroy(&place);
		}
		if (around != NULL) {
			pixSetMasked(out, around, paper);
		}
	}
	boxaDestroy(&places);
	pixaDestroy(&masks);
	pixDestroy(&areas);
	pixDestroy(&border);
	pixDestroy(&around);
	return out;
}

// blur smooths an image with a Gaussian of a deviation in pixels.
static PIX *blur(PIX *pix, float deviation) {
	L_KERNEL *across, *down;
	const int half = (int)ceilf(2 * deviation);
	if (makeGaussianKernelSep(half, half, deviation, 1, &across, &down) != 0) {
		return NULL;
	}
	PIX *out = pixConvolveSep(pix, across, down, 8, 1);
	kernelDestroy(&across);
	kernelDestroy(&down);
	return out;
}

void ink_quiet(void) { setMsgSeverity(L_SEVERITY_NONE); }

unsigned char *ink_prepare(const unsigned char *pixels, int width, int height, struct ink_steps steps, int *out_width, int *out_height) {
	PIX *pix = from_bytes(pixels, width, height);
	if (pix == NULL) {
		return NULL;
	}
	if (steps.turn != 0) {
		replace(&pix, pixRotateOrth(pix, steps.turn));
	}
	if (steps.level) {
		replace(&pix, level(pix, steps.dpi));
	}
	if (steps.invert) {
		replace(&pix, turn_light(pix, steps.below, steps.dpi));
	}
	if (steps.median) {
		replace(&pix, pixMedianFilter(pix, 3, 3));
	}
	if (steps.blur > 0) {
		replace(&pix, blur(pix, steps.blur));
	}
	if (steps.scale != 1) {
		replace(&pix, ink_enlarge(pix, steps.scale));
	}
	if (steps.angle != 0) {
		replace(&pix, pixRotate(pix, steps.angle * M_PI / 180, L_ROTATE_AREA_MAP, L_BRING_IN_WHITE, pixGetWidth(pix), pixGetHeight(pix)));
	}
	return to_bytes(pix, out_width, out_height);
}

PIX *ink_blurred(const unsigned char *pixels, int width, int height, float deviation) {
	PIX *pix = from_bytes(pixels, width, height);
	if (pix != NULL) {
		replace(&pix, blur(pix, deviation));
	}
	return pix;
}

int ink_skew(const unsigned char *pixels, int width, int height, int below, int dpi, float *angle, float *sureness) {
	*angle = *sureness = 0;
	PIX *ink = binary(pixels, width, height, below);
	if (ink == NULL) {
		return 1;
	}
	int fine = dpi > 220 ? 2 : 1; // search at 100 to 220 dpi, sweep at half of it
	int failed = pixFindSkewSweepAndSearch(ink, angle, sureness, 2 * fine, fine, 7, 1, 0.02);
	pixDestroy(&ink);
	return failed;
}

int ink_components(const unsigned char *pixels, int width, int height, int below, int *boxes, int most) {
	PIX *ink = binary(pixels, width, height, below);
	BOXA *areas = ink == NULL ? NULL : pixConnCompBB(ink, 8);
	pixDestroy(&ink);
	const int count = boxaGetCount(areas);
	for (int i = 0; i < count && i < most; i++) {
		l_int32 x, y, w, h;
		boxaGetBoxGeometry(areas, i, &x, &y, &w, &h);
		boxes[4 * i] = x;
		boxes[4 * i + 1] = y;
		boxes[4 * i + 2] = x + w;
		boxes[4 * i + 3] = y + h;
	}
	boxaDestroy(&areas);
	return count;
}

int ink_screen(const unsigned char *pixels, int width, int height, int below, int dpi, int least) {
	const int tile = dpi / 10 > 8 ? dpi / 10 : 8;
	const int columns = width / tile + 1;
	const int tiles = columns * (height / tile + 1);
	int *dots = calloc(tiles, sizeof *dots);
	PIX *ink = dots == NULL ? NULL : binary(pixels, width, height, below);
	BOXA *areas = ink == NULL ? NULL : pixConnCompBB(ink, 8);
	pixDestroy(&ink);
	for (int i = 0; i < boxaGetCount(areas); i++) {
		l_int32 x, y, w, h;
		boxaGetBoxGeometry(areas, i, &x, &y, &w, &h);
		if (w * 72 <= dpi && h * 72 <= dpi) {
			dots[y / tile * columns + x / tile]++;
		}
	}
	boxaDestroy(&areas);
	int count = 0;
	for (int i = 0; i < tiles && dots != NULL; i++) {
		count += dots[i] >= least ? dots[i] : 0;
	}
	free(dots);
	return count;
}

// has_ink_beside reports whether much ink lies close to either long side of a box, as it does where the letters of small print run together
// to a line.
static int has_ink_beside(PIX *ink, int x, int y, int w, int h, int horizontal) {
	for (int side = 0; side < 2; side++) {
		BOX *strip = horizontal ? boxCreate(x, side ? y + h : y - 1, w, 1) : boxCreate(side ? x + w : x - 1, y, 1, h);
		l_int32 pixels = 0;
		pixCountPixelsInRect(ink, strip, &pixels, NULL);
		boxDestroy(&strip);
		if (10 * pixels > 4 * (horizontal ? w : h)) { // four tenths
			return 1;
		}
	}
	return 0;
}

// segments adds the boxes of the long areas that opening with a brick leaves.
static int segments(PIX *ink, int across, int down, int thickest, int scale, int *boxes, int most) {
	const int horizontal = across > down;
	// Made thicker by a pixel on either side, so that a line that is a little bowed or askew has no steps.
	PIX *lines = pixDilateBrick(NULL, ink, horizontal ? 1 : 3, horizontal ? 3 : 1);
	if (lines == NULL) {
		return 0;
	}
	replace(&lines, pixOpenBrick(NULL, lines, across, down));
	if (lines == NULL) {
		return 0;
	}
	PIXA *areas = NULL;
	BOXA *found = pixConnComp(lines, &areas, 8);
	pixDestroy(&lines);
	if (found == NULL) {
		return 0;
	}
	int n = 0;
	for (int i = 0; i < boxaGetCount(found) && n < most; i++) {
		l_int32 x, y, w, h, pixels = 0;
		boxaGetBoxGeometry(found, i, &x, &y, &w, &h);
		PIX *area = pixaGetPix(areas, i, L_CLONE);
		pixCountPixels(area, &pixels, NULL);
		pixDestroy(&area);
		// Of a hairline that goes up and down by a pixel, opening leaves less than it was made thicker by.
		const int dilated = horizontal ? h : w, thickness = dilated > 3 ? dilated - 2 : 1, length = horizontal ? w : h;
		if (horizontal) {
			y += (dilated - thickness) / 2, h = thickness;
		} else {
			x += (dilated - thickness) / 2, w = thickness;
		}
		if (thickness > 2 * thickest || pixels > (thickest + 2) * length) {
			continue; // print, a picture or a bar
		}
		if (length < 4 * (horizontal ? across : down) && has_ink_beside(ink, x, y, w, h, horizontal)) {
			continue; // print
		}
		boxes[4 * n] = x * scale;
		boxes[4 * n + 1] = y * scale;
		boxes[4 * n + 2] = (x + w) * scale;
		boxes[4 * n + 3] = (y + h) * scale;
		n++;
	}
	pixaDestroy(&areas);
	boxaDestroy(&found);
	return n;
}

int ink_rulings(const unsigned char *pixels, int width, int height, int below, int dpi, float angle, int *boxes, int most) {
	PIX *ink = binary(pixels, width, height, below);
	if (ink == NULL) {
		return 0;
	}
	if (angle != 0) {
		// Straightened as ink: between two rows of greys a hairline becomes too pale for it.
		replace(&ink, pixRotate(ink, angle * M_PI / 180, L_ROTATE_SAMPLING, L_BRING_IN_WHITE, width, height));
	}
	const int dx = (width - pixGetWidth(ink)) / 2, dy = (height - pixGetHeight(ink)) / 2;
	// Halved, where any ink counts: a hairline stays whole, and one that is broken by noise grows together.
	PIX *half = pixReduceRankBinaryCascade(ink, 1, 0, 0, 0);
	pixDestroy(&ink);
	if (half == NULL) {
		return 0;
	}
	const int length = dpi / 4;    // half an inch, longer than any stroke of a letter
	const int thickest = dpi / 24; // six points
	int n = segments(half, length, 1, thickest, 2, boxes, most);
	n += segments(half, 1, length, thickest, 2, boxes + 4 * n, most - n);
	for (int i = 0; i < 4 * n; i++) {
		boxes[i] += i % 2 == 0 ? dx : dy;
	}
	pixDestroy(&half);
	return n;
}

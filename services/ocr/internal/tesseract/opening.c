// Tesseract looks for lines and pictures by opening the page with bricks, of up to 75 pixels in a row at 300 dpi.
// Leptonica does so with a copy of the page for each pixel of the brick, twice: a tenth of the processor time of a
// page. Here each copy doubles what those before it covered, so that 7 take the place of 75. An executable's symbols
// go before those of shared libraries, and an opening is the union of the bricks that fit, whichever way it is
// computed (TestOpening).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <leptonica/allheaders.h>

#include "image.h"

// spread combines each pixel with the n-1 ones before it, or after it where dx or dy is negative. It returns not 0
// without memory.
static int spread(PIX *pix, int n, int dx, int dy, int operation) {
	for (int covered = 1; covered < n;) {
		int step = n - covered < covered ? n - covered : covered;
		PIX *before = pixCopy(NULL, pix);
		if (before == NULL) {
			return 1;
		}
		pixRasterop(pix, dx * step, dy * step, pixGetWidth(pix), pixGetHeight(pix), operation, before, 0, 0);
		pixDestroy(&before);
		covered += step;
	}
	return 0;
}

// open_brick returns the pixels of which a brick of ink can cover each; NULL without memory.
static PIX *open_brick(PIX *from, int width, int height) {
	PIX *pix = pixCopy(NULL, from);
	const int w = pixGetWidth(from), h = pixGetHeight(from);
	// The corners at the top and left of the bricks that fit, and then the bricks.
	int failed = pix == NULL || spread(pix, width, -1, 0, PIX_MASK) || spread(pix, height, 0, -1, PIX_MASK);
	if (!failed) {
		pixRasterop(pix, w - width + 1, 0, width - 1, h, PIX_CLR, NULL, 0, 0);
		pixRasterop(pix, 0, h - height + 1, w, height - 1, PIX_CLR, NULL, 0, 0);
		failed = spread(pix, width, 1, 0, PIX_PAINT) || spread(pix, height, 0, 1, PIX_PAINT);
	}
	if (failed) {
		pixDestroy(&pix);
	}
	return pix;
}

typedef PIX *(*open_function)(PIX *, PIX *, l_int32, l_int32);

PIX *pixOpenBrick(PIX *to, PIX *from, l_int32 width, l_int32 height) {
	static open_function original;
	if (to == NULL && from != NULL && pixGetDepth(from) == 1 && width >= 1 && height >= 1) {
		return open_brick(from, width, height);
	}
	if (original == NULL) { // several threads would write the same value
		original = (open_function)dlsym(RTLD_NEXT, "pixOpenBrick");
	}
	return original == NULL ? NULL : original(to, from, width, height);
}

int ink_opening(const unsigned char *pixels, int width, int height, int brick_width, int brick_height,
	unsigned char *out) {
	PIX *pix = pixCreate(width, height, 1);
	for (int i = 0; pix != NULL && i < width * height; i++) {
		pixSetPixel(pix, i % width, i / width, pixels[i]);
	}
	PIX *opened = pix == NULL ? NULL : pixOpenBrick(NULL, pix, brick_width, brick_height);
	for (int i = 0; opened != NULL && i < width * height; i++) {
		l_uint32 value = 0;
		pixGetPixel(opened, i % width, i / width, &value);
		out[i] = (unsigned char)value;
	}
	int failed = opened == NULL;
	pixDestroy(&pix);
	pixDestroy(&opened);
	return failed;
}

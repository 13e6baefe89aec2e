#include "enlarge.h"

#include <leptonica/allheaders.h>
#include <math.h>
#include <stdlib.h>

// TAPS is how many pixels of the source make up one of the outcome along each axis: three on each side.
#define TAPS 6

struct taps {
	int first; // the source's pixel with the first weight; it and those after it may lie beyond the edge
	float weights[TAPS];
};

// lanczos returns the value of Lanczos's window of three lobes at a distance in pixels (C. E. Duchon, Lanczos filtering in one and two
// dimensions, 1979).
static float lanczos(float distance) {
	const float x = (float)M_PI * fabsf(distance);
	return x < 1e-4f ? 1 : x >= 3 * (float)M_PI ? 0 : 3 * sinf(x) * sinf(x / 3) / (x * x);
}

// make_taps fills in what each of so many pixels of an axis is made of. The middle of the first pixel lies half a pixel from the edge in
// the source and in the outcome.
static void make_taps(struct taps *taps, int count, float scale) {
	for (int i = 0; i < count; i++) {
		const float middle = (i + 0.5f) / scale - 0.5f;
		float sum = 0;
		taps[i].first = (int)floorf(middle) - TAPS / 2 + 1;
		for (int k = 0; k < TAPS; k++) {
			sum += taps[i].weights[k] = lanczos(middle - (taps[i].first + k));
		}
		for (int k = 0; k < TAPS; k++) {
			taps[i].weights[k] /= sum;
		}
	}
}

static int clamp(int i, int count) { return i < 0 ? 0 : i >= count ? count - 1 : i; }

// widen fills a row of the outcome's width from a row of the source.
static void widen(const unsigned char *from, int width, const struct taps *taps, int wide, float *to) {
	for (int x = 0; x < wide; x++) {
		const int first = taps[x].first;
		float sum = 0;
		for (int k = 0; k < TAPS; k++) {
			sum += taps[x].weights[k] * from[clamp(first + k, width)];
		}
		to[x] = sum;
	}
}

// fill fills the rows of the outcome, whose pixels lie in the order of the machine's bytes, as the source's do. Rows of the source are
// widened once: those that a row of the outcome is made of lie in rows, each at its number modulo TAPS.
static void fill(PIX *from, PIX *to, const struct taps *across, const struct taps *down, float *rows) {
	const int width = pixGetWidth(from), height = pixGetHeight(from), wide = pixGetWidth(to), high = pixGetHeight(to);
	int widened = -1; // the last row of the source that was widened
	for (int y = 0; y < high; y++) {
		const float *row[TAPS];
		for (int k = 0; k < TAPS; k++) {
			const int at = clamp(down[y].first + k, height);
			for (; widened < at; widened++) {
				const unsigned char *line = (const unsigned char *)(pixGetData(from) + (size_t)(widened + 1) * pixGetWpl(from));
				widen(line, width, across, wide, rows + (size_t)((widened + 1) % TAPS) * wide);
			}
			row[k] = rows + (size_t)(at % TAPS) * wide;
		}
		const float *w = down[y].weights;
		unsigned char *out = (unsigned char *)(pixGetData(to) + (size_t)y * pixGetWpl(to));
		for (int x = 0; x < wide; x++) {
			const float sum = 0.5f + w[0] * row[0][x] + w[1] * row[1][x] + w[2] * row[2][x] + w[3] * row[3][x] + w[4] * row[4][x] + w[5] * row[5][x];
			out[x] = sum < 0 ? 0 : sum > 255 ? 255 : (unsigned char)sum;
		}
	}
}

PIX *ink_enlarge(PIX *pix, float scale) {
	const int wide = (int)(pixGetWidth(pix) * scale + 0.5f), high = (int)(pixGetHeight(pix) * scale + 0.5f);
	PIX *out = pixCreate(wide, high, 8);
	struct taps *across = malloc(wide * sizeof *across), *down = malloc(high * sizeof *down);
	float *rows = malloc((size_t)TAPS * wide * sizeof *rows);
	if (out == NULL || across == NULL || down == NULL || rows == NULL) {
		pixDestroy(&out);
	} else {
		make_taps(across, wide, scale);
		make_taps(down, high, scale);
		pixEndianByteSwap(pix);
		fill(pix, out, across, down, rows);
		pixEndianByteSwap(pix);
		pixEndianByteSwap(out);
	}
	free(across);
	free(down);
	free(rows);
	return out;
}

// Enlarging an image.

struct Pix;

// ink_enlarge returns an 8-bit grey image of Leptonica's, scale times as large each way, NULL without memory. The curve through the pixels is
// Lanczos's: the straight one between neighbours leaves strokes of one pixel pale and wide.
struct Pix *ink_enlarge(struct Pix *pix, float scale);

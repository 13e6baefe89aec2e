// Work on images that Leptonica does. Pixels are 8-bit grey, 0 black, in rows without padding.

// ink_steps says what is done to an image, in this order.
struct ink_steps {
	int dpi;
	int below;   // what is darker than this is ink
	int turn;    // quarters clockwise
	int level;   // even out the ground
	int invert;  // make light text on dark areas dark on light
	int median;  // 3 by 3, against specks
	float blur;  // deviation in pixels, against the dots of a screen; 0 for none
	float scale; // enlarge, 1 for as it is
	float angle; // degrees clockwise, on a ground as large as it takes
};

// ink_quiet keeps Leptonica from chatting about each image on standard error, which is for last words.
void ink_quiet(void);

// ink_prepare returns the image after the steps, which the caller frees; NULL without memory.
unsigned char *ink_prepare(const unsigned char *pixels, int width, int height, struct ink_steps steps, int *out_width, int *out_height);

// ink_blurred returns the image smoothed with a Gaussian of a deviation in pixels, for Tesseract, which frees it; NULL without memory.
struct Pix *ink_blurred(const unsigned char *pixels, int width, int height, float deviation);

// ink_skew finds the angle in degrees clockwise by which an image must be turned for its lines to run along the rows, and how sure that is
// (Leptonica asks for 3). It returns not 0 where it found none.
int ink_skew(const unsigned char *pixels, int width, int height, int below, int dpi, float *angle, float *sureness);

// ink_components finds the connected areas of ink. It writes up to most boxes of four numbers, x0, y0, x1, y1, and returns how many areas
// there are.
int ink_components(const unsigned char *pixels, int width, int height, int below, int *boxes, int most);

// ink_screen counts the dots, areas of ink no larger than a point, that lie as close to each other as those of a screen: at least so many on a
// tenth of an inch each way.
int ink_screen(const unsigned char *pixels, int width, int height, int below, int dpi, int least);

// ink_rulings finds straight lines along the rows and columns of the image turned by angle degrees clockwise around its middle. It writes up
// to most boxes of four numbers, x0, y0, x1, y1, and returns how many. They are counted from where the image's corner was before the turn.
int ink_rulings(const unsigned char *pixels, int width, int height, int below, int dpi, float angle, int *boxes, int most);

// ink_opening writes to out which pixels of ink, those that are 1, a brick of ink of that size can cover. It returns not 0
// where it failed. It is for tests.
int ink_opening(const unsigned char *pixels, int width, int height, int brick_width, int brick_height,
	unsigned char *out);

// A serial OpenMP runtime, in place of libgomp's, for libtesseract.
//
// Tesseract splits the layers of its network over threads with OpenMP. Every page here has a core of its own, so more threads only cost
// (many times slower), and OMP_THREAD_LIMIT=1, the usual remedy, still goes through libgomp for each of some 50,000 small
// regions a page, with several futex calls each: 13 % of the CPU of a page. These are all the entry points that libtesseract calls (a test
// holds it to that); as an executable's symbols go before those of shared libraries, the loader binds it to them. The meaning is that of
// the OpenMP specification with a team of one. Nothing else in this program uses OpenMP, and a libtesseract built without it, or by a
// compiler with another runtime, ignores them and obeys OMP_THREAD_LIMIT.

// Sections of the innermost region: how many there are, and the next to be handed out, from 1.
static __thread unsigned sections, next_section;

void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags) {
	(void)threads;
	(void)flags;
	body(data);
}

void GOMP_parallel_sections(void (*body)(void *), void *data, unsigned threads, unsigned count, unsigned flags) {
	(void)threads;
	(void)flags;
	unsigned outer_sections = sections, outer_next = next_section;
	sections = count;
	next_section = 1;
	body(data);
	sections = outer_sections;
	next_section = outer_next;
}

unsigned GOMP_sections_next(void) { return next_section <= sections ? next_section++ : 0; }

void GOMP_sections_end_nowait(void) {}

int omp_get_num_threads(void) { return 1; }

int omp_get_thread_num(void) { return 0; }

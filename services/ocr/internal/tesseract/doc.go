// Package tesseract reads the words on a raster with libtesseract, through its C API and on raw pixels, in supervised child processes.
//
//	Engine (parent) ── raster's file, languages, resolution ──> reader (child): which way do the lines run? ── recognise ── sure?
//	       <── a page, which Sane does not believe blindly ──                                                      │
//	                                                                           turn and read again <── OSD <── no ─┘
//
// Handle is the thin layer over the C API. The child (reader) keeps one handle for each combination of languages, warm. A page that stands
// upright and reads well costs one recognition and a millisecond's look at the direction of its lines; only a page that lies on its side,
// or that reads badly, is shown to the orientation detector.
//
// # Speed
//
// CPU seconds, user and system, against the tesseract command with OMP_THREAD_LIMIT=1, page by page and turn about with it on a machine whose
// cores were busy otherwise (BenchmarkAgainstCommandLine; Tesseract 5.3.0, AMD EPYC, rasters at 300 dpi):
//
//	51 pages of the corpus, five of which lie the wrong way up    0.81 of tesseract, 0.74 of pdftoppm and tesseract
//	 5 dense upright pages                                        0.75 of tesseract, 0.70 of pdftoppm and tesseract
//
// The text is the command's, character for character, but for the pages that lie the wrong way up, where its character error rate is 0.8 to
// 0.9 and ours is 0.00 to 0.02. What it comes from, in parts of the CPU of a warm page: models stay loaded (0.2 s a page); no OpenMP runtime
// (10 to 13 %, serial.c); no PNG between the stages of the recognition (7 %, lineimage.c); no second look for light text where no ground is
// dark (3 %, up to 28 % on bad scans). The looks at the raster beforehand take 0.5 %. Tried, and not worth it or harmful: no table finding
// (0.33 to 0.58 wrong on a table), no inversion at all (a slide goes from 0.07 to 0.9), no fixed pitch, no vertical text (no difference),
// images at 0.8 of the resolution (0.90 of the time, but receipts suffer: render picks the resolution by the size of the text).
package tesseract

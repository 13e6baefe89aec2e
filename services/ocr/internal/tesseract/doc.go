// Package tesseract reads the words on a raster with libtesseract, through its C API and on raw pixels, in supervised
// child processes.
//
//	Engine (parent) ── raster's file, languages, resolution ──> child: clean ── which way do the lines run? ── straighten ── recognise
//	       <── a page, which Sane does not believe blindly ──                                                                   │
//	                              page, or the better lines of both <── read again, turned or enlarged <── in doubt <───────────┤
//	                                                                                                              sure: page <──┘
//
// Handle is the thin layer over the C API, image.c the one over Leptonica. The child (reader) keeps one handle for
// each combination of languages, warm. A page that stands upright and reads well costs one recognition and 20 to 30
// ms of looks; what is done to a page is done only where those looks say so:
//
//	background.go shaded or tinted paper is evened out: CER 0.63 to 0.03 on the corpus's three shaded scans
//	image.c       light text on dark areas becomes dark, and black cloth around a book as light as its paper: 0.23 to 0.14 on two old books,
//	              0.079 to 0.072 on a slide, 1.0 to 0.23 on a title page of grey paper; on pages on their side along their lines: words
//	              lost 0.49 to 0.03 on a brochure
//	image.c       dark grey under light text becomes as light as the paper: 0.30 to 0.01 on a generated brochure
//	pale_text.go  pale letters become dark where something else on the page is black and parts them from no paper: 1.0 to 0.20 on a receipt
//	despeckle.go  specks are smoothed; noise and screened pictures, on which the layout analysis takes minutes, are left unread; pages with
//	              screens are read once more, blurred: 0.088 to 0.070 on two columns under a grey heading, 0.47 to 0.43 on a table
//	dust.go       specks smaller than any dot of the print become white: whole runs of words 0.72 to 0.98 on a generated fax of 4.5 points
//	leaders.go    what dots lead from and to, a name and its number, becomes one line, where Tesseract makes columns of them and letters of the
//	              dots: whole runs of words 0.60 to 0.89, 0.47 to 0.80 and 0.74 to 0.75 on three generated scans; the dots are made paper
//	              before a page is read: misread words 0.069 to 0.022 on 18 others, in 0.73 of the time
//	dashes.go     frames and rules of dashes become paper, where Tesseract reads letters: 0.156 to 0.108 on five generated pages of
//	              advertisements, whole runs of words 0.82 to 0.89
//	bullets.go    discs before lines become bullets, where Tesseract reads a letter or nothing: 0.030 to 0.009 and 0.061 to 0.044 on slides;
//	              dashes before lines are read, where Tesseract leaves them out: 0.023 to 0.007 on nested lists, whole runs of words 0.67 to 0.86
//	              discs right above the baseline, single ones, and those of lists beside each other: five more pages of 112 in the same
//	capital_i.go  bars that stand on the line as capitals do become the letter I: whole runs of words 0.66 to 0.95 and 0.89 to 0.97 on
//	              two scans in faces without serifs
//	strokes.go    letters that are hardly two pixels thin are darkened: 532 wrong characters to 417 on eight scans at 150 and 200 dpi
//	bleed.go      print of the sheet's other side becomes white where it shows through: 0.056 to 0.006, 0.065 to 0.008 and 0.034 to 0.008 on
//	              three generated scans; whole runs of words 0.71 to 1.00 on one where it shows through by a fifth; a page that then reads
//	              badly is read as it was: 0.35 to 0.11, 0.26 to 0.19 and 0.17 to 0.14 on faded receipts
//	reader.go     text in columns from top to bottom is read with the model for those, where one is installed: 0.99 to 0.01 and 0.97 to 0.03 on
//	              two generated scans in Japanese
//	smallprint.go print whose small letters are lower than 10 pixels is read enlarged, at the resolution at which it would be of ordinary size:
//	              0.36 to 0.10 on a page of 2.5 by 4 inches, 0.31 to 0.09 and 0.37 to 0.22 on scans at 150 and 100 dpi; 24 degraded
//	              pages 0.297 to 0.281 (the command 0.318); print that the resolution which a page claims makes far too large is read
//	              at its own: 0.25 to 0.14 and 0.49 to 0.13 on a report and a ruled table
//	ink.go        lines of letters that no word covers, and columns of figures, single ones too, are read again, as a block and as scattered
//	              text, and take the place of what was hardly read as a line that runs up; what remains is counted and listed: 0.73 to 0.14 on
//	              a generated timetable, 0.50 to 0.05 on tables of results, 0.65 to 0.13 on one of departures
//	bend.go       lines that are bent, as on a page that does not lie flat, are straightened: 0.072 to 0.058 on 23 generated scans, whole
//	              runs of words 0.88 to 0.91
//	bend_rows.go  what ends bent lines beyond a gap stands on them, and margins tell how far the page was turned besides:
//	              0.114 to 0.101 on 34 generated scans, whole runs of words 0.84 to 0.85
//	smallprint.go lines that are read enlarged are smoothed beforehand, but not the image in which they are looked for: full stops are no
//	              commas then; misread words 0.120 to 0.098 on 11 generated scans at 100 dpi, whole runs of words 0.65 to 0.75
//	enlarge.c     coarse scans are enlarged along Lanczos's curve, before they are cleaned: words found 0.81 to 0.83 on 59 generated pages at
//	              100 dpi (the command 0.81, at 300), 0.60 to 0.13 on a table of departures, 0.15 to 0.02 on a catalogue
//	reader.go     lines that run askew by 0.4 degrees or more are straightened: 0.036 to 0.010; boxes are mapped back to the page as it was
//	rulings.go    lines are looked for on the straightened page, whether they are a little bowed or not, and bars that were read in their place
//	              dropped: with them the cells of three ruled tables on generated scans go from 0.18 to 0.87 (F1)
//	rulings.go    lines across all of the text part what stands above from what stands below, pale ones and hairlines too: on generated
//	              newspapers whose four columns were read through one
//	merge.go      a page that reads badly (mean confidence below 0.82) is read once more, enlarged, and the surer of each line is kept
//	duplicates.go characters of Chinese, Japanese and Korean that were read twice count once: better in five of 18 variants of three pages (turned,
//	              scaled, blurred, noisy), worse in one
//	greek.go      breathings and circumflexes that are read in modern Greek become its one accent, and micro signs the letter mu
//	other_letters.go
//	              words in Latin letters are read once more without English on pages in other letters: whole runs of words 0.87 to 0.92 on seven
//	              generated scans in Arabic, Greek and Hebrew
//	tall_boxes.go boxes of words are as high as the ink in them, where tints made them higher: 0.110 to 0.035 on a generated timetable
//	weight.go     words whose strokes are thicker than those of most are bold: headings found 0.76 to 0.87 (F1) on 75
//	              generated scans
//	other_language.go
//	              pages whose language an upload does not name are read again in another that their words or their script tell: words found
//	              on 42 generated scans in nine other languages 0.69 to 0.83, 33 in English as before
//	further_language.go
//	              blocks in yet another language, as where neither of two is the usual one, are read in that: words found on 14 generated scans
//	              in two languages 0.950 to 0.982, whole runs of words 0.82 to 0.93
//	larger_network.cc
//	              parts of lines that the networks of the installed models doubt, which are small, are read by larger ones as well, where
//	              those are there: misread words 0.036 to 0.032 on 75 generated scans, 0.040 to 0.033 on 75 others, whole runs of words
//	              0.91 to 0.92 and 0.89 to 0.91; the larger ones alone misread 0.037 of the latter, and do worse on the worst pages. Parts
//	              in the place of lines, the small network always first: 0.0195 to 0.0187 on 28 others; on 24 of the corpus's, 508
//	              misread words to 517
//	dictionary.go the words of the models tell the language of lists and tables: of the letters that English lacks, words found with them
//	              on 49 generated scans in others 0.81 to 0.95, the corpus's English scans and 68 generated ones as before
//	language_detection.go
//	              languages "auto": the script detector, and among the languages of a script a comparison on two squares of the page; English
//	              besides scripts whose models have no Latin letters: 0.22 to 0.04 on seven pages
//
// # Speed
//
// CPU seconds of 41 scanned pages at 300 dpi, all that a job does included, against pdftoppm and the tesseract command,
// one a core (make bench; Tesseract 5.3.0, AMD EPYC with AVX2): 0.50 of theirs, and 0.82 before what forward.cc and
// opening.c do. BenchmarkAgainstCommandLine compares page by page.
//
// The text is the command's, character for character, but for a few pages in typewriter faces, those that lie the
// wrong way up, where its character error rate is 0.8 to 0.9 and ours is 0.00 to 0.02, and those that need cleaning or
// a second reading. libtesseract is linked statically (0.93 of the CPU of the shared library, whose functions call
// each other through a table), but for builds with the tag tesseract_shared. What it comes from, in parts of the CPU
// of a warm page: the line recogniser's forward pass (0.54 of the page became 0.17, forward.cc, and half of that where
// there is AVX-512 VNNI); openings (a tenth, opening.c); no look for a fixed pitch (5 %; three of the corpus's scans are read a little better, all others as
// before); models stay loaded (0.2 s a page); no OpenMP runtime (10 to 13 %, serial.c); no PNG between the stages of
// the recognition (7 %, lineimage.c); no second look for light text where no ground is dark (3 %, up to 28 % on bad
// scans). The looks at the raster beforehand take 2 %. Tried, and not worth it or harmful: no table finding (0.33 to
// 0.58 wrong on a table), no inversion at all (a slide goes from 0.07 to 0.9), no vertical text (no difference),
// images at 0.8 of the resolution (0.90 of the time, but receipts suffer: render picks the resolution by the size of
// the text), a second reading of pages that read well (no better).
package tesseract

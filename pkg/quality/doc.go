// Package quality holds the measures that say how good a job's artifacts are: tables, headings and markdown against
// documents with known structure, searchable PDFs against the words that were recognised, images against those in the
// PDF. Those for plain text are in pdftest/score.
//
// Every measure is a well-known one, or as near to it as the truths allow, and says in its comment what it counts.
package quality

// F1 is the harmonic mean of precision and recall of a comparison that found equal things common to truth and got: 1
// if all are equal, and also if there are none on both sides.
func F1(equal, truth, got int) float64 {
	if truth+got == 0 {
		return 1
	}
	return 2 * float64(equal) / float64(truth+got)
}

// Package outcome owns how a page ends. Each page of a run ends with one outcome, which stands in the page's result and,
// as a letter, in the run's progress (pkg/job); the outcomes of a run sum to its pages. The functions of this package
// are the only code that writes an outcome into a result:
//
//	outcome      function        called by                 when
//	native_text  SetNative       pkg/pdf/internal/host     the page's own text is taken; with ocr=skip, such as it is
//	native_text  SetNative       services/ocr              the page's text layer says what its raster shows
//	blank        SetBlank        pkg/pdf/internal/host     nothing is on the page
//	skipped      SetSkipped      pkg/pdf/internal/host     ocr=skip, and the page has no text of its own
//	skipped      NewSkippedPage  services/scan             the job's selection of pages leaves it out
//	                             services/index            the same, where no result was stored
//	                             services/gateway/results  the same, in document.json
//	ocr          SetOCR          services/render           there is a raster, for ocr to recognise or to fail
//	                             services/ocr              the raster was recognised
//	failed       NewFailedPage   services/render           the page cannot be read, or has too many words
//	                             services/ocr              the raster cannot be recognised
//	                             services/gateway/results  shown for a failed page that has no result
//
// A page that has an outcome has ended when its progress says so, which scan writes for pages that it leaves out, and
// index for all others (job.Progress.SetOutcomes).
package outcome

import (
	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// The outcomes that a page can have, as results and the API say them.
const (
	Native  = "native_text"
	OCR     = "ocr"
	Blank   = "blank"
	Failed  = "failed"
	Skipped = "skipped"
)

// Letters holds the letter of each outcome in a run's progress.
var Letters = map[string]byte{Native: 'n', OCR: 'o', Blank: 'b', Failed: 'f', Skipped: 's'}

// The reasons of pages that were skipped. Those of failed pages are short forms of codes, see fault.Code.ShortReason.
const (
	NotSelected = "not_selected"
	OCRSkipped  = "ocr_skipped"
)

// The reasons that have to do with a scan's text layer. Until the page is recognised its result has one of the first
// two; the last is that of a recognised page.
const (
	// LayerSample asks for a sample of the layer to be held against the raster.
	LayerSample = "text_layer_sample"
	// LayerWhole asks for the whole of it, because the page may show more than the layer has.
	LayerWhole = "text_layer_whole"
	// LayerDisagrees says that the layer was replaced, because the raster shows something else.
	LayerDisagrees = "text_layer_disagrees"
)

// SetNative says that the page's own text is its result.
func SetNative(p *inkstreamv1.Page) { p.Outcome = Native }

// SetBlank says that nothing is on the page.
func SetBlank(p *inkstreamv1.Page) { p.Outcome = Blank }

// SetOCR says that the page's text is that of its raster.
func SetOCR(p *inkstreamv1.Page) { p.Outcome = OCR }

// SetSkipped says that the page was left out, and why: one of the reasons above.
func SetSkipped(p *inkstreamv1.Page, reason string) { p.Outcome, p.Reason = Skipped, reason }

// NewSkippedPage returns the result of a page that nothing is read of; the reason is "" where it is not known.
func NewSkippedPage(page int, reason string) *inkstreamv1.Page {
	p := &inkstreamv1.Page{Number: int32(page)}
	SetSkipped(p, reason)
	return p
}

// NewFailedPage returns the result of a page that a stage could not read because of err.
func NewFailedPage(page int, stage string, err error) *inkstreamv1.Page {
	code := fault.CodeOf(err)
	return &inkstreamv1.Page{
		Number: int32(page), Outcome: Failed, Reason: code.ShortReason(),
		Error: &inkstreamv1.Error{
			Code: string(code), Stage: stage, Page: int32(page), Message: fault.UserMessageOf(err),
			Retryable: code.IsRetryable(),
		},
	}
}

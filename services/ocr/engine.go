package ocr

import (
	"context"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/ocr/recognise"
)

// Engine reads the words on a raster. Errors are *fault.Error: PAGE_TIMEOUT, ENGINE_CRASHED and ENGINE_MEMORY where
// the engine died over the page, PAGE_DAMAGED where the raster is not one, INVALID_OPTION where a language is not
// installed, UNAVAILABLE where no engine can be had; once ctx is done, an error that matches ctx.Err().
// Implementations are safe for concurrent use and pass enginetest.Run.
//
// Boxes are in points from the top left of the raster as it is given. If it had to be turned to be read,
// Page.UprightRotation says by how much, and each line's Angle in which direction it runs; words come in reading
// order.
type Engine interface {
	RecognisePage(ctx context.Context, img Image, opts RecogniseOptions) (*inkstreamv1.Page, error)
}

// Image is a page's raster.
type Image = recognise.Image

// RecogniseOptions says how a page is to be read.
type RecogniseOptions = recognise.Options

// AutoLanguages as the languages of a page has the engine choose among those that are installed.
const AutoLanguages = recognise.Auto

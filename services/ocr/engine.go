package ocr

import (
	"context"
	"log/slog"

	"inkstream.dev/pkg/sandbox"
	"inkstream.dev/services/ocr/internal/tesseract"
	"inkstream.dev/services/ocr/recognise"

	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
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

// Tesseract is an Engine that runs Tesseract in child processes. Close it when no more pages come.
type Tesseract = tesseract.Engine

// TesseractConfig says how many children there are and what they may use.
type TesseractConfig = tesseract.Config

// DefaultTesseractConfig returns the configuration of a production service.
func DefaultTesseractConfig() TesseractConfig { return tesseract.DefaultConfig() }

// NewTesseract returns an engine that has not yet started a child. It fails if no language is installed.
func NewTesseract(cfg TesseractConfig, log *slog.Logger) (*Tesseract, error) {
	return tesseract.New(cfg, log)
}

// AutoLanguages as the languages of a page has the engine choose among those that are installed.
const AutoLanguages = recognise.Auto

// InstalledLanguages returns Tesseract's codes of the languages in its default folder of models, sorted; none where
// there is no such folder.
func InstalledLanguages() ([]string, error) {
	return tesseract.InstalledLanguages(tesseract.DefaultDataPath())
}

// Programs returns what a process that runs this service must list in sandbox.Main.
func Programs() []sandbox.Program {
	return []sandbox.Program{tesseract.Program()}
}

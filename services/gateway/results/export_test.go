package results

// What the tests of the running gateway need to know.
const (
	DefaultDPI      = defaultDPI
	MaxImageAnswers = maxImageAnswers
)

// BoxColours are the colours of the blocks by their types.
var BoxColours = boxColours

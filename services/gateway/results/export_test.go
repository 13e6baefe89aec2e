package results

// What the tests of the running gateway need to know.
const (
	DefaultDPI = defaultDPI
	// TenantImageAnswers is how many drawn pages a tenant is answered at once.
	TenantImageAnswers = maxImageAnswers - spareImageAnswers
	AssembledWeight    = assembledWeight
)

// BoxColours are the colours of the blocks by their types.
var BoxColours = boxColours

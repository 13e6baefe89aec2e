package job

// The engines that a job may choose, as JobOptions in job.proto says.
const (
	// EngineTesseract reads the pages of jobs that name no engine.
	EngineTesseract = "tesseract"
	// EngineAuto has a vision model read the pages that Tesseract reads badly or that have tables.
	EngineAuto = "auto"
	// EngineVision has a vision model read every page.
	EngineVision = "vision"
)

// AllEngines lists them, the default first.
func AllEngines() []string { return []string{EngineTesseract, EngineAuto, EngineVision} }

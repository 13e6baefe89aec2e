package pdf

import (
	"flag"
	"runtime"
)

// Register adds the engine's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.IntVar(&c.Workers, "pdf.workers", 0,
		"PDF engine children, and so documents open at a time; 0 for as many as the service needs")
	fs.Int64Var(&c.MemoryLimit, "pdf.memory-limit", c.MemoryLimit,
		"resident `bytes` of a PDF engine child; beyond it the child is killed")
	fs.DurationVar(&c.OpenTimeout, "pdf.open-timeout", c.OpenTimeout, "how long opening a document may take")
	fs.DurationVar(&c.PageTimeout, "pdf.page-timeout", c.PageTimeout, "how long reading or rastering a page may take")
	fs.DurationVar(&c.FirstTry, "pdf.first-try", c.FirstTry,
		"how long a document or page may take before it is done behind what others wait for")
	fs.IntVar(&c.MaxRasterPixels, "pdf.max-raster-pixels", c.MaxRasterPixels,
		"a larger page is drawn at a lower resolution")
}

// WithDefaults returns the configuration with as many children as a service with that many workers needs, where the
// number is not set.
func (c Config) WithDefaults(workers int) Config {
	if c.Workers == 0 {
		c.Workers = max(workers, runtime.NumCPU())
	}
	return c
}

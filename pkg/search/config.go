package search

import (
	"errors"
	"flag"
)

// Config says where the index database is.
type Config struct {
	// URL is what Open takes, e.g. sqlite:///var/lib/inkstream/index.db.
	URL string
}

// Register adds the flag.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.URL, "index", c.URL,
		"`URL` of the index database: sqlite:///var/lib/inkstream/index.db or clickhouse://user:password@host:9000/inkstream")
}

// Validate reports a missing URL.
func (c *Config) Validate() error {
	if c.URL == "" {
		return errors.New("index: empty, want a URL such as sqlite:///var/lib/inkstream/index.db")
	}
	return nil
}

// Package vision is an engine that asks vision models behind OpenAI-compatible servers, and holds every word that they
// answer against another engine's reading, the witness, and against the ink. Text that the page does not have never
// leaves it.
package vision

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/outbound"
)

// Config says which models are asked.
type Config struct {
	// Endpoints are base URLs of servers, joined by commas, such as http://vllm:8000/v1.
	Endpoints string
	// Profile names the family of the model; Model is its name on the servers.
	Profile, Model string
	// Key is sent as a bearer token, if set.
	Key config.Secret
	// Concurrency is how many pages an endpoint is asked for at once at most. Fewer are asked for while it refuses.
	Concurrency int
	// AllowPrivate allows endpoints on loopback and private addresses.
	AllowPrivate bool
	// MaxTokensPerDay bounds what the models may write in a day, UTC, MaxTokensPerTenant what they may for one tenant, and
	// MaxTokensPerJob for one job; without limit if 0. Each process of the service counts its own.
	MaxTokensPerDay, MaxTokensPerTenant, MaxTokensPerJob int64
	// Observe, if set, receives each answer's endpoint by its number, result and tokens.
	Observe func(ctx context.Context, endpoint int, result string, promptTokens, answerTokens int64)
}

// DefaultConfig returns a configuration that asks no server.
func DefaultConfig() Config { return Config{Profile: "deepseek-ocr", Concurrency: 16} }

// Register adds the flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.Endpoints, "vision.endpoints", c.Endpoints,
		"base `URLs` of OpenAI-compatible servers, joined by commas, e.g. http://vllm:8000/v1; pictures of pages are sent there")
	fs.StringVar(&c.Profile, "vision.profile", c.Profile, "family of the model: "+strings.Join(profileNames(), ", "))
	fs.StringVar(&c.Model, "vision.model", c.Model, "the model's `name` on the servers")
	fs.Var(&c.Key, "vision.key", "`key` that is sent to the servers")
	fs.IntVar(&c.Concurrency, "vision.concurrency", c.Concurrency, "pages that a server is asked for at once at most")
	fs.BoolVar(&c.AllowPrivate, "vision.allow-private", c.AllowPrivate, "allow servers on loopback and private addresses")
	fs.Int64Var(&c.MaxTokensPerDay, "vision.max-tokens-per-day", c.MaxTokensPerDay,
		"`tokens` that the models may write in a day; 0 for no limit")
	fs.Int64Var(&c.MaxTokensPerTenant, "vision.max-tokens-per-tenant", c.MaxTokensPerTenant,
		"`tokens` that the models may write in a day for one tenant; 0 for no limit")
	fs.Int64Var(&c.MaxTokensPerJob, "vision.max-tokens-per-job", c.MaxTokensPerJob,
		"`tokens` that the models may write in a day for one job; 0 for no limit")
}

// Validate joins every problem with the configuration of an engine that is in use.
func (c *Config) Validate() error {
	var errs []error
	if len(c.endpointURLs()) == 0 {
		errs = append(errs, errors.New("vision.endpoints: empty, want the URL of a server"))
	}
	for _, u := range c.endpointURLs() {
		if err := (outbound.Policy{AllowPrivate: c.AllowPrivate}).CheckURL(u); err != nil {
			errs = append(errs, fmt.Errorf("vision.endpoints: %w (see vision.allow-private)", err))
		}
	}
	if _, known := profiles[c.Profile]; !known {
		errs = append(errs, fmt.Errorf("vision.profile: %q, want one of %s", c.Profile, strings.Join(profileNames(), ", ")))
	}
	if c.Model == "" {
		errs = append(errs, errors.New("vision.model: empty, want the model's name on the servers"))
	}
	if c.Concurrency < 1 {
		errs = append(errs, fmt.Errorf("vision.concurrency: %d, want at least 1", c.Concurrency))
	}
	for name, tokens := range map[string]int64{"day": c.MaxTokensPerDay, "tenant": c.MaxTokensPerTenant, "job": c.MaxTokensPerJob} {
		if tokens < 0 {
			errs = append(errs, fmt.Errorf("vision.max-tokens-per-%s: %d, want none or more", name, tokens))
		}
	}
	return errors.Join(errs...)
}

func (c *Config) endpointURLs() []string {
	var out []string
	for u := range strings.SplitSeq(c.Endpoints, ",") {
		if u = strings.TrimRight(strings.TrimSpace(u), "/"); u != "" {
			out = append(out, u)
		}
	}
	return out
}

// defaultTimeout bounds one answer where the page has no limit of its own.
const defaultTimeout = 2 * time.Minute

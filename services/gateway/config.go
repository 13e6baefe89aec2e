package gateway

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/limits"
	"inkstream.dev/services/gateway/upload"
)

// Config says where the gateway listens and what it takes.
type Config struct {
	// HTTPAddr and GRPCAddr are where it listens; port 0 picks a free one.
	HTTPAddr, GRPCAddr string
	// MaxUploadBytes bounds a document.
	MaxUploadBytes config.Bytes
	// Retention is how long a job and its results are kept from its creation on; 0 keeps them without a limit.
	Retention time.Duration
	// MaxBacklog is the number of documents waiting for ingest from which on uploads are refused; 0 means nine tenths of
	// what the queue takes.
	MaxBacklog int64
	// MaxClientWatches bounds the watches under way from one IP address; 0 for no bound but the server's own.
	MaxClientWatches int
	// StallTimeout ends an upload of which no byte comes, and a response of which no byte is taken, for that long.
	StallTimeout time.Duration
	// DrainTimeout is how long requests in hand may go on when the service stops.
	DrainTimeout time.Duration
	// Sources are where documents may be fetched from; none where it is empty.
	Sources upload.Sources
	// TusDir is the folder in which resumable uploads stand until they are complete; none are taken where it is empty.
	TusDir string
	// UI says whether the web pages are served, Compat whether the addresses of other servers are; see package compat.
	UI, Compat bool
	// ReadOnly refuses all that changes anything, of every caller.
	ReadOnly bool
	// Access says who may call.
	Access AccessConfig
	// CreateTimeout is how long an upload tries to write its record when the broker is away. It is no flag: only tests
	// shorten it.
	CreateTimeout time.Duration
	// AnswerMemory is how many bytes the answers may take that are held in memory, a fifth of them those of one tenant; 0
	// means an eighth of the process's memory limit, but at least 64 MiB, and at most what lets the heap grow to 1 GiB before
	// it is collected: 341 MiB with the default GOGC. It is no flag: GOMEMLIMIT and GOGC are.
	AnswerMemory int64
	// Durability names the profile in force; /readyz shows it. It is no flag of the gateway: the code that sets up the
	// bus knows it.
	Durability string
}

// DefaultConfig returns the defaults.
func DefaultConfig() Config {
	return Config{
		HTTPAddr:         "127.0.0.1:8080",
		GRPCAddr:         "127.0.0.1:9090",
		MaxUploadBytes:   500 * config.MB,
		Retention:        30 * 24 * time.Hour,
		MaxClientWatches: 512,
		StallTimeout:     60 * time.Second,
		DrainTimeout:     20 * time.Second,
		CreateTimeout:    upload.DefaultCreateTimeout,
		UI:               true,
		Compat:           true,
		Access: AccessConfig{
			OIDC:   access.OIDCConfig{ScopeClaim: "scope", SignIn: access.SignInConfig{Scopes: "profile email"}},
			Limits: limits.UnsetRates(),
		},
	}
}

// Register adds the service's flags.
func (c *Config) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.HTTPAddr, "gateway.http", c.HTTPAddr, "`address` of the REST API; port 0 picks a free one")
	fs.StringVar(&c.GRPCAddr, "gateway.grpc", c.GRPCAddr, "`address` of the gRPC API; port 0 picks a free one")
	fs.Var(&c.MaxUploadBytes, "gateway.max-upload", "refuse documents of more `bytes`")
	fs.DurationVar(&c.Retention, "gateway.retention", c.Retention,
		"how long jobs and their results are kept; 0 keeps them")
	fs.Int64Var(&c.MaxBacklog, "gateway.max-backlog", c.MaxBacklog,
		"refuse uploads while more `documents` wait for ingest; 0 means nine tenths of what the queue takes")
	fs.IntVar(&c.MaxClientWatches, "gateway.max-client-watches", c.MaxClientWatches,
		"watches under way from one IP address; 0 for no bound, as where all clients come through one proxy")
	fs.DurationVar(&c.StallTimeout, "gateway.stall-timeout", c.StallTimeout,
		"end an upload or answer that does not move for that long")
	fs.DurationVar(&c.DrainTimeout, "gateway.drain-timeout", c.DrainTimeout,
		"how long requests in hand may go on at a stop")
	fs.Var(&c.Sources, "gateway.sources",
		"`URLs`, joined by commas, below which documents may be fetched from: s3://bucket/folder, file:///folder")
	fs.StringVar(&c.TusDir, "gateway.tus-dir", c.TusDir,
		"`folder` of resumable uploads that are not complete; empty takes none")
	fs.BoolVar(&c.UI, "gateway.ui", c.UI, "serve the web pages at /ui/")
	fs.BoolVar(&c.Compat, "gateway.compat", c.Compat,
		"serve the addresses of the FastAPI servers around OCR models too: /process_pdf, /result/{id}/..., /tasks, /health")
	fs.BoolVar(&c.ReadOnly, "gateway.read-only", c.ReadOnly,
		"refuse uploads, and all else that changes anything, from every caller")
	c.Access.registerFlags(fs)
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var p config.Problems
	p.AddError(checkListenAddr("gateway.http", c.HTTPAddr))
	p.AddError(checkListenAddr("gateway.grpc", c.GRPCAddr))
	// The engine addresses a document with 32 bits, and so does the record.
	p.CheckFlag(c.MaxUploadBytes >= 1 && c.MaxUploadBytes <= math.MaxUint32, "gateway.max-upload",
		"%s, want 1 to 4294967295 bytes", c.MaxUploadBytes)
	p.CheckFlag(c.Retention >= 0, "gateway.retention", "%s, want 0 or more", c.Retention)
	p.CheckFlag(c.MaxBacklog >= 0, "gateway.max-backlog", "%d, want 0 or more", c.MaxBacklog)
	p.CheckFlag(c.MaxClientWatches >= 0, "gateway.max-client-watches", "%d, want 0 or more", c.MaxClientWatches)
	p.CheckFlag(c.StallTimeout > 0, "gateway.stall-timeout", "%s, want more than 0", c.StallTimeout)
	p.CheckFlag(c.DrainTimeout >= 0, "gateway.drain-timeout", "%s, want 0 or more", c.DrainTimeout)
	err := c.Sources.Validate()
	p.CheckFlag(err == nil, "gateway.sources", "%v", err)
	p.AddError(c.Access.validate(c.HTTPAddr, c.GRPCAddr))
	return p.Err()
}

func checkListenAddr(name, addr string) error {
	_, _, err := net.SplitHostPort(addr)
	if err == nil {
		return nil
	}
	if ae, ok := errors.AsType[*net.AddrError](err); ok {
		err = errors.New(ae.Err) // AddrError repeats the address
	}
	return fmt.Errorf("%s: %q, want host:port: %w", name, addr, err)
}

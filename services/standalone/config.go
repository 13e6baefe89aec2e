package standalone

import (
	"flag"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/pdf"
	"inkstream.dev/pkg/reconcile"
	"inkstream.dev/pkg/service"
	"inkstream.dev/pkg/telemetry"
	"inkstream.dev/services/gateway"
	"inkstream.dev/services/gateway/gate"
	"inkstream.dev/services/index"
	"inkstream.dev/services/ingest"
	"inkstream.dev/services/ocr"
	"inkstream.dev/services/render"
	"inkstream.dev/services/scan"
)

// The durability profiles.
const (
	// Full syncs every write before it is acknowledged: a power cut loses nothing that was.
	Full = "full"
	// Fast leaves syncing to the system: a crash of the process loses nothing, a power cut may.
	Fast = "fast"
)

// Config says where the one process keeps its data, where it listens, and how its services work.
type Config struct {
	// DataDir holds the blobs, the streams and the index.
	DataDir string
	// NATSAddr is where the embedded NATS server listens for clients such as the nats command.
	NATSAddr string
	// Durability is Full or Fast.
	Durability string
	// Blobs and Index are URLs; empty means below DataDir.
	Blobs, Index string
	// DocumentTimeout bounds a run of a job, StallTimeout how long it may go on without moving.
	DocumentTimeout, StallTimeout time.Duration
	// SealKeyFile holds the key that documents' passwords are sealed with; empty means seal.key below DataDir, which is
	// made where it is missing.
	SealKeyFile string
	// Sandbox is service.SandboxRequired or service.SandboxBestEffort.
	Sandbox string

	Telemetry telemetry.Config
	PDF       pdf.Config
	OCREngine ocr.EngineConfig
	Gateway   gateway.Config
	Ingest    ingest.Config
	Scan      scan.Config
	Render    render.Config
	OCR       ocr.Config
	IndexCfg  index.Config
	Reconcile reconcile.Config
}

// DefaultConfig returns the defaults: everything below ./inkstream-data, on loopback addresses.
func DefaultConfig() Config {
	c := Config{
		DataDir: "inkstream-data", NATSAddr: "127.0.0.1:4222", Durability: Full, DocumentTimeout: time.Hour,
		StallTimeout: 2 * time.Minute, Sandbox: service.SandboxRequired,
		Telemetry: telemetry.DefaultConfig("inkstream", service.Version),
		PDF:       pdf.DefaultConfig(), OCREngine: ocr.DefaultEngineConfig(), Gateway: gateway.DefaultConfig(),
		Ingest: ingest.DefaultConfig(),
		Scan:   scan.DefaultConfig(), Render: render.DefaultConfig(), OCR: ocr.DefaultConfig(),
		IndexCfg:  index.DefaultConfig(),
		Reconcile: reconcile.DefaultConfig(),
	}
	c.IndexCfg.Workers = runtime.NumCPU() // its stores are here
	return c
}

// EphemeralConfig returns the configuration of a pipeline that lives as long as one command: it keeps nothing that a
// power cut should not take, listens on free ports, and logs only what is wrong.
func EphemeralConfig(dir string, workers int) Config {
	c := DefaultConfig()
	c.DataDir, c.NATSAddr, c.Durability = dir, "127.0.0.1:0", Fast
	c.Gateway.HTTPAddr, c.Gateway.GRPCAddr = "127.0.0.1:0", "127.0.0.1:0"
	c.Telemetry.LogLevel = quietLevel
	c.Render.Workers, c.OCR.Workers, c.IndexCfg.Workers = workers, workers, workers
	return c
}

// Parse reads the flags and the environment.
func (c *Config) Parse(fs *flag.FlagSet, args []string, getenv func(string) string) error {
	fs.StringVar(&c.DataDir, "data-dir", c.DataDir, "`folder` for everything that is kept")
	fs.BoolVar(&c.Gateway.UI, "ui", c.Gateway.UI, "serve the web pages at /ui/")
	fs.StringVar(&c.Gateway.HTTPAddr, "http", c.Gateway.HTTPAddr, "`address` of the REST API; port 0 picks a free one")
	fs.StringVar(&c.Gateway.GRPCAddr, "grpc", c.Gateway.GRPCAddr, "`address` of the gRPC API; port 0 picks a free one")
	fs.StringVar(&c.NATSAddr, "nats", c.NATSAddr, "`address` of the embedded NATS server; port 0 picks a free one")
	fs.StringVar(&c.Durability, "durability", c.Durability,
		"full: every write is synced before it is acknowledged; fast: a power cut may take the last ones")
	fs.StringVar(&c.Blobs, "blobs", c.Blobs, "`URL` of the blob store; empty for a folder below data-dir")
	fs.StringVar(&c.Index, "index", c.Index, "`URL` of the index database; empty for SQLite below data-dir")
	fs.DurationVar(&c.DocumentTimeout, "document-timeout", c.DocumentTimeout,
		"how long the run of a job may take; 0 for no bound")
	fs.DurationVar(&c.StallTimeout, "stall-timeout", c.StallTimeout,
		"how long a job in hand may go on without any page or stage ending; 0 for no bound")
	fs.StringVar(&c.SealKeyFile, "seal-key-file", c.SealKeyFile,
		"`file` with 32 bytes in base64 that documents' passwords are sealed with; empty for seal.key in the data-dir, made where it is missing")
	service.RegisterSandbox(fs, &c.Sandbox)
	c.Telemetry.Register(fs)
	c.PDF.Register(fs)
	c.OCREngine.Register(fs)
	c.Gateway.Register(fs)
	c.Ingest.Register(fs)
	c.Scan.Register(fs)
	c.Render.Register(fs)
	c.OCR.Register(fs)
	c.IndexCfg.Register(fs)
	c.Reconcile.Register(fs)
	if err := config.ParseFlags(fs, args, getenv); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return c.Validate()
}

// Validate joins every problem with the configuration.
func (c *Config) Validate() error {
	var p config.Problems
	p.CheckFlag(c.DataDir != "", "data-dir", "empty, want a folder")
	p.CheckFlag(c.Durability == Full || c.Durability == Fast, "durability", "%q, want full or fast", c.Durability)
	p.CheckFlag(c.DocumentTimeout >= 0, "document-timeout", "%s, want 0 or more", c.DocumentTimeout)
	p.CheckFlag(c.StallTimeout >= 0, "stall-timeout", "%s, want 0 or more", c.StallTimeout)
	p.CheckFlag(c.requiresNATSKeys() || gate.OnLoopback(c.NATSAddr), "nats",
		"%s can be reached from other machines, and anybody there could read and change "+
			"what the streams hold: set --auth=keys, or a loopback address", c.NATSAddr)
	p.AddError(service.CheckSandbox(c.Sandbox))
	for _, v := range []interface{ Validate() error }{
		&c.Telemetry, &c.PDF, &c.OCREngine, &c.Gateway, &c.Ingest, &c.Scan, &c.Render, &c.OCR, &c.IndexCfg,
		&c.Reconcile,
	} {
		p.AddError(v.Validate())
	}
	return p.Err()
}

// resolvePaths fills in what depends on the data folder.
func (c *Config) resolvePaths() error {
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	c.DataDir = dir
	if c.Blobs == "" {
		c.Blobs = "file://" + filepath.Join(dir, "blobs")
		if c.Durability == Fast {
			c.Blobs += "?fsync=off"
		}
	}
	if c.Index == "" {
		c.Index = "sqlite://" + filepath.Join(dir, "index.db")
	}
	if c.SealKeyFile == "" {
		c.SealKeyFile = filepath.Join(dir, "seal.key")
	}
	if c.PDF.Workers == 0 {
		// Ingest and scan share the engine with render: short calls, which go between the chunks.
		c.PDF.Workers = c.Render.Workers + 1
	}
	c.Gateway.Durability = c.Durability
	if c.Gateway.TusDir == "" {
		c.Gateway.TusDir = filepath.Join(dir, "uploads")
	}
	if c.Gateway.Access.AdminKeyFile == "" {
		c.Gateway.Access.AdminKeyFile = filepath.Join(dir, "admin.key")
	}
	return nil
}

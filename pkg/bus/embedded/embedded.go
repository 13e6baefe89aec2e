// Package embedded runs a NATS server with JetStream inside this process.
package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Config says where the server stores its streams and where it listens.
type Config struct {
	// Dir holds the streams.
	Dir string
	// Addr is where clients such as the nats command connect; port 0 picks a free one.
	Addr string
	// Sync makes every write reach the disk before it is acknowledged (DESIGN.md: durability).
	Sync bool
}

// Server is a running server.
type Server struct {
	srv *server.Server
}

// Start starts a server and returns when it accepts connections.
func Start(cfg Config, log *slog.Logger) (*Server, error) {
	host, port, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("nats address: %w", err)
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("nats address %q: %w", cfg.Addr, err)
	}
	if n == 0 {
		n = server.RANDOM_PORT
	} else if err := vacant(cfg.Addr); err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	srv, err := server.NewServer(&server.Options{
		ServerName: "inkstream",
		Host:       host,
		Port:       n,
		JetStream:  true,
		StoreDir:   cfg.Dir,
		SyncAlways: cfg.Sync,
		NoSigs:     true,

		JetStreamMaxStore: -1, // what the disk has
	})
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	srv.SetLoggerV2(logger{log}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		srv.Shutdown()
		return nil, errors.New("nats server: not ready after 20 s; is the store damaged?")
	}
	if cfg.Sync && !srv.JetStreamConfig().SyncAlways {
		srv.Shutdown()
		return nil, errors.New("nats server: it does not attest that it syncs every write")
	}
	return &Server{srv: srv}, nil
}

// vacant returns why nobody can listen on an address, where that is so: the server itself would tell its log alone, and keep whoever waits for it
// waiting.
func vacant(addr string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// URL returns the address for clients.
func (s *Server) URL() string { return s.srv.ClientURL() }

// InProcess returns the option that connects a client without a socket.
func (s *Server) InProcess() nats.Option { return nats.InProcessServer(s.srv) }

// Stop shuts the server down and waits until its files are closed. Clients should have closed their connections before.
func (s *Server) Stop() {
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

// logger passes the server's warnings and errors on; its notices are of no use to the pipeline's operator.
type logger struct{ log *slog.Logger }

func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("nats server", "text", fmt.Sprintf(format, v...))
}
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("nats server", "text", fmt.Sprintf(format, v...))
}
func (l logger) Fatalf(format string, v ...any) {
	l.log.Error("nats server", "text", fmt.Sprintf(format, v...))
}
func (l logger) Errorf(format string, v ...any) {
	l.log.Error("nats server", "text", fmt.Sprintf(format, v...))
}
func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}

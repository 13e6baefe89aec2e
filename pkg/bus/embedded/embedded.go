// Package embedded runs a NATS server with JetStream inside this process.
package embedded

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
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
	// Sync makes every write reach the disk before it is acknowledged.
	Sync bool
	// Access says who may connect; nil admits every client.
	Access *Access
	// TLS is what the socket is served with; nil for a plain one. This process does without.
	TLS *tls.Config
}

// Server is a running server.
type Server struct {
	srv        *server.Server
	clientAuth nats.Option // says who this process is; nil where the server asks for no credentials
}

// StartServer starts a server and returns when it accepts connections.
func StartServer(cfg Config, log *slog.Logger) (*Server, error) {
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
	} else if err := checkAddressFree(cfg.Addr); err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	opts := &server.Options{
		ServerName: "inkstream",
		Host:       host,
		Port:       n,
		JetStream:  true,
		StoreDir:   cfg.Dir,
		SyncAlways: cfg.Sync,
		NoSigs:     true,

		JetStreamMaxStore: -1, // what the disk has
	}
	if cfg.TLS != nil {
		opts.TLSConfig, opts.TLSTimeout = cfg.TLS, tlsTimeout.Seconds()
	}
	var self nats.Option
	if cfg.Access != nil {
		if self, err = cfg.Access.secureOptions(opts); err != nil {
			return nil, err
		}
	}
	srv, err := server.NewServer(opts)
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
	return &Server{srv: srv, clientAuth: self}, nil
}

// tlsTimeout bounds the handshake of a client.
const tlsTimeout = 5 * time.Second

// checkAddressFree returns why no server can listen on an address, where that is so: the server itself would write it
// to its log alone, and a caller that waits for the server would keep waiting.
func checkAddressFree(addr string) error {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", addr)
	if err != nil {
		return err
	}
	return l.Close()
}

// ClientURL returns the address for clients.
func (s *Server) ClientURL() string { return s.srv.ClientURL() }

// InProcessURL returns the address for the client of InProcessOption. It never asks for TLS, which ClientURL may do:
// nothing of that connection leaves the process.
func (s *Server) InProcessURL() string {
	_, host, _ := strings.Cut(s.srv.ClientURL(), "://")
	return "nats://" + host
}

// InProcessOption returns the option that connects a client without a socket.
func (s *Server) InProcessOption() nats.Option {
	return func(o *nats.Options) error {
		if s.clientAuth != nil {
			if err := s.clientAuth(o); err != nil {
				return err
			}
		}
		return nats.InProcessServer(s.srv)(o)
	}
}

// ShutDown shuts the server down and waits until its files are closed. Clients should have closed their connections
// before.
func (s *Server) ShutDown() {
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

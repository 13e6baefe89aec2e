package chaos

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"inkstream.dev/pkg/bus/embedded"
)

// natsArg makes a process that calls Main a NATS server.
const natsArg = "chaos-nats"

// Main must be called first thing in main, and in TestMain. In a process that Run started it is the NATS server, and never returns; in any
// other it does nothing.
func Main() {
	if len(os.Args) != 5 || os.Args[1] != natsArg {
		return
	}
	if err := serveNATS(os.Args[2], os.Args[3], os.Args[4] == "sync"); err != nil {
		fmt.Fprintln(os.Stderr, natsArg+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serveNATS runs a server until it is killed, or whoever started it is gone.
func serveNATS(dir, addr string, sync bool) error {
	_, err := embedded.Start(embedded.Config{Dir: dir, Addr: addr, Sync: sync}, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	select {} // it is never asked to stop: to be killed is what it is for
}

// natsProcess returns the process that runs a server.
func natsProcess(dir, addr string, sync bool, log io.Writer) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	mode := "nosync"
	if sync {
		mode = "sync"
	}
	p := NewProcess(self, []string{natsArg, dir, addr, mode}, log)
	p.name = "nats"
	return p, nil
}

// FreeAddr returns an address of this machine that nobody listens on.
func FreeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

package chaos

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/processtest"
)

// natsArg makes a process that calls Main a NATS server.
const natsArg = "chaos-nats"

// Main must be called first thing in main, and in TestMain. In a process that Run started it is the NATS server, and
// never returns; in any other it does nothing.
func Main() {
	if len(os.Args) != 5 || os.Args[1] != natsArg {
		return
	}
	cfg := embedded.Config{Dir: os.Args[2], Addr: os.Args[3], Sync: os.Args[4] == "sync"}
	if _, err := embedded.StartServer(cfg, slog.New(slog.NewTextHandler(os.Stderr, nil))); err != nil {
		fmt.Fprintln(os.Stderr, natsArg+":", err)
		os.Exit(1)
	}
	select {} // it is never asked to stop: to be killed is what it is for
}

// newNATSProcess returns the process that runs a server.
func newNATSProcess(dir, addr string, sync bool, log io.Writer) (*Process, error) {
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

// FindFreeAddr returns an address of this machine that no process listens on.
func FindFreeAddr() (string, error) {
	port, err := processtest.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

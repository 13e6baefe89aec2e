// Natsserver is the NATS server of a test with the race detector, built without it: see bustest.StartServer.
package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"

	"inkstream.dev/pkg/bus/embedded"
)

func main() {
	if err := serveUntilEOF(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "natsserver:", err)
		os.Exit(1)
	}
}

// serveUntilEOF runs a server in a folder, says where it listens, and shuts it down when the input ends, as it does with
// the test at the latest.
func serveUntilEOF(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%d arguments, want a folder and an address", len(args))
	}
	srv, err := embedded.StartServer(embedded.Config{Dir: args[0], Addr: args[1]}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer srv.ShutDown()
	if _, err := fmt.Println(srv.ClientURL()); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

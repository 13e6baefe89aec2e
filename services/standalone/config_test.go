package standalone_test

import (
	"flag"
	"io"
	"strings"
	"testing"

	"inkstream.dev/services/standalone"
)

// Without keys no other machine may reach the embedded NATS server.
func TestNATSListensOnLoopbackAlone(t *testing.T) {
	t.Parallel()
	for addr, refused := range map[string]bool{
		"127.0.0.1:4222": false, "localhost:0": false, "[::1]:4222": false,
		"0.0.0.0:4222": true, ":4222": true, "[::]:4222": true, "10.0.0.5:4222": true, "example.org:4222": true,
	} {
		for _, auth := range []string{"", "none", "keys"} {
			cfg := standalone.DefaultConfig()
			fs := flag.NewFlagSet("serve", flag.ContinueOnError)
			fs.SetOutput(io.Discard)
			err := cfg.Parse(fs, []string{"--nats", addr, "--auth", auth}, func(string) string { return "" })
			if got := err != nil && strings.Contains(err.Error(), "nats: "+addr); got != (refused && auth != "keys") {
				t.Errorf("--nats %s --auth %q: got %v, want it refused: %t", addr, auth, err, refused && auth != "keys")
			}
		}
	}
}

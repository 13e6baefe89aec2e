package standalone

import (
	"crypto/tls"
	"fmt"
	"path/filepath"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/bus/embedded"
	"inkstream.dev/pkg/natsconfig"
	"inkstream.dev/services/gateway"
)

// natsKeyFile returns the file with the seed of a user of the embedded NATS server.
func (c *Config) natsKeyFile(user string) string {
	return filepath.Join(c.DataDir, "nats-"+natsconfig.SeedFileName(user))
}

// requiresNATSKeys reports whether the embedded NATS server asks who its clients are.
func (c *Config) requiresNATSKeys() bool { return c.Gateway.Access.Auth == gateway.AuthKeys }

// natsServerConfig returns how the embedded NATS server is run: where the API asks for keys its port does too, of an
// administrator and of an inspector. Both are made at the first start.
func (c *Config) natsServerConfig() (embedded.Config, error) {
	b := embedded.Config{
		Dir: filepath.Join(c.DataDir, "nats"), Addr: c.NATSAddr, Sync: c.Durability == Full,
		Access: &embedded.Access{AllowAnonymous: !c.requiresNATSKeys()},
	}
	if !c.requiresNATSKeys() {
		return b, nil
	}
	inspection := bus.InspectorPermissions()
	for user, may := range map[string]*bus.Permissions{bus.AdminUser: nil, bus.InspectorUser: &inspection} {
		key, err := natsconfig.LoadOrCreateKey(c.natsKeyFile(user))
		if err != nil {
			return b, err
		}
		b.Access.Users = append(b.Access.Users, embedded.User{Key: key, Permissions: may})
	}
	if cert := c.Gateway.Access.TLSCert; cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, c.Gateway.Access.TLSKey)
		if err != nil {
			return b, fmt.Errorf("TLS certificate: %w", err)
		}
		b.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}}
	}
	return b, nil
}

// inspectionCommands returns the commands that look at the streams.
func (c *Config) inspectionCommands(url string) string {
	if !c.requiresNATSKeys() {
		return fmt.Sprintf("nats --server %s stream ls", url)
	}
	return fmt.Sprintf(`
         look:    nats --server %[1]s --nkey %[2]s --inbox-prefix %[3]s stream ls
         change:  nats --server %[1]s --nkey %[4]s stream ls`,
		url, c.natsKeyFile(bus.InspectorUser), bus.InboxPrefix(bus.InspectorUser), c.natsKeyFile(bus.AdminUser))
}

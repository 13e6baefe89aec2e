package bus

import (
	"flag"
	"fmt"

	"github.com/nats-io/nats.go"

	"inkstream.dev/pkg/config"
)

// Credentials say who a process is to the NATS servers, and how it knows them. The zero value is an anonymous user
// over a plain connection.
type Credentials struct {
	// NKey is the file of the seed of the process's user, and Creds that of a JWT with its seed. At most one is set.
	NKey, Creds string
	// InboxPrefix begins the subjects that answers come to. A user who may subscribe to its own prefix alone cannot read
	// other users' answers. Empty means _INBOX.
	InboxPrefix string
	// CA is the file of the certificates that the servers' must be signed by; empty for those of the system. Cert and
	// Key are the files of the process's own, where the servers ask for one.
	CA, Cert, Key string
}

// InboxPrefix returns the prefix of the inboxes of the user of that name, as Permissions has it.
func InboxPrefix(user string) string { return "_INBOX_" + user }

// Register adds the flags.
func (c *Credentials) Register(fs *flag.FlagSet) {
	fs.StringVar(&c.NKey, "nats.nkey", c.NKey,
		"`file` with the seed of this service's NATS user, as 'inkstream nats-config' writes it")
	fs.StringVar(&c.Creds, "nats.creds", c.Creds, "`file` with the JWT and the seed of this service's NATS user")
	fs.StringVar(&c.InboxPrefix, "nats.inbox-prefix", c.InboxPrefix,
		"`prefix` of the subjects that answers from NATS come to")
	fs.StringVar(&c.CA, "nats.ca", c.CA,
		"PEM `file` of the authorities that sign the NATS servers' certificates; empty for those of the system")
	fs.StringVar(&c.Cert, "nats.cert", c.Cert, "PEM `file` of the certificate that this service shows to the NATS servers")
	fs.StringVar(&c.Key, "nats.key", c.Key, "PEM `file` of that certificate's key")
}

// Validate joins every problem with the credentials.
func (c *Credentials) Validate() error {
	var p config.Problems
	p.CheckFlag(c.NKey == "" || c.Creds == "", "nats.creds", "and nats.nkey are given, want one of them")
	p.CheckFlag((c.Cert == "") == (c.Key == ""), "nats.cert", "and nats.key belong together, want both or none")
	return p.Err()
}

// Options returns what Connect needs to use the credentials.
func (c *Credentials) Options() ([]nats.Option, error) {
	var opts []nats.Option
	if c.NKey != "" {
		// Reads the file, and forgets the seed; it is read again at each connection.
		opt, err := nats.NkeyOptionFromSeed(c.NKey)
		if err != nil {
			return nil, fmt.Errorf("nats.nkey %s: %w", c.NKey, err)
		}
		opts = append(opts, opt)
	}
	if c.Creds != "" {
		opts = append(opts, nats.UserCredentials(c.Creds))
	}
	if c.InboxPrefix != "" {
		opts = append(opts, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	if c.CA != "" {
		opts = append(opts, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		opts = append(opts, nats.ClientCert(c.Cert, c.Key))
	}
	return opts, nil
}

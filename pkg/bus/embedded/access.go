package embedded

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"inkstream.dev/pkg/bus"
)

// inboxUser names the inboxes of this process.
const inboxUser = "services"

// User may connect by a socket.
type User struct {
	// Key is the user's public key.
	Key string
	// Permissions is what the user may do; nil for everything.
	Permissions *bus.Permissions
}

// Access says who may connect by a socket; this process itself always may, and do everything.
type Access struct {
	// Users may, by their keys.
	Users []User
	// AllowAnonymous are those without a key: they may do everything but use the buckets of API keys and webhooks, and
	// make or change streams, by which they could get at these.
	AllowAnonymous bool
}

// secureOptions adds the users to the server's options, and returns how this process connects.
func (a *Access) secureOptions(o *server.Options) (nats.Option, error) {
	self, public, err := createUserKey()
	if err != nil {
		return nil, err
	}
	o.Nkeys = []*server.NkeyUser{{Nkey: public}}
	for _, u := range a.Users {
		user := &server.NkeyUser{Nkey: u.Key}
		if u.Permissions != nil {
			user.Permissions = &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: bus.GrantSubjects(u.Permissions.Publish)},
				Subscribe: &server.SubjectPermission{Allow: bus.GrantSubjects(u.Permissions.Subscribe)},
			}
		}
		o.Nkeys = append(o.Nkeys, user)
	}
	if a.AllowAnonymous {
		// A user with a key that is not asked for: one without a password would have the server warn of it at each start.
		_, anonymous, err := createUserKey()
		if err != nil {
			return nil, err
		}
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: anonymous, Permissions: anonymousPermissions()})
		o.NoAuthUser = anonymous
	}
	return func(c *nats.Options) error {
		if err := nats.CustomInboxPrefix(bus.InboxPrefix(inboxUser))(c); err != nil {
			return err
		}
		return nats.Nkey(public, self.Sign)(c)
	}, nil
}

// createUserKey makes a key of a user, and returns its public half as well.
func createUserKey() (nkeys.KeyPair, string, error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, "", fmt.Errorf("make key: %w", err)
	}
	public, err := key.PublicKey()
	if err != nil {
		return nil, "", fmt.Errorf("make key: %w", err)
	}
	return key, public, nil
}

func anonymousPermissions() *server.Permissions {
	forbidden := []string{"$JS.API.STREAM.CREATE.*", "$JS.API.STREAM.UPDATE.*", "$JS.API.STREAM.RESTORE.*"}
	unheard := []string{bus.InboxPrefix(inboxUser) + ".>"}
	for _, bucket := range []string{bus.KeyBucket, bus.WebhookBucket} {
		stream := "KV_" + bucket
		forbidden = append(forbidden, "$KV."+bucket+".>", "$JS.API.STREAM.*."+stream, "$JS.API.STREAM.*.*."+stream,
			"$JS.API.DIRECT.GET."+stream,
			"$JS.API.DIRECT.GET."+stream+".>", "$JS.API.CONSUMER.*."+stream, "$JS.API.CONSUMER.*."+stream+".>",
			"$JS.API.CONSUMER.*.*."+stream+".>")
		unheard = append(unheard, "$KV."+bucket+".>")
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{">"}, Deny: forbidden},
		Subscribe: &server.SubjectPermission{Allow: []string{">"}, Deny: unheard},
	}
}

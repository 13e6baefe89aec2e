package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/mirror"
)

const (
	// keyPrefix begins every API key, so that scanners for leaked secrets can tell one.
	keyPrefix = "ink_"
	// idBytes is the random part of a key's id, in bytes.
	idBytes = 8
)

// ErrNoKey means that there is no such key in the tenant.
var ErrNoKey = errors.New("no such key")

// Key is an API key as it is kept. The secret is <prefix><id>_<random>; only its hash is stored.
type Key struct {
	ID         string    `json:"id"`
	Tenant     string    `json:"tenant"`
	Scopes     []Scope   `json:"scopes"`
	Name       string    `json:"name,omitempty"`
	CreateTime time.Time `json:"createTime"`
	ExpireTime time.Time `json:"expireTime,omitzero"`
	Quota      Quota     `json:"quota,omitzero"`
	// Subject is whom the issuer knows the person as whose session this is; the secret is given to no client then. Keys
	// of programs have no subject.
	Subject string `json:"subject,omitempty"`
	// Hash is the hexadecimal SHA-256 of the secret. A secret has 130 random bits, so a slow hash would add nothing.
	Hash string `json:"hash"`
	// Ended is set where this is no key, but a record of a key's sessions that have ended.
	Ended *endedSessions `json:"ended,omitempty"`
}

// Keys is the store of API keys: a KV bucket, and a copy of it in memory, so that a request costs no exchange with
// the broker, and a key that is revoked at one gateway is refused by all of them within moments. It is safe for
// concurrent use.
type Keys struct {
	kv     jetstream.KeyValue
	mirror *mirror.Mirror[Key]
}

// OpenKeys opens the bucket, which bus.Provision makes, and follows it until ctx is done. It returns once the keys
// that there are are known.
func OpenKeys(ctx context.Context, js jetstream.JetStream, log *slog.Logger) (*Keys, error) {
	kv, err := js.KeyValue(ctx, bus.KeyBucket)
	if err != nil {
		return nil, fmt.Errorf("bucket of API keys: %w", err)
	}
	known, err := mirror.Open[Key](ctx, kv, jetstream.AllKeys, log)
	if err != nil {
		return nil, err
	}
	return &Keys{kv: kv, mirror: known}, nil
}

// Wait returns when the bucket is no longer followed; the context of OpenKeys must be done.
func (k *Keys) Wait() { k.mirror.Wait() }

// authenticate finds out whose secret it is.
func (k *Keys) authenticate(secret string) (*Identity, error) {
	key, err := k.findKey(secret)
	if err != nil {
		return nil, err
	}
	return k.identityOf(key), nil
}

// findKey finds the key that a secret belongs to. The comparison takes the same time wherever the first difference is,
// and an unknown id costs as much as a known one.
func (k *Keys) findKey(secret string) (*Key, error) {
	key, ok := k.mirror.Get(keyIDOf(secret))
	same := subtle.ConstantTimeCompare([]byte(hashSecret(secret)), []byte(key.Hash)) == 1
	if !ok || !same || key.hasExpired(time.Now()) {
		return nil, ErrInvalidCredentials
	}
	return &key, nil
}

// keyIDOf returns the id that a secret names.
func keyIDOf(secret string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(secret, keyPrefix), "_")
	return id
}

func (k *Key) hasExpired(now time.Time) bool {
	return !k.ExpireTime.IsZero() && now.After(k.ExpireTime)
}

// identityOf is who requests with a key come from.
func (k *Keys) identityOf(key *Key) *Identity {
	caller := "key:" + key.ID
	if key.Subject != "" {
		caller = subjectCaller + key.Subject // as with the person's tokens, however many sessions there are
	}
	return &Identity{Tenant: key.Tenant, Scopes: key.Scopes, Caller: caller, Quota: key.Quota, Credential: CredentialKey,
		ExpireTime: key.ExpireTime, onChange: func(f func()) func() bool { return k.mirror.OnChange(key.ID, f) }}
}

// CreateKey stores a new key and returns it with its secret, which is never to be had again.
func (k *Keys) CreateKey(ctx context.Context, key Key) (Key, string, error) {
	id := make([]byte, idBytes)
	_, _ = rand.Read(id) // never fails (crypto/rand)
	key.ID, key.CreateTime = hex.EncodeToString(id), time.Now().UTC()
	secret := newSecret(key.ID)
	key.Hash = hashSecret(secret)
	data, err := json.Marshal(key)
	if err != nil {
		return Key{}, "", fmt.Errorf("encode API key: %w", err)
	}
	rev, err := k.kv.Create(ctx, key.ID, data)
	if err != nil {
		return Key{}, "", fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("store API key: %w", err))
	}
	k.mirror.Set(key.ID, key, rev)
	return key, secret, nil
}

// maxSessions is how many sessions a person has at once. The oldest end for others, so that the bucket cannot be filled by
// one who signs in again and again.
const maxSessions = 20

// createPersonKey stores the key of a person's session, and removes such keys of which there is no more need.
func (k *Keys) createPersonKey(ctx context.Context, key Key) (Key, error) {
	now := time.Now()
	old := k.mirror.Select(func(o Key) bool {
		return o.Subject != "" && (o.hasExpired(now) || o.Tenant == key.Tenant && o.Subject == key.Subject)
	})
	sortKeys(old)
	slices.Reverse(old)
	kept := 1
	for _, o := range old {
		if !o.hasExpired(now) && kept < maxSessions {
			kept++
			continue
		}
		if err := k.RevokeKey(ctx, o.Tenant, o.ID); err != nil && !errors.Is(err, ErrNoKey) {
			return Key{}, err
		}
	}
	key, _, err := k.CreateKey(ctx, key)
	return key, err
}

// secretPattern is what a secret looks like; the random part has 120 bits at least.
var secretPattern = regexp.MustCompile(`^` + keyPrefix + `([0-9a-f]{16})_[0-9A-Za-z]{24,64}$`)

// ImportKey stores a key with a secret that was made elsewhere. To have it already is no error, so several gateways
// may do so at once; one whose secret has changed since keeps the newer.
func (k *Keys) ImportKey(ctx context.Context, key Key, secret string) error {
	form := secretPattern.FindStringSubmatch(secret)
	if form == nil {
		return errors.New("no API key: want ink_, 16 hexadecimal digits, _, and 24 to 64 random letters and digits")
	}
	key.ID, key.CreateTime, key.Hash = form[1], time.Now().UTC(), hashSecret(secret)
	data, err := json.Marshal(key)
	if err != nil {
		return fmt.Errorf("encode API key: %w", err)
	}
	rev, err := k.kv.Create(ctx, key.ID, data)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return nil // the copy in memory follows
	}
	if err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("store API key: %w", err))
	}
	k.mirror.Set(key.ID, key, rev)
	return nil
}

// RotateKey gives a tenant's key another secret. The old one is refused at once here, and within moments at other
// gateways.
func (k *Keys) RotateKey(ctx context.Context, tenant, id string) (Key, string, error) {
	e, err := k.kv.Get(ctx, id)
	if errors.Is(err, jetstream.ErrKeyNotFound) || errors.Is(err, jetstream.ErrInvalidKey) {
		return Key{}, "", ErrNoKey
	}
	if err != nil {
		return Key{}, "", fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("read API key: %w", err))
	}
	var key Key
	if err := json.Unmarshal(e.Value(), &key); err != nil {
		return Key{}, "", fmt.Errorf("decode API key: %w", err)
	}
	if key.Tenant != tenant || key.Subject != "" || key.Ended != nil { // the secret of a session is given to no client
		return Key{}, "", ErrNoKey
	}
	secret := newSecret(id)
	key.Hash = hashSecret(secret)
	data, err := json.Marshal(key)
	if err != nil {
		return Key{}, "", fmt.Errorf("encode API key: %w", err)
	}
	rev, err := k.kv.Update(ctx, id, data, e.Revision())
	if err != nil {
		return Key{}, "", fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("store API key: %w", err))
	}
	k.mirror.Set(id, key, rev)
	return key, secret, nil
}

// RevokeKey removes a tenant's key.
func (k *Keys) RevokeKey(ctx context.Context, tenant, id string) error {
	if key, ok := k.mirror.Get(id); !ok || key.Tenant != tenant || key.Ended != nil {
		return ErrNoKey
	}
	for _, name := range []string{id, endedPrefix + id} {
		if _, ok := k.mirror.Get(name); !ok {
			continue
		}
		if err := k.kv.Delete(ctx, name); err != nil {
			return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("remove API key: %w", err))
		}
		k.mirror.Remove(name)
	}
	return nil
}

// ListKeys returns a tenant's keys, the oldest first, the people's who are signed in among them.
func (k *Keys) ListKeys(tenant string) []Key {
	now := time.Now()
	keys := k.mirror.Select(func(key Key) bool {
		return key.Tenant == tenant && key.Ended == nil && (key.Subject == "" || !key.hasExpired(now))
	})
	sortKeys(keys)
	return keys
}

// sortKeys puts the oldest first.
func sortKeys(keys []Key) {
	slices.SortFunc(keys, func(a, b Key) int {
		if c := a.CreateTime.Compare(b.CreateTime); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
}

// HasAdminKey reports whether any key of the tenant may make others.
func (k *Keys) HasAdminKey(tenant string) bool {
	return len(k.mirror.Select(func(key Key) bool {
		return key.Tenant == tenant && key.Subject == "" && slices.Contains(key.Scopes, Admin) &&
			(key.ExpireTime.IsZero() || time.Now().Before(key.ExpireTime))
	})) > 0
}

func newSecret(id string) string { return keyPrefix + id + "_" + rand.Text() }

func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

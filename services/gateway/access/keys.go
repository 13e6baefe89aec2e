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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
)

const (
	// keyPrefix begins every API key, so that scanners for leaked secrets can tell one.
	keyPrefix = "ink_"
	// idBytes is the random part of a key's id, in bytes.
	idBytes = 8
	// settleTime is how long a gateway waits at its start to learn the keys there are.
	settleTime = 10 * time.Second
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
	// Hash is the hexadecimal SHA-256 of the secret. A secret has 130 random bits, so a slow hash would add nothing.
	Hash string `json:"hash"`
}

// Keys is the store of API keys: a KV bucket, and a copy of it in memory that follows every change, so that a request costs no exchange with the
// broker, and a key that is revoked at one gateway is refused by all of them within moments. It is safe for concurrent use.
type Keys struct {
	kv  jetstream.KeyValue
	log *slog.Logger

	followed chan struct{} // closed when the bucket is no longer followed

	mu    sync.RWMutex // guards known
	known map[string]Key
}

// OpenKeys opens the bucket, which bus.Provision makes, and follows it until ctx is done. It returns once the keys that there are are known.
func OpenKeys(ctx context.Context, js jetstream.JetStream, log *slog.Logger) (*Keys, error) {
	kv, err := js.KeyValue(ctx, bus.KeyBucket)
	if err != nil {
		return nil, fmt.Errorf("bucket of API keys: %w", err)
	}
	k := &Keys{kv: kv, log: log, known: map[string]Key{}, followed: make(chan struct{})}
	w, err := kv.WatchAll(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch API keys: %w", err)
	}
	settled := make(chan struct{})
	go k.follow(ctx, w, settled)
	select {
	case <-settled:
		return k, nil
	case <-time.After(settleTime):
		return nil, fault.New(fault.Unavailable, "the API keys cannot be read")
	case <-ctx.Done():
		return nil, fmt.Errorf("read API keys: %w", ctx.Err())
	}
}

// follow keeps the copy; it closes settled when everything that was stored at the start has come.
func (k *Keys) follow(ctx context.Context, w jetstream.KeyWatcher, settled chan struct{}) {
	defer close(k.followed)
	defer func() { _ = w.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case e, open := <-w.Updates():
			switch {
			case !open:
				return
			case e == nil:
				close(settled)
			default:
				k.note(ctx, e)
			}
		}
	}
}

// Wait returns when the bucket is no longer followed; the context of OpenKeys must be done.
func (k *Keys) Wait() { <-k.followed }

func (k *Keys) note(ctx context.Context, e jetstream.KeyValueEntry) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, e.Key())
	if e.Operation() != jetstream.KeyValuePut {
		return
	}
	var key Key
	if err := json.Unmarshal(e.Value(), &key); err != nil {
		k.log.ErrorContext(ctx, "API key that cannot be read is refused", "key", e.Key(), "error", err)
		return
	}
	k.known[e.Key()] = key
}

// authenticate finds the key that a secret belongs to. The comparison takes the same time wherever the first difference is, and an unknown id
// costs as much as a known one.
func (k *Keys) authenticate(secret string) (*Identity, error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(secret, keyPrefix), "_")
	k.mu.RLock()
	key, ok := k.known[id]
	k.mu.RUnlock()
	same := subtle.ConstantTimeCompare([]byte(hash(secret)), []byte(key.Hash)) == 1
	if !ok || !same || !key.ExpireTime.IsZero() && time.Now().After(key.ExpireTime) {
		return nil, ErrRefused
	}
	return &Identity{Tenant: key.Tenant, Scopes: key.Scopes, Caller: "key:" + key.ID, Quota: key.Quota}, nil
}

// Create stores a new key and returns it with its secret, which is never to be had again.
func (k *Keys) Create(ctx context.Context, key Key) (Key, string, error) {
	id := make([]byte, idBytes)
	_, _ = rand.Read(id) // never fails (crypto/rand)
	key.ID, key.CreateTime = hex.EncodeToString(id), time.Now().UTC()
	secret := newSecret(key.ID)
	key.Hash = hash(secret)
	data, err := json.Marshal(key)
	if err != nil {
		return Key{}, "", fmt.Errorf("encode API key: %w", err)
	}
	if _, err := k.kv.Create(ctx, key.ID, data); err != nil {
		return Key{}, "", fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("store API key: %w", err))
	}
	k.remember(key)
	return key, secret, nil
}

// Rotate gives a tenant's key another secret. The old one is refused at once here, and within moments at other gateways.
func (k *Keys) Rotate(ctx context.Context, tenant, id string) (Key, string, error) {
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
	if key.Tenant != tenant {
		return Key{}, "", ErrNoKey
	}
	secret := newSecret(id)
	key.Hash = hash(secret)
	data, err := json.Marshal(key)
	if err != nil {
		return Key{}, "", fmt.Errorf("encode API key: %w", err)
	}
	if _, err := k.kv.Update(ctx, id, data, e.Revision()); err != nil {
		return Key{}, "", fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("store API key: %w", err))
	}
	k.remember(key)
	return key, secret, nil
}

// Revoke removes a tenant's key.
func (k *Keys) Revoke(ctx context.Context, tenant, id string) error {
	k.mu.RLock()
	key, ok := k.known[id]
	k.mu.RUnlock()
	if !ok || key.Tenant != tenant {
		return ErrNoKey
	}
	if err := k.kv.Delete(ctx, id); err != nil {
		return fault.Wrap(fault.Busy, fault.Unavailable, fmt.Errorf("remove API key: %w", err))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, id)
	return nil
}

// List returns a tenant's keys, the oldest first.
func (k *Keys) List(tenant string) []Key {
	k.mu.RLock()
	defer k.mu.RUnlock()
	var keys []Key
	for _, key := range k.known {
		if key.Tenant == tenant {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if c := a.CreateTime.Compare(b.CreateTime); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return keys
}

// HasAdmin reports whether any key may make others.
func (k *Keys) HasAdmin() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	for _, key := range k.known {
		if slices.Contains(key.Scopes, Admin) && (key.ExpireTime.IsZero() || time.Now().Before(key.ExpireTime)) {
			return true
		}
	}
	return false
}

// remember has this gateway know a change before the watch brings it.
func (k *Keys) remember(key Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known[key.ID] = key
}

func newSecret(id string) string { return keyPrefix + id + "_" + rand.Text() }

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

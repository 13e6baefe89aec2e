package access

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const (
	// sessionAge is how long a browser stays signed in.
	sessionAge = 12 * time.Hour
	// sessionKeyBytes is the length of the key that seals sessions.
	sessionKeyBytes = 32
	// hashPart is how much of a key's hash a session holds: enough to tell that the secret is another one now.
	hashPart = 16
)

// Sessions seals who a browser is signed in as, so that a cookie can hold it. Of sessions under way nothing is stored.
// A session ends with the key that it was begun with, or when its browser signs out, with every copy of its cookie; one
// that was begun at an issuer has a key of its own. It is safe for concurrent use.
type Sessions struct {
	aead cipher.AEAD
	keys *Keys
}

// session is what is sealed.
type session struct {
	Key    string `json:"key"`
	Hash   string `json:"hash"`
	Expire int64  `json:"expire"`
	// ID tells sessions of a key apart, and Begin is when it was begun. Versions before this one set neither.
	ID    string `json:"id"`
	Begin int64  `json:"begin"`
}

// NewSessions returns Sessions that are sealed with a key of 32 bytes. Gateways that have the same take each other's.
// Without a key one is made, and what it has sealed ends with the process.
func NewSessions(key []byte, keys *Keys) (*Sessions, error) {
	if key == nil {
		key = make([]byte, sessionKeyBytes)
		_, _ = rand.Read(key) // never fails
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("key of sessions: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("key of sessions: %w", err)
	}
	return &Sessions{aead: aead, keys: keys}, nil
}

// What is sealed, each apart from the others and from what the same key may seal elsewhere.
var (
	sessionPurpose = []byte("inkstream session")
	signInPurpose  = []byte("inkstream sign-in")
)

// seal returns a value's JSON, sealed for a purpose.
func (s *Sessions) seal(purpose []byte, value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", purpose, err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, data, purpose)), nil
}

// open reports whether a text was sealed for a purpose, and decodes what it holds.
func (s *Sessions) open(purpose []byte, sealed string, value any) bool {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return false
	}
	data, err = s.aead.Open(nil, nil, data, purpose)
	return err == nil && json.Unmarshal(data, value) == nil
}

// BeginSession signs in whose key it is, and returns what the cookie holds, and until when.
func (s *Sessions) BeginSession(secret string) (sealed string, expire time.Time, err error) {
	key, err := s.keys.findKey(secret)
	if err != nil {
		return "", time.Time{}, err
	}
	return s.sealSession(key)
}

// sealSession returns what the cookie of a key's session holds, and until when.
func (s *Sessions) sealSession(key *Key) (sealed string, expire time.Time, err error) {
	now := time.Now()
	expire = now.Add(sessionAge)
	if !key.ExpireTime.IsZero() && key.ExpireTime.Before(expire) {
		expire = key.ExpireTime
	}
	sealed, err = s.seal(sessionPurpose, session{Key: key.ID, Hash: key.Hash[:hashPart], Expire: expire.Unix(),
		ID: rand.Text(), Begin: now.UnixMilli()})
	return sealed, expire, err
}

// AuthenticateSession finds out who a cookie belongs to. The key is looked up every time: one that was revoked, rotated
// or changed since counts as it is now.
func (s *Sessions) AuthenticateSession(sealed string) (*Identity, error) {
	key, v, err := s.openSession(sealed)
	if err != nil {
		return nil, err
	}
	id := s.keys.identityOf(key)
	id.Credential, id.ExpireTime = CredentialSession, time.Unix(v.Expire, 0)
	return id, nil
}

// openSession returns the key of a session that has not ended, and what its cookie holds.
func (s *Sessions) openSession(sealed string) (*Key, *session, error) {
	var v session
	if !s.open(sessionPurpose, sealed, &v) || time.Now().Unix() >= v.Expire {
		return nil, nil, ErrInvalidCredentials
	}
	key, ok := s.keys.mirror.Get(v.Key)
	if !ok || len(key.Hash) < hashPart || key.Hash[:hashPart] != v.Hash || key.hasExpired(time.Now()) || s.keys.hasEnded(&v) {
		return nil, nil, ErrInvalidCredentials
	}
	return &key, &v, nil
}

// EndSession ends a session for good.
func (s *Sessions) EndSession(ctx context.Context, sealed string) error {
	key, v, err := s.openSession(sealed)
	if err != nil {
		return nil //nolint:nilerr // it has ended
	}
	if key.Subject == "" {
		return s.keys.endSession(ctx, key, v)
	}
	if err := s.keys.RevokeKey(ctx, key.Tenant, key.ID); !errors.Is(err, ErrNoKey) {
		return err
	}
	return nil
}

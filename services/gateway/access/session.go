package access

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
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

// Sessions seals who a browser is signed in as, so that a cookie can hold it. Nothing is stored, and a session ends with
// the key that it was begun with. It is safe for concurrent use.
type Sessions struct {
	aead cipher.AEAD
	keys *Keys
}

// session is what is sealed.
type session struct {
	Key    string `json:"key"`
	Hash   string `json:"hash"`
	Expire int64  `json:"expire"`
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

// sealPurpose sets what is sealed here apart from what the same key may seal elsewhere.
var sealPurpose = []byte("inkstream session")

// BeginSession signs in whose key it is, and returns what the cookie holds, and until when.
func (s *Sessions) BeginSession(secret string) (sealed string, expire time.Time, err error) {
	id, err := s.keys.authenticate(secret)
	if err != nil {
		return "", time.Time{}, err
	}
	expire = time.Now().Add(sessionAge)
	if !id.ExpireTime.IsZero() && id.ExpireTime.Before(expire) {
		expire = id.ExpireTime
	}
	data, err := json.Marshal(session{Key: keyIDOf(secret), Hash: hashSecret(secret)[:hashPart], Expire: expire.Unix()})
	if err != nil {
		return "", time.Time{}, fmt.Errorf("encode session: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, data, sealPurpose)), expire, nil
}

// AuthenticateSession finds out who a cookie belongs to. The key is looked up every time: one that was revoked, rotated
// or changed since counts as it is now.
func (s *Sessions) AuthenticateSession(sealed string) (*Identity, error) {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, ErrInvalidCredentials
	}
	data, err = s.aead.Open(nil, nil, data, sealPurpose)
	var v session
	if err != nil || json.Unmarshal(data, &v) != nil || time.Now().Unix() >= v.Expire {
		return nil, ErrInvalidCredentials
	}
	key, ok := s.keys.mirror.Get(v.Key)
	if !ok || len(key.Hash) < hashPart || key.Hash[:hashPart] != v.Hash || key.hasExpired(time.Now()) {
		return nil, ErrInvalidCredentials
	}
	id := s.keys.identityOf(&key)
	id.Credential, id.ExpireTime = CredentialSession, time.Unix(v.Expire, 0)
	return id, nil
}

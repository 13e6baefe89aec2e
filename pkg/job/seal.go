package job

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// sealKeyBytes is the length of the server's key.
const sealKeyBytes = 32

// Sealer seals documents' passwords with the server's key (AES-256-GCM), so that records, manifests and their backups
// hold none that can be read. What is sealed for one job opens for no other. It is safe for concurrent use.
type Sealer struct {
	aead cipher.AEAD
	mac  []byte
	name string // of the key: it begins what is sealed, and tells nothing about it
}

// ErrWrongSealKey is what OpenSecret returns for what was sealed with another key than the sealer's.
var ErrWrongSealKey = errors.New("sealed with another key than this service has: every service needs the same")

// keyNameSeparator ends the name of the key that something was sealed with. Base64 has no such character.
const keyNameSeparator = "."

// NewSealer returns a sealer with a key of 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != sealKeyBytes {
		return nil, fmt.Errorf("sealing key of %d bytes, want %d", len(key), sealKeyBytes)
	}
	encrypt, err := hkdf.Key(sha256.New, key, nil, "inkstream seal", sealKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	mac, err := hkdf.Key(sha256.New, key, nil, "inkstream digest", sealKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	name, err := hkdf.Key(sha256.New, key, nil, "inkstream key name", 4)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	block, err := aes.NewCipher(encrypt)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	return &Sealer{aead: aead, mac: mac, name: hex.EncodeToString(name)}, nil
}

// DeriveKey returns a key of 32 bytes for another purpose, which tells nothing about the sealer's own.
func (s *Sealer) DeriveKey(purpose string) ([]byte, error) {
	key, err := hkdf.Key(sha256.New, s.mac, nil, "inkstream "+purpose, sealKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return key, nil
}

// LoadSealer returns a sealer with the key in a file: 32 bytes in base64, as `openssl rand -base64 32` writes them.
func LoadSealer(path string) (*Sealer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(data)))
	if err != nil {
		return nil, fmt.Errorf("sealing key %s: not base64", path) // without the cause, which may repeat a part of the key
	}
	s, err := NewSealer(key)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// LoadOrCreateSealer is LoadSealer for a process that has its data folder to itself: a key that is missing is made,
// readable by its owner only.
func LoadOrCreateSealer(path string) (*Sealer, error) {
	s, err := LoadSealer(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if err := createSealKey(path); err != nil {
		return nil, fmt.Errorf("make sealing key: %w", err)
	}
	return LoadSealer(path)
}

// createSealKey writes a new key, durably: passwords that it has sealed are lost with it.
func createSealKey(path string) (err error) {
	key := make([]byte, sealKeyBytes)
	_, _ = rand.Read(key) // never fails
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".seal-key-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// associatedData is what ties a sealed text to its job.
func associatedData(tenant string, id ID) []byte { return []byte(tenant + "/" + string(id)) }

// SealSecret returns a secret of a job as text that only OpenSecret can read.
func (s *Sealer) SealSecret(tenant string, id ID, secret string) string {
	return s.name + keyNameSeparator + base64.StdEncoding.EncodeToString(s.aead.Seal(nil, nil, []byte(secret),
		associatedData(tenant, id)))
}

// OpenSecret returns the secret of a job that was sealed. The error is ErrWrongSealKey, or says no more than that it
// does not open, as for another job.
func (s *Sealer) OpenSecret(tenant string, id ID, sealed string) (string, error) {
	if name, rest, named := strings.Cut(sealed, keyNameSeparator); named { // what older servers sealed has none
		if name != s.name {
			return "", ErrWrongSealKey
		}
		sealed = rest
	}
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return "", errors.New("the sealed text is damaged")
	}
	secret, err := s.aead.Open(nil, nil, data, associatedData(tenant, id))
	if err != nil {
		return "", errors.New("the sealed text does not open with this server's key")
	}
	return string(secret), nil
}

// DigestSecret returns what tells two secrets of a tenant apart, and reveals nothing about them without the key.
func (s *Sealer) DigestSecret(tenant, secret string) string {
	h := hmac.New(sha256.New, s.mac)
	h.Write([]byte(tenant + "\x00" + secret))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

package structure

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5" // what PDF encryption is made of (ISO 32000-2 §7.6)
	"crypto/rand"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"io"
)

// Security is the standard security handler (ISO 32000-2 §7.6) with its file key.
type Security struct {
	// Metadata says that metadata streams are encrypted like others.
	Metadata bool

	key []byte
	// strings and streams say how each is encrypted.
	strings, streams cipherMethod
}

type cipherMethod uint8

const (
	identity cipherMethod = iota
	rc4Method
	aes128
	aes256
)

// OpenSecurity opens an encryption with a password, the user's or the owner's. Id is the first element of the
// trailer's /ID. Its error is ErrPassword.
func OpenSecurity(dict Value, id []byte, password string) (*Security, error) {
	if filter := dict.Lookup("Filter"); filter.Kind != Null && !filter.IsName("Standard") {
		return nil, ErrPassword
	}
	s := &Security{Metadata: string(dict.Lookup("EncryptMetadata").Raw) != "false"}
	bits := dict.Lookup("Length").Num
	switch dict.Lookup("V").Num {
	case 1:
		s.strings, s.streams, bits = rc4Method, rc4Method, 40
	case 2, 3:
		s.strings, s.streams = rc4Method, rc4Method
	case 4, 5:
		s.streams, s.strings, bits = parseCipherMethod(dict, "StmF"), parseCipherMethod(dict, "StrF"), 128
	default:
		return nil, ErrPassword
	}
	if bits < 40 || bits > 128 {
		bits = 40
	}
	if dict.Lookup("R").Num >= 5 {
		s.key = openAES256(dict, []byte(password))
	} else {
		s.key = s.openRC4OrAES128(dict, id, []byte(password), int(bits/8))
	}
	if s.key == nil {
		return nil, ErrPassword
	}
	return s, nil
}

func parseCipherMethod(dict Value, key string) cipherMethod {
	name := dict.Lookup(key)
	filter := dict.Lookup("CF").Lookup(name.decodedName())
	switch cfm := filter.Lookup("CFM"); {
	case name.Kind != Name || name.IsName("Identity"):
		return identity
	case cfm.IsName("V2"):
		return rc4Method
	case cfm.IsName("AESV2"):
		return aes128
	case cfm.IsName("AESV3"):
		return aes256
	}
	return identity
}

// padding fills up passwords (algorithm 2).
var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

func padPassword(password []byte) []byte {
	return append(bytes.Clone(password[:min(len(password), 32)]), padding...)[:32]
}

// openRC4OrAES128 returns the key of revisions 2 to 4, or nil if the password is neither the user's nor the owner's.
func (s *Security) openRC4OrAES128(dict Value, id, password []byte, size int) []byte {
	owner, user := dict.Lookup("O").Text, dict.Lookup("U").Text
	if len(owner) < 32 || len(user) < 16 {
		return nil
	}
	owner = owner[:32]
	revision := dict.Lookup("R").Num
	if key := s.deriveUserKey(dict, owner, user, id, padPassword(password), size); key != nil {
		return key
	}
	return s.deriveUserKey(dict, owner, user, id, recoverUserPassword(owner, password, revision, size), size)
}

// deriveUserKey is algorithms 2, 4 and 5.
func (s *Security) deriveUserKey(dict Value, owner, user, id, password []byte, size int) []byte {
	revision := dict.Lookup("R").Num
	h := md5.New()
	h.Write(password)
	h.Write(owner)
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(dict.Lookup("P").Num)))
	h.Write(id)
	if revision >= 4 && !s.Metadata {
		h.Write([]byte{255, 255, 255, 255})
	}
	key := h.Sum(nil)[:size]
	if revision < 3 {
		if bytes.HasPrefix(user, rc4Bytes(key, padding)[:16]) {
			return key
		}
		return nil
	}
	for range 50 {
		sum := md5.Sum(key)
		copy(key, sum[:])
	}
	sum := md5.Sum(append(bytes.Clone(padding), id...))
	check := sum[:]
	for i := range byte(20) {
		check = rc4Bytes(xorBytes(key, i), check)
	}
	if !bytes.HasPrefix(user, check) {
		return nil
	}
	return key
}

// recoverUserPassword takes the user's password out of the owner's entry (algorithm 7).
func recoverUserPassword(owner, password []byte, revision int64, size int) []byte {
	sum := md5.Sum(padPassword(password))
	key := sum[:]
	if revision < 3 {
		return rc4Bytes(key[:5], owner)
	}
	for range 50 {
		sum = md5.Sum(key)
		key = sum[:]
	}
	out := owner
	for i := 19; i >= 0; i-- {
		out = rc4Bytes(xorBytes(key[:size], byte(i)), out)
	}
	return out
}

func xorBytes(key []byte, with byte) []byte {
	out := bytes.Clone(key)
	for i := range out {
		out[i] ^= with
	}
	return out
}

func rc4Bytes(key, b []byte) []byte {
	c, err := rc4.NewCipher(key)
	if err != nil {
		return b
	}
	out := make([]byte, len(b))
	c.XORKeyStream(out, b)
	return out
}

// openAES256 returns the key of revisions 5 and 6 (algorithm 2.A), or nil.
func openAES256(dict Value, password []byte) []byte {
	password = password[:min(len(password), 127)]
	user, owner := dict.Lookup("U").Text, dict.Lookup("O").Text
	hash := hashRevision6
	if dict.Lookup("R").Num == 5 {
		hash = func(password, salt, udata []byte) []byte {
			sum := sha256.Sum256(append(append(bytes.Clone(password), salt...), udata...))
			return sum[:]
		}
	}
	for _, try := range []struct {
		entry, udata []byte
		wrapped      string
	}{{user, nil, "UE"}, {owner, user[:min(len(user), 48)], "OE"}} {
		wrapped := dict.Lookup(try.wrapped).Text
		if len(try.entry) < 48 || len(wrapped) < 32 ||
			!bytes.Equal(hash(password, try.entry[32:40], try.udata), try.entry[:32]) {
			continue
		}
		block, err := aes.NewCipher(hash(password, try.entry[40:48], try.udata))
		if err != nil {
			return nil
		}
		key := make([]byte, 32)
		cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(key, wrapped[:32])
		return key
	}
	return nil
}

// hashRevision6 is the hash of revision 6 (algorithm 2.B).
func hashRevision6(password, salt, udata []byte) []byte {
	sum := sha256.Sum256(append(append(bytes.Clone(password), salt...), udata...))
	k := sum[:]
	for rounds := 1; ; rounds++ {
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		e := bytes.Repeat(append(append(bytes.Clone(password), k...), udata...), 64)
		cipher.NewCBCEncrypter(block, k[16:32]).CryptBlocks(e, e)
		mod := 0
		for _, c := range e[:16] {
			mod += int(c)
		}
		switch mod % 3 {
		case 0:
			sum := sha256.Sum256(e)
			k = sum[:]
		case 1:
			sum := sha512.Sum384(e)
			k = sum[:]
		default:
			sum := sha512.Sum512(e)
			k = sum[:]
		}
		if rounds >= 64 && int(e[len(e)-1]) <= rounds-32 { // the rounds that are over, this one included
			return k[:32]
		}
	}
}

func (s *Security) deriveObjectKey(m cipherMethod, number, generation int) []byte {
	if m == aes256 {
		return s.key
	}
	h := md5.New()
	h.Write(s.key)
	h.Write([]byte{byte(number), byte(number >> 8), byte(number >> 16), byte(generation), byte(generation >> 8)})
	if m == aes128 {
		h.Write([]byte("sAlT"))
	}
	return h.Sum(nil)[:min(len(s.key)+5, 16)]
}

// EncryptsStreams reports whether streams are encrypted at all.
func (s *Security) EncryptsStreams() bool { return s.streams != identity }

// StreamReader decrypts r as the stream of that object. The padding at its end stays: what reads it knows its own
// end, or does not mind.
func (s *Security) StreamReader(r io.Reader, number, generation int) io.Reader {
	if s.streams == identity {
		return r
	}
	key := s.deriveObjectKey(s.streams, number, generation)
	if s.streams == rc4Method {
		c, err := rc4.NewCipher(key)
		if err != nil {
			return r
		}
		return cipher.StreamReader{S: c, R: r}
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return r
	}
	return &cbcReader{src: r, block: block}
}

func (s *Security) decryptText(b []byte, number, generation int) []byte {
	return s.decryptBytes(s.strings, b, number, generation)
}

func (s *Security) decryptStream(b []byte, number, generation int) []byte {
	return s.decryptBytes(s.streams, b, number, generation)
}

func (s *Security) decryptBytes(m cipherMethod, b []byte, number, generation int) []byte {
	switch m {
	case identity:
		return b
	case rc4Method:
		return rc4Bytes(s.deriveObjectKey(m, number, generation), b)
	}
	block, err := aes.NewCipher(s.deriveObjectKey(m, number, generation))
	if err != nil || len(b) < 2*aes.BlockSize {
		return nil
	}
	iv, body := b[:aes.BlockSize], b[aes.BlockSize:]
	out := make([]byte, len(body)/aes.BlockSize*aes.BlockSize)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(out, body[:len(out)])
	if pad := int(out[len(out)-1]); pad >= 1 && pad <= aes.BlockSize {
		out = out[:len(out)-pad]
	}
	return out
}

// encryptBytes is the opposite of decrypt.
func (s *Security) encryptBytes(m cipherMethod, b []byte, number, generation int) []byte {
	switch m {
	case identity:
		return b
	case rc4Method:
		return rc4Bytes(s.deriveObjectKey(m, number, generation), b)
	}
	block, err := aes.NewCipher(s.deriveObjectKey(m, number, generation))
	if err != nil {
		return nil // a key of another length than AES has, which OpenSecurity does not make
	}
	pad := aes.BlockSize - len(b)%aes.BlockSize
	out := make([]byte, aes.BlockSize, aes.BlockSize+len(b)+pad)
	_, _ = rand.Read(out) // it never fails
	out = append(append(out, b...), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], out[aes.BlockSize:])
	return out
}

// cbcReader decrypts AES in CBC mode, without looking for the padding.
type cbcReader struct {
	src    io.Reader
	block  cipher.Block
	mode   cipher.BlockMode
	buf    [4 << 10]byte
	unread []byte
	err    error
}

// Read implements [io.Reader].
func (c *cbcReader) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.fillBuffer()
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

func (c *cbcReader) fillBuffer() {
	if c.mode == nil {
		var iv [aes.BlockSize]byte
		if _, c.err = io.ReadFull(c.src, iv[:]); c.err != nil {
			return
		}
		c.mode = cipher.NewCBCDecrypter(c.block, iv[:])
	}
	n, err := io.ReadFull(c.src, c.buf[:])
	if err != nil {
		c.err = io.EOF
	}
	n -= n % aes.BlockSize
	c.mode.CryptBlocks(c.buf[:n], c.buf[:n])
	c.unread = c.buf[:n]
}

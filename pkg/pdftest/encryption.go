package pdftest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
)

// Cipher is a way to encrypt a PDF.
type Cipher string

// The ciphers, both with keys of 128 bits, of PDF's standard security handler.
const (
	RC4 Cipher = "rc4-128"
	AES Cipher = "aes-128"
)

// UserPassword opens the files that Encrypted makes; OwnerPassword does too, and lifts the restrictions of those that
// OwnerOnlyFile makes.
const (
	UserPassword  = "secret"
	OwnerPassword = "owner-secret"
)

// EncryptedFile returns a born-digital file of three pages that opens with UserPassword only.
func EncryptedFile(c Cipher) File {
	return encryptFile(c, UserPassword, "encrypted-"+string(c)+".pdf")
}

// OwnerOnlyFile returns a born-digital file of three pages that is encrypted but opens without a password. What its
// permissions forbid (printing, copying) binds people, not a pipeline that its owner set up.
func OwnerOnlyFile(c Cipher) File {
	return encryptFile(c, "", "owner-only-"+string(c)+".pdf")
}

func encryptFile(c Cipher, password, name string) File {
	f := buildNativeFile(nativeFileOptions{name: name, pages: 3, seed: 11,
		encryption: newEncryption(c, password, OwnerPassword)})
	f.Password = password
	return f
}

// passwordPadding fills passwords up to 32 bytes (ISO 32000-1, 7.6.3.3, algorithm 2).
var passwordPadding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// permissions allow reading aloud only. The low two bits must be clear, the unused high ones set.
const permissions = int32(-3904 | 1<<9)

// encryption holds the keys of one file.
type encryption struct {
	cipher Cipher
	key    []byte
	o, u   []byte
}

func newEncryption(c Cipher, user, owner string) *encryption {
	e := &encryption{cipher: c}
	// Algorithm 3: the owner's entry is the padded user password under a key made of the owner's.
	ownerKey := md5Rounds(md5.Sum(padPassword(owner)))
	e.o = rc4Rounds(ownerKey, padPassword(user))

	// Algorithm 2: the file's key.
	h := md5.New()
	h.Write(padPassword(user))
	h.Write(e.o)
	perms := permissions
	binary.Write(h, binary.LittleEndian, perms)
	h.Write([]byte(fileID))
	e.key = md5Rounds([md5.Size]byte(h.Sum(nil)))

	// Algorithm 5: the user's entry proves the key.
	sum := md5.Sum(append(bytes.Clone(passwordPadding), fileID...))
	e.u = append(rc4Rounds(e.key, sum[:]), make([]byte, 16)...)
	return e
}

func padPassword(password string) []byte { return append([]byte(password), passwordPadding...)[:32] }

// md5Rounds hashes a digest fifty times more, as revision 3 and later do against guessing.
func md5Rounds(sum [md5.Size]byte) []byte {
	for range 50 {
		sum = md5.Sum(sum[:])
	}
	return sum[:]
}

func rc4Rounds(key, data []byte) []byte {
	out := bytes.Clone(data)
	for i := range 20 {
		k := bytes.Clone(key)
		for j := range k {
			k[j] ^= byte(i)
		}
		stream, _ := rc4.NewCipher(k) // 16 bytes: a valid length
		stream.XORKeyStream(out, out)
	}
	return out
}

// encryptObject encrypts the data of object r. The vector of AES is made of the object's number: files must come out
// the same each time.
func (e *encryption) encryptObject(r objectRef, data []byte) []byte {
	seed := append(bytes.Clone(e.key), byte(r), byte(r>>8), byte(r>>16), 0, 0)
	if e.cipher == RC4 {
		key := md5.Sum(seed)
		out := make([]byte, len(data))
		stream, _ := rc4.NewCipher(key[:])
		stream.XORKeyStream(out, data)
		return out
	}
	key := md5.Sum(append(seed, "sAlT"...))
	block, _ := aes.NewCipher(key[:])
	iv := md5.Sum(fmt.Appendf(nil, "vector %d", r))
	pad := aes.BlockSize - len(data)%aes.BlockSize
	plain := append(bytes.Clone(data), bytes.Repeat([]byte{byte(pad)}, pad)...)
	out := append(iv[:], make([]byte, len(plain))...)
	cipher.NewCBCEncrypter(block, iv[:]).CryptBlocks(out[aes.BlockSize:], plain)
	return out
}

// dictionary returns the /Encrypt dictionary. Its strings are never encrypted themselves.
func (e *encryption) dictionary() string {
	head := "/V 2 /R 3 /Length 128"
	if e.cipher == AES {
		head = "/V 4 /R 4 /Length 128 /CF << /StdCF << /Type /CryptFilter /CFM /AESV2 /AuthEvent /DocOpen /Length 16 >> >> /StmF /StdCF /StrF /StdCF"
	}
	return fmt.Sprintf("<< /Filter /Standard %s /P %d /O <%x> /U <%x> >>", head, permissions, e.o, e.u)
}

package rawscan

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"crypto/rc4"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"io"
	"slices"
)

// decrypter decrypts the streams of a document that opens without a password (ISO 32000-2 §7.6, the standard security handler). Such documents are
// encrypted in name only, and common; what their streams hold must not escape the scan.
type decrypter struct {
	key []byte
	// aes is set for AES in CBC mode, else it is RC4. own is set where each object has a key of its own.
	aes, own bool
	// metadata is set where metadata streams are encrypted, too.
	metadata bool
}

const (
	// maxNoted is how many encryption dictionaries and trailers are tried; an honest document has one of the first and one of the latter a revision.
	maxNoted = 16
	// maxDict bounds the bytes that are read of each.
	maxDict = 8 << 10
)

// note remembers where an encryption dictionary or a trailer begins: the last ones, which are the ones that count.
func (s *scanner) note(start int64, trailer bool) {
	list := &s.dicts
	if trailer {
		list = &s.trailers
	}
	*list = append(*list, s.origin+start)
	if len(*list) > maxNoted {
		*list = (*list)[1:]
	}
}

// decrypter returns what decrypts the document that has been gone through, or nil.
func (s *scanner) decrypter() *decrypter {
	ids := [][]byte{nil}
	for _, off := range s.trailers {
		if list := s.dictAt(off)["ID"].list; len(list) > 0 {
			ids = append(ids, list[0].text)
		}
	}
	for _, off := range slices.Backward(s.dicts) {
		dict := s.dictAt(off)
		for _, id := range slices.Backward(ids) {
			if d := newDecrypter(dict, id); d != nil {
				return d
			}
		}
	}
	return nil
}

func (s *scanner) dictAt(off int64) map[string]value {
	b := make([]byte, min(maxDict, s.size-off))
	n, err := s.file.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil
	}
	return parseDict(b[:n])
}

// padding fills up passwords; here it is the whole password (algorithm 2).
var padding = []byte("\x28\xBF\x4E\x5E\x4E\x75\x8A\x41\x64\x00\x4E\x56\xFF\xFA\x01\x08\x2E\x2E\x00\xB6\xD0\x68\x3E\x80\x2F\x0C\xA9\xFE\x64\x53\x69\x7A")

// newDecrypter returns a decrypter for an encryption dictionary, or nil if the document does not open without a password or its encryption is not
// known. id is the first element of the trailer's /ID.
func newDecrypter(dict map[string]value, id []byte) *decrypter {
	d := &decrypter{metadata: dict["EncryptMetadata"].name != "false"}
	bits := dict["Length"].num
	switch dict["V"].num {
	case 1:
		d.own, bits = true, 40
	case 2, 3:
		d.own = true
	case 4, 5:
		filter := dict["CF"].dict[dict["StmF"].name].dict
		switch filter["CFM"].name {
		case "V2":
			d.own = true
		case "AESV2":
			d.own, d.aes = true, true
		case "AESV3":
			d.aes = true
		default:
			return nil // not encrypted, then
		}
		bits = 128
	default:
		return nil
	}
	owner, user := dict["O"].text, dict["U"].text
	if dict["R"].num >= 5 {
		d.key = fileKey256(dict, user)
	} else if len(owner) >= 32 && len(user) >= 16 {
		if bits < 40 || bits > 128 {
			bits = 40
		}
		d.key = d.fileKey(dict, owner[:32], user, id, int(bits/8))
	}
	if d.key == nil {
		return nil
	}
	return d
}

// fileKey returns the key of revisions 2 to 4 (algorithms 2, 4 and 5), or nil if the empty password is not the user's.
func (d *decrypter) fileKey(dict map[string]value, owner, user, id []byte, size int) []byte {
	revision := dict["R"].num
	h := md5.New()
	h.Write(padding)
	h.Write(owner)
	h.Write(binary.LittleEndian.AppendUint32(nil, uint32(dict["P"].num)))
	h.Write(id)
	if revision >= 4 && !d.metadata {
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
		round := bytes.Clone(key)
		for j := range round {
			round[j] ^= i
		}
		check = rc4Bytes(round, check)
	}
	if !bytes.HasPrefix(user, check) {
		return nil
	}
	return key
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

// fileKey256 returns the key of revisions 5 and 6 (algorithm 2.A), or nil if the empty password is not the user's.
func fileKey256(dict map[string]value, user []byte) []byte {
	wrapped := dict["UE"].text
	if len(user) < 48 || len(wrapped) < 32 {
		return nil
	}
	hash := hardened
	if dict["R"].num == 5 {
		hash = func(salt []byte) []byte {
			sum := sha256.Sum256(salt)
			return sum[:]
		}
	}
	if !bytes.Equal(hash(user[32:40]), user[:32]) {
		return nil
	}
	block, err := aes.NewCipher(hash(user[40:48]))
	if err != nil {
		return nil
	}
	key := make([]byte, 32)
	cipher.NewCBCDecrypter(block, make([]byte, aes.BlockSize)).CryptBlocks(key, wrapped[:32])
	return key
}

// hardened is the hash of revision 6 for the empty password (algorithm 2.B).
func hardened(salt []byte) []byte {
	sum := sha256.Sum256(salt)
	k := sum[:]
	for round := 0; ; round++ {
		block, err := aes.NewCipher(k[:16])
		if err != nil {
			return nil
		}
		e := bytes.Repeat(k, 64)
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
		if round >= 63 && int(e[len(e)-1]) <= round-32 {
			return k[:32]
		}
	}
}

// covers reports whether a stream is encrypted at all. A filter of type Crypt stands for an exception, in practice the identity.
func (d *decrypter) covers(a *attrs) bool {
	switch {
	case a.kind == typeXRef, a.kind == typeMetadata && !d.metadata:
		return false
	}
	return a.nfilters == 0 || a.filters[0] != filterCrypt
}

// reader returns r decrypted, as the stream of that object.
func (d *decrypter) reader(r io.Reader, number, generation int64) io.Reader {
	key := d.key
	if d.own {
		h := md5.New()
		h.Write(key)
		h.Write([]byte{byte(number), byte(number >> 8), byte(number >> 16), byte(generation), byte(generation >> 8)})
		if d.aes {
			h.Write([]byte("sAlT"))
		}
		key = h.Sum(nil)[:min(len(key)+5, 16)]
	}
	if !d.aes {
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

// cbcReader decrypts AES in CBC mode. The padding at the end stays: what reads this knows its own end, or does not mind.
type cbcReader struct {
	src   io.Reader
	block cipher.Block
	mode  cipher.BlockMode
	buf   [4 << 10]byte
	left  []byte
	err   error
}

func (c *cbcReader) Read(p []byte) (int, error) {
	if len(c.left) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		c.fill()
	}
	n := copy(p, c.left)
	c.left = c.left[n:]
	return n, nil
}

func (c *cbcReader) fill() {
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
	c.left = c.buf[:n]
}

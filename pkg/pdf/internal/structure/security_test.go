package structure

import (
	"crypto/aes"
	"encoding/hex"
	"fmt"
	"testing"
)

// TestKeyOfRevision6 opens encryptions that qpdf made, with the password "word". The last byte of some round of their
// hashes is the largest that ends it: in one where the password is checked, in the other where the key is unwrapped.
func TestKeyOfRevision6(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ user, wrapped, permissions string }{
		{
			"1ba41d386ca667750e0c3a0724e4aab3cdc80b64f2474b08" +
				"7036c0189cfd0f965bc565cc92c8ef2a44be9aa22c22b8bb",
			"039a6a25728e1d023d3bb256998a0f8402fba335e8c94ea79084b36fa9be2a23", "6827c02acb9e79bb05e6335ad53f8771",
		},
		{
			"c3d80bdce0be60d55a3e9b9d5175bf852fb90a418bcbb937" +
				"af46f7452b0731b9aa2f7a1452e000050b3debb919975a9c",
			"72f145e3b7903d31adb1315f45776cfc8a974877333064f359fca34394d936e8", "4cfcdfbbdc00b012f4a72d53ba3ce702",
		},
	} {
		dict := ParseDict(fmt.Appendf(nil, "<< /R 6 /U <%s> /UE <%s> >>", tt.user, tt.wrapped))
		block, err := aes.NewCipher(openAES256(dict, []byte("word")))
		if err != nil {
			t.Errorf("%s: no key: %v", tt.user, err)
			continue
		}
		plain, err := hex.DecodeString(tt.permissions)
		if err != nil {
			t.Fatal(err)
		}
		block.Decrypt(plain, plain)
		if string(plain[9:12]) != "adb" { // as the permissions of every document are marked
			t.Errorf("%s: the key is another: permissions %x", tt.user, plain)
		}
	}
}

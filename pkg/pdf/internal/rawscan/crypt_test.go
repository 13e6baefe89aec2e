package rawscan

import (
	"maps"
	"path/filepath"
	"testing"
)

func TestEncryptedFiles(t *testing.T) {
	t.Parallel()
	found := map[string]int{OpenAction: 1, JavaScript: 1, AdditionalActions: 1, LaunchAction: 1}
	for _, tt := range []struct {
		file   string
		want   map[string]int
		opaque int64
	}{
		{"rc4-40.pdf", found, 0},
		{"rc4-128.pdf", found, 0},
		{"aes-128.pdf", found, 0},
		{"aes-128-cleartext-metadata.pdf", found, 0},
		{"aes-256-r5.pdf", found, 0},
		{"aes-256.pdf", found, 0},
		{"password.pdf", map[string]int{OpenAction: 1, JavaScript: 1}, 1},
	} {
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			r := scanFile(t, filepath.Join("testdata", tt.file))
			if !maps.Equal(r.Counts, tt.want) || !r.Encrypted || r.OpaqueObjectStreams != tt.opaque || r.Bomb {
				t.Errorf("got %v, encrypted %v, %d opaque object streams, bomb %q, want %v, true, %d, none",
					r.Counts, r.Encrypted, r.OpaqueObjectStreams, r.BombDetail, tt.want, tt.opaque)
			}
		})
	}
}

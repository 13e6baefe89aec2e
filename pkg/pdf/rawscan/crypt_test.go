package rawscan

import (
	"maps"
	"path/filepath"
	"reflect"
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

func TestParseDict(t *testing.T) {
	t.Parallel()
	got := parseDict([]byte(`<< /V 4 % comment (
		/P -1084 /O (a\(b\)\\\n\101\7z(in)\
c) /U <4a4B4> /CF << /Std#43F << /CFM /AESV2 >> >> /EncryptMetadata false /X 12 0 R /ID [<41> (B)] >> /Not 1`))
	want := map[string]value{
		"V":               {num: 4},
		"P":               {num: -1084},
		"O":               {text: []byte("a(b)\\\nA\az(in)c")},
		"U":               {text: []byte("JK@")},
		"CF":              {dict: map[string]value{"StdCF": {dict: map[string]value{"CFM": {name: "AESV2"}}}}},
		"EncryptMetadata": {name: "false"},
		"X":               {num: 12},
		"ID":              {list: []value{{text: []byte("A")}, {text: []byte("B")}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, damaged := range []string{"", "<", "<<", "<< /A", "<< /A (", "<< /A (\\", "<< /A <4", "<< /A [", "[[[[[[[[[[[[", "<< /A + >>", "<< /A << /B << /C"} {
		parseDict([]byte(damaged)) // must come to an end
	}
}

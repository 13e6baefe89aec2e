package rawscan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzScan looks for panics, endless loops and runaway work: whatever the bytes, a scan ends soon and reports no more
// than fits in them.
func FuzzScan(f *testing.F) {
	content, first := objectStreamContent(js, "<< /Type /Catalog /AA 3 0 R >>")
	head := fmt.Sprintf("/Type /ObjStm /N 2 /First %d /Filter ", first)
	for _, seed := range [][]byte{
		nil,
		buildDocument(js, "<< /A (7 0 obj <<) /B <41 /C [1 2 R] % 8 0 obj\n >>"),
		buildDocument(streamObject(head+"/FlateDecode", deflateBytes(content))),
		buildDocument(streamObject(head+"[/ASCIIHexDecode /ASCII85Decode]", []byte("3c7e>"))),
		buildDocument(streamObject(head+"/LZWDecode /DecodeParms << /EarlyChange 0 >>", lateLZW(content))),
		buildDocument(streamObject(head+"/LZWDecode", lateLZW(content))),
		buildDocument(streamObject(head+"/FlateDecode /DecodeParms [<< /Predictor 15 /Columns 5 /Colors 3 >>]",
			deflateBytes(upPredicted(content, 15)))),
		buildDocument(streamObject("/Filter [/Fl /RL]", deflateBytes(encodeRunLengths(content)))),
		buildDocument(streamObject("/Subtype /Image /Width 1000 /Height 1000 /Filter /FlateDecode",
			deflateBytes(make([]byte, 1e6)))),
		[]byte("1 0 obj << /Filter 9 0 R /Length 7 0 R >> stream\n" + string(deflateBytes(content)) +
			"endstream trailer << /Encrypt 1 0 R >>"),
	} {
		f.Add(seed)
	}
	encrypted, err := filepath.Glob(filepath.Join("testdata", "*.pdf"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range encrypted {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	limits := Limits{MaxInflated: 4 << 20, MaxStream: 1 << 20, MaxWork: 16 << 20}
	f.Fuzz(func(t *testing.T, b []byte) {
		start := time.Now()
		r, err := Scan(t.Context(), bytes.NewReader(b), int64(len(b)), limits)
		if err != nil {
			t.Fatalf("Scan: %v", err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v for %d bytes", took, len(b))
		}
		if r.InflatedBytes > 2*(limits.MaxWork+1<<20) { // an encrypted file is gone through twice
			t.Errorf("inflated %d bytes, want at most %d twice", r.InflatedBytes, limits.MaxWork)
		}
		for _, n := range r.Counts {
			if n < 0 || int64(n) > int64(len(b))+r.InflatedBytes {
				t.Errorf("got %v from %d bytes, %d inflated", r.Counts, len(b), r.InflatedBytes)
			}
		}
	})
}

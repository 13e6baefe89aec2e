package rawscan

import (
	"bytes"
	"compress/lzw"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func scanBytes(tb testing.TB, b []byte, limits Limits) Report {
	tb.Helper()
	r, err := Scan(tb.Context(), bytes.NewReader(b), int64(len(b)), limits)
	if err != nil {
		tb.Fatalf("Scan: %v", err)
	}
	return r
}

// buildDocument puts objects, numbered from 1, into a file. There is no cross-reference table: nothing here reads one.
func buildDocument(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	for i, o := range objects {
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	b.WriteString("trailer\n<< /Root 1 0 R >>\n%%EOF\n")
	return b.Bytes()
}

// streamObject returns a stream object with a direct length.
func streamObject(dict string, data []byte) string {
	return fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data)
}

func deflateBytes(b []byte) []byte {
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

// objectStreamContent returns an object stream's content with these objects, and the length of its head.
func objectStreamContent(objects ...string) (content []byte, first int) {
	var head, body strings.Builder
	for i, o := range objects {
		fmt.Fprintf(&head, "%d %d ", 100+i, body.Len())
		body.WriteString(o + " ")
	}
	return []byte(head.String() + body.String()), head.Len()
}

// upPredicted filters rows with PNG's "up".
func upPredicted(b []byte, columns int) []byte {
	prev := make([]byte, columns)
	var out []byte
	for len(b) > 0 {
		row := make([]byte, columns)
		b = b[copy(row, b):]
		out = append(out, 2)
		for i := range row {
			out = append(out, row[i]-prev[i])
		}
		prev = row
	}
	return out
}

func encode85(b []byte) []byte {
	var out bytes.Buffer
	w := ascii85.NewEncoder(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return append(out.Bytes(), "~>"...)
}

// encodeRunLengths encodes b as literal runs.
func encodeRunLengths(b []byte) []byte {
	var out []byte
	for len(b) > 0 {
		n := min(128, len(b))
		out = append(append(out, byte(n-1)), b[:n]...)
		b = b[n:]
	}
	return append(out, 128)
}

func lateLZW(b []byte) []byte {
	var out bytes.Buffer
	w := lzw.NewWriter(&out, lzw.MSB, 8)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

const js = "<< /S /JavaScript /JS (app.alert) >>"

func TestFindings(t *testing.T) {
	t.Parallel()
	inObjStm, first := objectStreamContent("<< /Type /Catalog /OpenAction 101 0 R >>", js, "/Launch")
	objDict := fmt.Sprintf("/Type /ObjStm /N 3 /First %d ", first)
	three := map[string]int{OpenAction: 1, JavaScript: 1, LaunchAction: 1}
	for _, tt := range []struct {
		name string
		pdf  []byte
		want map[string]int
	}{
		{"nothing", buildDocument("<< /Type /Catalog >>"), nil},
		{"empty file", nil, nil},
		{"not a PDF", []byte("JS /JS /OpenAction"), nil},
		{"JavaScript counts once an action", buildDocument(js, js), map[string]int{JavaScript: 2}},
		{"JavaScript without /S", buildDocument("<< /JS 5 0 R >>"), map[string]int{JavaScript: 1}},
		{"escaped names", buildDocument("<< /Open#41ction << /S /J#61va#53cript /J#53 <61> >> >>"),
			map[string]int{OpenAction: 1, JavaScript: 1}},
		{"all actions", buildDocument("<< /S /Launch /F (a) >>", "<< /S /URI /URI (http://a) >>",
			"<< /S /SubmitForm /F (a) >>", "<< /S /ImportData /F (a) >>",
			"<< /S /GoToR /F (a) >>", "<< /S /GoToE >>", "<< /S /Rendition >>"),
			map[string]int{LaunchAction: 1, URIAction: 1, SubmitFormAction: 1, ImportDataAction: 1, RemoteGoToAction: 2,
				RichMedia: 1}},
		{"an action's name in an object of its own", buildDocument("<< /S 2 0 R >>", "/SubmitForm"),
			map[string]int{SubmitFormAction: 1}},
		{"the base of links is no action", buildDocument("<< /Type /Catalog /URI << /Base (http://a) >> >>"), nil},
		{"catalog",
			buildDocument("<< /AA << /WC 2 0 R >> /AcroForm << /XFA [(a) 3 0 R] /Fields [] >> /Names << /EmbeddedFiles 4 0 R >> >>"),
			map[string]int{AdditionalActions: 1, AcroForm: 1, XFA: 1, EmbeddedFile: 1}},
		{"attachments", buildDocument("<< /Names << /EmbeddedFiles 4 0 R >> >>", "<< /Type /Filespec /EF << /F 3 0 R >> >>",
			streamObject("/Type /EmbeddedFile", []byte("a"))),
			map[string]int{EmbeddedFile: 1}},
		{"signature", buildDocument("<< /FT /Sig /V 2 0 R >>", "<< /Type /Sig /ByteRange [0 1 2 3] >>"),
			map[string]int{Signature: 1}},
		{"media", buildDocument("<< /Subtype /RichMedia /RichMediaContent << >> >>", "<< /Subtype /Screen >>"),
			map[string]int{RichMedia: 2}},
		{"a font may be called JS", buildDocument("<< /Font << /JS 5 0 R /AA 6 0 R >> /XObject << /XFA 7 0 R >> >>"), nil},
		{"names as values mean nothing", buildDocument("<< /A /OpenAction /B /JS /C [/JS /XFA] >>"), nil},
		{"null is no value", buildDocument("<< /AcroForm null /OpenAction null >>"), nil},
		{"text in strings and comments", buildDocument("<< /A (/S /JavaScript \\) /JS) /B </JS> >> % /JS (a)\n"), nil},
		{"text in a content stream", buildDocument(streamObject("", []byte("BT (<< /S /JavaScript >>) Tj ET"))), nil},

		{"object stream", buildDocument(streamObject(objDict+"/Filter /FlateDecode", deflateBytes(inObjStm))), three},
		{"object stream as it is", buildDocument(streamObject(objDict, inObjStm)), three},
		{"object stream in a cascade", buildDocument(streamObject(objDict+
			"/Filter [/ASCIIHexDecode /ASCII85Decode /RunLengthDecode /Fl]",
			append([]byte(hex.EncodeToString(encode85(encodeRunLengths(deflateBytes(inObjStm))))), '>'))), three},
		{"object stream in LZW", buildDocument(streamObject(objDict+"/Filter /LZWDecode /DecodeParms << /EarlyChange 0 >>",
			lateLZW(inObjStm))), three},
		{"object stream with a predictor", buildDocument(streamObject(objDict+
			"/Filter /FlateDecode /DecodeParms [<< /Predictor 12 /Columns 7 >>]", deflateBytes(upPredicted(inObjStm, 7)))),
			three},
		{"object stream without a type", buildDocument(streamObject("/N 3 /First 9 /Filter /FlateDecode",
			deflateBytes(inObjStm))), three},
		{"object stream with its filter elsewhere",
			buildDocument(streamObject(objDict+"/Filter 9 0 R", deflateBytes(inObjStm))), three},
		{"object stream of unknown length",
			buildDocument(fmt.Sprintf("<< %s /Filter /FlateDecode /Length 9 0 R >>\nstream\r\n%s\nendstream", objDict,
				deflateBytes(inObjStm))), three},

		{"no endobj", []byte("1 0 obj << /A 1 >> 2 0 obj " + js + " 3 0 obj"), map[string]int{JavaScript: 1}},
		{"open brackets", buildDocument("<< /Kids [3 0 R << /A", js, "<< /B [[[", js), map[string]int{JavaScript: 2}},
		{"endless brackets", buildDocument(strings.Repeat("[", 10_000), js), map[string]int{JavaScript: 1}},
		{"endobj within a dictionary", buildDocument("<< /A endobj /OpenAction 3 0 R >>"), map[string]int{OpenAction: 1}},
		{"an object in a string", buildDocument("<< /A (7 0 obj " + js + ") /AA 3 0 R >>"),
			map[string]int{AdditionalActions: 1, JavaScript: 1}},
		{"an object in a hexadecimal string", buildDocument("<< /A < 7 0 obj " + js + " /AA 3 0 R >>"),
			map[string]int{AdditionalActions: 1, JavaScript: 1}},
		{"an object in an open string", []byte("1 0 obj << /A (( >> endobj 7 0 obj " + js), map[string]int{JavaScript: 1}},
		{"an object in a comment", buildDocument("<< /A 1 % 7 0 obj " + js + "\n >>"), map[string]int{JavaScript: 1}},
		{"an object in a comment between objects", append([]byte("% 7 0 obj "+js+"\n"), buildDocument("<< >>")...),
			map[string]int{JavaScript: 1}},
		{"an object whose number has a comment in it", []byte("7 % a\n0 % b\nobj " + js), map[string]int{JavaScript: 1}},
		{"an object in a stream", buildDocument(streamObject("", []byte("abc 7 0 obj "+js+" endobj abc")), js),
			map[string]int{JavaScript: 2}},
		{"an object stream in a string", buildDocument("<< /A (7 0 obj " + streamObject(objDict, inObjStm) + ") >>"), three},
		{"a dictionary in a trailer", []byte("trailer << /Root << /OpenAction " + js + " >> >>"),
			map[string]int{OpenAction: 1, JavaScript: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := scanBytes(t, tt.pdf, Limits{})
			if !maps.Equal(r.Counts, tt.want) || r.Bomb {
				t.Errorf("got %v (bomb %q), want %v", r.Counts, r.BombDetail, tt.want)
			}
		})
	}
}

// TestWindowEdges shifts a file byte by byte over the end of the first window.
func TestWindowEdges(t *testing.T) {
	t.Parallel()
	content, first := objectStreamContent(js)
	tail := buildDocument("<< /Open#41ction << /S /JavaScript /JS (a\\)b) >> /A (7 0 obj << /S /Launch >> endobj) >> % 8 0 obj << /AA 3 0 R >>\n",
		fmt.Sprintf("<< /Type /ObjStm /N 1 /First %d /Filter /FlateDecode /Length 9 0 R >>\nstream\r\n%s\nendstream", first,
			deflateBytes(content)),
		streamObject("/Length 3", []byte("abc 9 0 obj << /S /URI >> abc")))
	want := map[string]int{OpenAction: 1, JavaScript: 2, LaunchAction: 1, AdditionalActions: 1, URIAction: 1}
	for shift := range tail {
		b := append(bytes.Repeat([]byte{'\n'}, windowSize-shift), tail...)
		if r := scanBytes(t, b, Limits{}); !maps.Equal(r.Counts, want) {
			t.Fatalf("window ends at byte %d: got %v, want %v", shift, r.Counts, want)
		}
	}
}

func TestObjectCount(t *testing.T) {
	t.Parallel()
	content, first := objectStreamContent("1", "2", "3")
	b := buildDocument("1", "2", streamObject(fmt.Sprintf("/Type /ObjStm /N 3 /First %d", first), content),
		streamObject("/Type /ObjStm /N 1000000000 /First 4", []byte("1 0 4")))
	r := scanBytes(t, b, Limits{})
	if r.Objects != 4+3+1 || r.ObjectStreams != 2 {
		t.Errorf("got %d objects, %d object streams, want 8 and 2", r.Objects, r.ObjectStreams)
	}
	found := r.Findings(Limits{MaxObjects: 7})
	if len(found) != 1 || found[0].Kind != ObjectCount {
		t.Errorf("findings: got %v, want one of kind %s", found, ObjectCount)
	}
}

func TestOpenDestination(t *testing.T) {
	t.Parallel()
	r := scanBytes(t, buildDocument("<< /OpenAction [3 0 R /Fit] >>"), Limits{})
	if got := r.Findings(Limits{}); len(got) != 1 ||
		got[0] != (Finding{Kind: OpenAction, Count: 1, Detail: "destination"}) {
		t.Errorf("got %v, want an open action with detail destination", got)
	}
	r = scanBytes(t, buildDocument("<< /OpenAction [3 0 R /Fit] >>", "<< /OpenAction 4 0 R >>"), Limits{})
	if r.OpenDestination {
		t.Error("one destination, one action: got OpenDestination, want not")
	}
}

func TestEncrypted(t *testing.T) {
	t.Parallel()
	b := append(buildDocument(streamObject("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode",
		[]byte("\xff\xff\xff\xff"))), "trailer << /Root 1 0 R /Encrypt 5 0 R >>"...)
	r := scanBytes(t, b, Limits{})
	if !r.Encrypted || r.OpaqueObjectStreams != 1 {
		t.Errorf("got encrypted %v, %d opaque object streams, want true and 1", r.Encrypted, r.OpaqueObjectStreams)
	}
}

// patternBytes yields bytes that deflate to about a third.
func patternBytes(n int) []byte {
	var b bytes.Buffer
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "%d %d m %d l S\n", i*7919%1000, i*104729%1000, i)
	}
	return b.Bytes()[:n]
}

func TestBombs(t *testing.T) {
	t.Parallel()
	// An eighth of the defaults, for speed.
	limits := Limits{MaxStream: 4 << 20, MaxInflated: 32 << 20}
	white := bytes.Repeat([]byte{0xff}, 5<<20)
	packed := deflateBytes(white)
	half := deflateBytes(white[:5<<19])
	var many []string
	for range 30 {
		many = append(many, streamObject("/Filter /FlateDecode", half))
	}
	image := func(w, h int, more string) string {
		return fmt.Sprintf("/Subtype /Image /Width %d /Height %d /ColorSpace /DeviceGray /BitsPerComponent 8 %s", w, h, more)
	}
	var overlap strings.Builder
	for i := range 300 {
		fmt.Fprintf(&overlap, "%d 0 obj << /Filter /RunLengthDecode /Length 9 0 R >> stream\n", i)
	}
	overlap.WriteString(strings.Repeat("a", 1<<20))
	for _, tt := range []struct {
		name string
		pdf  []byte
		want string // the beginning of BombDetail
	}{
		{"ordinary text", buildDocument(streamObject("/Filter /FlateDecode", deflateBytes(patternBytes(6<<20)))), ""},
		{"one stream", buildDocument(streamObject("/Filter /FlateDecode", packed)), "stream_ratio"},
		{"one stream of unknown length",
			buildDocument(fmt.Sprintf("<< /Filter /FlateDecode /Length 9 0 R >> stream\n%s\nendstream", packed)),
			"stream_ratio"},
		{"the word endstream in a stored block",
			buildDocument(fmt.Sprintf("<< /Filter /FlateDecode /Length 9 0 R >> stream\n%s\nendstream",
				append([]byte("\x78\x9c\x00\x09\x00\xf6\xffendstream"), packed[2:]...))), "stream_ratio"},
		{"a cascade", buildDocument(streamObject("/Filter [/FlateDecode /FlateDecode]", deflateBytes(packed))),
			"stream_ratio"},
		{"a cascade that ends in an image's own filter",
			buildDocument(streamObject("/Filter [/FlateDecode /FlateDecode /DCTDecode]", deflateBytes(packed))), "stream_ratio"},
		{"run lengths", buildDocument(streamObject("/Filter [/FlateDecode /RunLengthDecode]",
			deflateBytes(bytes.Repeat([]byte{129, 0}, 1<<16)))), "stream_ratio"},
		{"an object stream", buildDocument(streamObject("/Type /ObjStm /N 1 /First 4 /Filter /FlateDecode",
			deflateBytes(bytes.Repeat([]byte{' '}, 5<<20)))), "stream_ratio"},
		{"many streams below the bound", buildDocument(many...), "inflated_total"},
		{"too many filters", buildDocument(streamObject("/Filter ["+strings.Repeat("/AHx ", 9)+"]", []byte("00"))),
			"filter_chain"},
		{"streams over each other", []byte(overlap.String()), "overlapping_streams"},

		{"white paper", buildDocument(streamObject(image(2500, 2000, "/Filter /FlateDecode"), packed)), ""},
		{"white paper, colour space elsewhere",
			buildDocument(streamObject("/Subtype /Image /Width 1500 /Height 1000 /BitsPerComponent 8 /ColorSpace 9 0 R /Filter /FlateDecode",
				deflateBytes(white[:4.5e6]))), ""},
		{"white paper, size elsewhere",
			buildDocument(streamObject("/Subtype /Image /Width 4 0 R /Height 5 0 R /Filter /FlateDecode", packed)), ""},
		{"an image that inflates past its size",
			buildDocument(streamObject(image(100, 100, "/Filter /FlateDecode"), packed)), "stream_ratio"},
		{"an image that is an object stream", buildDocument(streamObject(image(2500, 2000,
			"/Type /ObjStm /Filter /FlateDecode"), packed)), "stream_ratio"},
		{"an image of absurd size", buildDocument(streamObject(image(40000, 40000, "/Filter /DCTDecode"), []byte("a"))),
			"image_pixels"},
		{"an image that says its size twice", buildDocument(streamObject(image(40000, 40000, "/Width 1 /Filter /DCTDecode"),
			[]byte("a"))), "image_pixels"},
		{"a large image in next to no data", buildDocument(streamObject(image(20000, 20000, "/Filter /JBIG2Decode"),
			[]byte("a"))), "image_pixels"},
		{"a large image of unknown length", buildDocument("<< " + image(20000, 20000, "/Filter /JBIG2Decode /Length 9 0 R") +
			" >> stream\n" + strings.Repeat("a", 500_000) + "endstream"), ""},
		{"a large drawing",
			buildDocument(streamObject("/Subtype /Image /Width 19866 /Height 28087 /ImageMask true /Filter /CCITTFaxDecode",
				make([]byte, 100_000))), ""},
		{"size beyond all numbers", buildDocument(streamObject(image(1, 1,
			"/Width 99999999999999999999999 /Height 99999999999999999999999"), nil)), "image_pixels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := scanBytes(t, tt.pdf, limits)
			kind, _, _ := strings.Cut(r.BombDetail, ":")
			if r.Bomb != (tt.want != "") || kind != tt.want {
				t.Errorf("got bomb %v, %q, want %q", r.Bomb, r.BombDetail, tt.want)
			}
			if most := int64(100 << 20); r.InflatedBytes > most {
				t.Errorf("inflated %d bytes before it stopped, want at most %d", r.InflatedBytes, most)
			}
		})
	}
}

func TestFindingsGoOnAfterABomb(t *testing.T) {
	t.Parallel()
	// An eighth of the default, for speed.
	limits := Limits{MaxStream: 4 << 20}
	r := scanBytes(t, buildDocument(streamObject("/Filter /FlateDecode", deflateBytes(make([]byte, 5<<20))), js), limits)
	var got []string
	for _, f := range r.Findings(limits) {
		got = append(got, f.Kind)
	}
	if want := "decompression_ratio javascript"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestRatio(t *testing.T) {
	t.Parallel()
	r := scanBytes(t, buildDocument(streamObject("/Filter /FlateDecode", deflateBytes(make([]byte, 8<<20)))), Limits{})
	if r.MaxRatio < 900 || r.MaxRatio > 1100 || r.InflatedBytes != 8<<20 {
		t.Errorf("8 MiB of zeros: got ratio %.0f, %d bytes inflated, want about 1000 and %d", r.MaxRatio, r.InflatedBytes,
			8<<20)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := buildDocument(js)
	if _, err := Scan(ctx, bytes.NewReader(b), int64(len(b)), Limits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v, want context.Canceled", err)
	}
	broken := errors.New("disk on fire")
	if _, err := Scan(t.Context(), brokenFile{broken}, 1<<20, Limits{}); !errors.Is(err, broken) {
		t.Errorf("unreadable file: got %v, want %v", err, broken)
	}
}

type brokenFile struct{ err error }

func (f brokenFile) ReadAt(p []byte, _ int64) (int, error) { return iotest.ErrReader(f.err).Read(p) }

// TestScanTakesLittleMemory scans a file far larger than the memory that it may take. It runs alone: it counts what
// the process allocates.
func TestScanTakesLittleMemory(t *testing.T) {
	f := &repeatedFile{unit: buildDocument(js, streamObject("/Filter /FlateDecode", deflateBytes(patternBytes(1<<20)))),
		size: 16 << 20}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Scan(t.Context(), f, f.size, Limits{})
	if err != nil || r.Counts[JavaScript] < 20 || r.InflatedBytes < 30<<20 {
		t.Fatalf("got %v, %d bytes inflated, %v, want many", r.Counts, r.InflatedBytes, err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("got %d bytes allocated in all for a file of %d, want at most 4 MiB", got, f.size)
	}
}

// repeatedFile is a file that repeats a unit.
type repeatedFile struct {
	unit []byte
	size int64
}

func (f *repeatedFile) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < f.size {
		m := copy(p[n:min(len(p), n+int(f.size-off))], f.unit[off%int64(len(f.unit)):])
		n += m
		off += int64(m)
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

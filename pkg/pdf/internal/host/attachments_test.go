package host

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"testing"

	"inkstream.dev/pkg/pdf/internal/wire"
	"inkstream.dev/pkg/pdftest"
)

// Names that share one large attachment must not have it inflated for each of them while the document is opened.
func TestSizesOfAttachmentsAreBounded(t *testing.T) {
	t.Parallel()
	const size, names = 48 << 20, 10
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	list := ""
	for i := range names {
		list += fmt.Sprintf("(%d)<</Type/Filespec/F(a%[1]d.bin)/EF<</F 4 0 R>>>>", i)
	}
	pdf := pdftest.PDFFromObjects(
		"<</Type/Catalog/Pages 2 0 R/Names<</EmbeddedFiles<</Names["+list+"]>>>>>>",
		"<</Type/Pages/Kids[3 0 R]/Count 1>>",
		"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]>>",
		fmt.Sprintf("<</Type/EmbeddedFile/Filter/FlateDecode/Length %d>>stream\n%s\nendstream", packed.Len(),
			packed.String()),
	)
	f := pdftest.File{Name: "attachments.pdf", PDF: pdf}.OpenFile(t)
	reply := newFixture(t, 512<<20).sendRequest(wire.Request{Op: wire.Open}, nil, f)
	if reply.Metadata == nil || len(reply.Metadata.Attachments) != names {
		t.Fatalf("got metadata %+v, want %d attachments", reply.Metadata, names)
	}
	for i, a := range reply.Metadata.Attachments {
		want := int64(size)
		if i*size >= sizedBytes {
			want = -1
		}
		if a.Name != fmt.Sprintf("a%d.bin", i) || a.Size != want {
			t.Errorf("attachment %d: got %s of %d bytes, want %d", i, a.Name, a.Size, want)
		}
	}
}

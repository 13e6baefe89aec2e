package wire

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf/internal/triage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

func TestReplyRoundTrip(t *testing.T) {
	t.Parallel()
	want := Reply{Kind: triage.Mixed, Raster: &Raster{Width: 3, Height: 4, DPI: 217.5},
		Findings: []Finding{{Kind: "xfa", Count: 2}}}
	page := &inkstreamv1.Page{Number: 7, Notes: []string{"a note"}}
	b, err := EncodeReply(want, page)
	if err != nil {
		t.Fatal(err)
	}
	back := &inkstreamv1.Page{}
	got, err := DecodeReply(b, back)
	if err != nil {
		t.Fatal(err)
	}
	if got.Kind != want.Kind || *got.Raster != *want.Raster || got.Findings[0] != want.Findings[0] ||
		!proto.Equal(back, page) {
		t.Errorf("got %+v and %v, want %+v and %v", got, back, want, page)
	}
	for n := range b {
		if _, err := DecodeReply(b[:n], &inkstreamv1.Page{}); err == nil && n < 20 {
			t.Errorf("cut to %d bytes: got no error", n)
		}
	}
}

func TestFailureCarriesNoMessage(t *testing.T) {
	t.Parallel()
	b, err := EncodeReply(Reply{Code: fault.Encrypted, Message: "the document needs a password"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeReply(b, &inkstreamv1.DocumentInfo{}); err != nil || got.Code != fault.Encrypted {
		t.Errorf("got %+v, error %v", got, err)
	}
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	want := Request{Op: Page, Page: 3, AlwaysRaster: true, MaxPixels: 5, Body: []byte("a message")}
	b, err := EncodeRequest(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := DecodeRequest(b); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, error %v, want %+v", got, err, want)
	}
	if _, err := DecodeRequest([]byte("{")); err == nil {
		t.Error("nonsense: got no error")
	}
}

package index

import (
	"context"
	"io"
	"iter"
	"os"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// TestExtendedPDFIsTriedAgain writes an artifact although a child dies of it once, and gives it up where a second one
// dies too, or where the document is at fault.
func TestExtendedPDFIsTriedAgain(t *testing.T) {
	t.Parallel()
	st, ctx := newSteps(t), t.Context()
	r := st.createJob(t, func(*job.Record) {})
	if err := st.deps.Blobs.PutBytes(ctx, job.SourceKey(r.Tenant, r.ID), []byte("%PDF-1."), ""); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		codes  []fault.Code // of one try after the other; none for success
		tries  int
		reason string
	}{
		{"a child dies once", []fault.Code{fault.EngineCrashed}, 2, ""},
		{"each child dies", []fault.Code{fault.EngineCrashed, fault.EngineCrashed, fault.EngineCrashed}, 2,
			string(fault.EngineCrashed)},
		{"the document is damaged", []fault.Code{fault.Damaged}, 1, string(fault.Damaged)},
	} {
		a := &assembly{st: st, job: r}
		tries := 0
		out, err := a.writeExtendedPDF(ctx, "searchable.pdf", func(_ context.Context, _ *os.File, _ string,
			_ iter.Seq2[*inkstreamv1.Page, error], to io.Writer) error {
			if tries++; tries <= len(tt.codes) {
				return fault.New(tt.codes[tries-1], "as the test wants")
			}
			_, err := io.WriteString(to, "%PDF-1.7 with words")
			return err
		}, true)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if tries != tt.tries || out.Reason != tt.reason || out.Written != (tt.reason == "") {
			t.Errorf("%s: got %d tries, %+v; want %d, reason %q", tt.name, tries, out, tt.tries, tt.reason)
		}
		a.files.abortWriters()
	}
}

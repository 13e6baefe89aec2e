package render

import (
	"slices"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// A page that cannot be read with all that belongs to it is read plainly, and says so.
func TestReadPageWithRetry(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		images bool         // asked for
		first  bool         // a first try
		fails  []fault.Code // of the reads, one after the other; what comes after them goes well
		with   []bool       // whether each read asked for images
		end    fault.Code
		note   string
	}{
		{name: "sound", images: true, with: []bool{true}},
		{
			name: "an engine that died once", images: true, fails: []fault.Code{fault.EngineCrashed},
			with: []bool{true, true},
		},
		{
			name: "images that crash the engine", images: true,
			fails: []fault.Code{fault.EngineCrashed, fault.EngineCrashed}, with: []bool{true, true, false},
			note: "ENGINE_CRASHED",
		},
		{
			name: "images too large", images: true, fails: []fault.Code{fault.EngineMemory},
			with: []bool{true, false}, note: "ENGINE_MEMORY",
		},
		{
			name: "images too slow", images: true, fails: []fault.Code{fault.PageTimeout},
			with: []bool{true, false}, note: "PAGE_TIMEOUT",
		},
		{
			name: "a page too slow", images: true, fails: []fault.Code{fault.PageTimeout, fault.PageTimeout},
			with: []bool{true, false}, end: fault.PageTimeout,
		},
		{
			name: "a page too slow for a first try", images: true, first: true, fails: []fault.Code{fault.PageTimeout},
			with: []bool{true}, end: fault.PageTimeout,
		},
		{
			name: "a page that is too large, and slow without its images", images: true, first: true,
			fails: []fault.Code{fault.EngineMemory, fault.PageTimeout}, with: []bool{true, false}, end: fault.PageTimeout,
		},
		{
			name: "links too slow", fails: []fault.Code{fault.PageTimeout}, with: []bool{false, false},
			note: "PAGE_TIMEOUT",
		},
		{
			name:  "a page that crashes",
			fails: []fault.Code{fault.EngineCrashed, fault.EngineCrashed, fault.EngineCrashed},
			with:  []bool{false, false, false}, end: fault.EngineCrashed,
		},
		{
			name: "a damaged page", images: true, fails: []fault.Code{fault.PageDamaged}, with: []bool{true},
			end: fault.PageDamaged,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var with []bool
			plain := false
			res, err := readPageWithRetry(pdf.PageOptions{Images: tt.images}, time.Minute, tt.first,
				func(opts pdf.PageOptions) (*pdf.PageResult, error) {
					if with = append(with, opts.Images); opts.Plain && opts.Images {
						t.Error("the images were asked for in a plain read")
					}
					plain = opts.Plain
					if want := map[bool]time.Duration{false: 40 * time.Second,
						true: 20 * time.Second}[opts.Plain]; opts.Timeout != want {
						t.Errorf("read %d, plain: %t, may take %s, want %s", len(with), opts.Plain, opts.Timeout, want)
					}
					if len(with) <= len(tt.fails) {
						return nil, fault.New(tt.fails[len(with)-1], "as the test has it")
					}
					return &pdf.PageResult{Page: &inkstreamv1.Page{}}, nil
				})
			if !slices.Equal(with, tt.with) || (err == nil) != (tt.end == "") || err != nil && fault.CodeOf(err) != tt.end {
				t.Fatalf("read with images %v, then %v; want %v, then %q", with, err, tt.with, tt.end)
			}
			if err != nil {
				return
			}
			if plain != (tt.note != "") {
				t.Errorf("read plainly: %t, though the note is %q", plain, tt.note)
			}
			if notes := strings.Join(res.Page.GetNotes(), " "); (notes == "") != (tt.note == "") ||
				!strings.Contains(notes, tt.note) {
				t.Errorf("notes %q, want %q in them", notes, tt.note)
			}
		})
	}
}

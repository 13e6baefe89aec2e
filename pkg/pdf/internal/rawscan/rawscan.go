// Package rawscan looks at the raw bytes of a PDF for what its engine has no call for: open actions, additional
// actions, Launch, URI, SubmitForm, ImportData and remote go-to actions, the number of objects, and streams that
// inflate to absurd sizes.
//
// It is a token scanner, not a parser. It follows no cross-reference table and resolves no reference: it reads the
// file once from front to back in a window of fixed size, tells names from strings, comments and stream bodies, and
// notes what each dictionary says. So it also sees what a damaged or lying file keeps from a parser: objects that no
// table lists, and objects inside stream bodies, strings and comments, which a table may point into. What it reports
// is what is there, whether or not a viewer would come upon it.
//
// It is memory-safe, its memory does not grow with the file, and its work is bounded by Limits. It belongs into a
// sandboxed child all the same.
//
// The streams of documents that are encrypted but open without a password are decrypted. What it cannot see: object
// streams of documents that need a password (Report.Encrypted and Report.OpaqueObjectStreams say so), and overlapping
// objects inside one object stream.
package rawscan

import (
	"context"
	"fmt"
	"io"
	"sort"
)

// The kinds of findings, as Finding in job.proto lists them.
const (
	JavaScript         = "javascript"
	LaunchAction       = "launch_action"
	URIAction          = "uri_action"
	SubmitFormAction   = "submit_form_action"
	RemoteGoToAction   = "remote_goto_action"
	ImportDataAction   = "import_data_action"
	OpenAction         = "open_action"
	AdditionalActions  = "additional_actions"
	EmbeddedFile       = "embedded_file"
	XFA                = "xfa"
	AcroForm           = "acro_form"
	Signature          = "signature"
	RichMedia          = "rich_media"
	ObjectCount        = "object_count"
	DecompressionRatio = "decompression_ratio"
)

// Limits bound the work of a scan, and say what a decompression bomb is. A zero field means its default.
type Limits struct {
	// MaxInflated bounds the bytes that all streams together may inflate to beyond what their own size or, for images,
	// their dictionary accounts for. A document past it is a bomb. 512 MiB by default.
	MaxInflated int64
	// MaxStream and MaxRatio make a bomb of a single stream that inflates to more than MaxStream bytes, at more than
	// MaxRatio times its size in the file. 32 MiB and 200 by default: Flate reaches 1032, text and vector graphics
	// rarely 30. An image whose dictionary accounts for its size is excused: blank paper compresses that well.
	MaxStream int64
	MaxRatio  int64
	// MaxPixels is the size beyond which an image's dictionary does not excuse it. 100 million by default; ten times
	// that is always a bomb.
	MaxPixels int64
	// MaxObjects is the number of objects beyond which their count is a finding. 1,000,000 by default.
	MaxObjects int64
	// MaxWork bounds the bytes inflated in all, and with them the time. A document past it is a bomb. By default 8 GiB,
	// or four times the file.
	MaxWork int64
}

// DefaultLimits returns the defaults that the fields of Limits name, for a file of that size.
func DefaultLimits(size int64) Limits {
	return Limits{
		MaxInflated: 512 << 20,
		MaxStream:   32 << 20,
		MaxRatio:    200,
		MaxPixels:   100e6,
		MaxObjects:  1e6,
		MaxWork:     max(8<<30, 4*size),
	}
}

func (l Limits) withDefaults(size int64) Limits {
	d := DefaultLimits(size)
	for _, f := range []struct {
		field *int64
		value int64
	}{
		{&l.MaxInflated, d.MaxInflated}, {&l.MaxStream, d.MaxStream}, {&l.MaxRatio, d.MaxRatio},
		{&l.MaxPixels, d.MaxPixels}, {&l.MaxObjects, d.MaxObjects}, {&l.MaxWork, d.MaxWork},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// Report is what a scan found.
type Report struct {
	// Counts holds how many of each kind were seen. An object that incremental updates repeat counts each time.
	Counts map[string]int
	// Objects counts the indirect objects in the file and in its object streams.
	Objects int64
	// Streams and ObjectStreams count stream dictionaries.
	Streams, ObjectStreams int64
	// OpaqueObjectStreams counts object streams that could not be read to their end: damaged, encrypted, or with an
	// unknown filter.
	OpaqueObjectStreams int64
	// InflatedBytes is what came out of all decoders. Images that their dictionary accounts for are inflated only up to
	// a total of 256 MiB.
	InflatedBytes int64
	// MaxRatio is the highest ratio of a stream's inflated to its stored size, among those that inflate to more than 1
	// MiB.
	MaxRatio float64
	// Bomb is set when the document inflates to an absurd size; BombDetail says in what way, and holds no text of the
	// document.
	Bomb       bool
	BombDetail string
	// Encrypted is set when a trailer names an encryption dictionary.
	Encrypted bool
	// OpenDestination is set when every open action is a mere destination: it only scrolls.
	OpenDestination bool
	// Incomplete is set when more objects lie hidden in strings and comments than are looked at, or a bomb ended the
	// inflating early.
	Incomplete bool
}

// Finding is one kind of thing that was seen.
type Finding struct {
	Kind   string
	Count  int
	Detail string
}

// Findings returns the report as findings, sorted by kind.
func (r Report) Findings(limits Limits) []Finding {
	limits = limits.withDefaults(0)
	var out []Finding
	for kind, n := range r.Counts {
		f := Finding{Kind: kind, Count: n}
		if kind == OpenAction && r.OpenDestination {
			f.Detail = "destination"
		}
		out = append(out, f)
	}
	if r.Objects > limits.MaxObjects {
		out = append(out, Finding{Kind: ObjectCount, Count: int(min(r.Objects, 1<<31-1)),
			Detail: fmt.Sprintf("%d objects", r.Objects)})
	}
	if r.Bomb {
		out = append(out, Finding{Kind: DecompressionRatio, Count: 1, Detail: r.BombDetail})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Kind < out[j].Kind })
	return out
}

// Scan reads the size bytes of r. What is wrong with the document is in the report; an error means that r could not
// be read, or that ctx ended.
func Scan(ctx context.Context, r io.ReaderAt, size int64, limits Limits) (Report, error) {
	limits = limits.withDefaults(size)
	s := newScanner(ctx, r, size, limits)
	err := s.scanFile()
	report := s.buildReport()
	if err != nil || !report.Encrypted {
		return report, err
	}
	security := s.openSecurity()
	if security == nil {
		return report, nil
	}
	// The dictionary that says how may well come last in the file.
	s = newScanner(ctx, r, size, limits)
	s.decrypt = security
	err = s.scanFile()
	return report.mergeDecrypted(s.buildReport()), err
}

// mergeDecrypted joins the reports of a file as it is and as it is decrypted. What either saw is there for some reader.
func (r Report) mergeDecrypted(plain Report) Report {
	for kind, n := range r.Counts {
		plain.Counts[kind] = max(plain.Counts[kind], n)
	}
	if !plain.Bomb {
		plain.Bomb, plain.BombDetail = r.Bomb, r.BombDetail
	}
	plain.InflatedBytes += r.InflatedBytes
	plain.Incomplete = plain.Incomplete || r.Incomplete
	if r.Counts[OpenAction] > 0 {
		plain.OpenDestination = plain.OpenDestination && r.OpenDestination
	}
	plain.MaxRatio = max(plain.MaxRatio, r.MaxRatio)
	return plain
}

func newScanner(ctx context.Context, r io.ReaderAt, size int64, limits Limits) *scanner {
	s := &scanner{ctx: ctx, file: r, size: size, budget: budget{ctx: ctx, limits: limits, fileSize: size}}
	s.win = newWindow(ctx, io.NewSectionReader(r, 0, size))
	s.walk = newDictWalker(&s.tally)
	return s
}

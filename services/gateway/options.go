package gateway

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	maxFilenameBytes  = 255
	maxIdempotencyKey = 64
	maxLanguages      = 8
	maxLanguageBytes  = 32
	// maxFieldBytes bounds the value of an option, wherever it comes from.
	maxFieldBytes = 4 << 10
)

// The names of what a REST client may say about an upload, as query parameters or form fields.
const (
	fieldLane      = "lane"
	fieldLanguages = "languages"
	fieldFilename  = "filename"

	fieldDocumentTimeout = "document_timeout"
	fieldPageTimeout     = "page_timeout"
)

// known are the fields that there are.
var known = []string{fieldLane, fieldLanguages, fieldFilename, fieldDocumentTimeout, fieldPageTimeout}

const (
	// minTimeout is the shortest limit that a job can have; a shorter one would fail whatever comes.
	minTimeout = time.Second
	// maxTimeout is beyond what any server allows, so that a misread unit does not go unnoticed.
	maxTimeout = 24 * time.Hour
)

// fields collects what a REST client says about an upload.
type fields map[string]string

// set notes a field. A field that nobody knows is an error, so that a misspelt option does not go unnoticed; so is one that is given twice.
func (f fields) set(name, value string) error {
	if !slices.Contains(known, name) {
		return invalidField(fault.InvalidOption, name, "there is no option %q; there are %s", clip(name), strings.Join(known, ", "))
	}
	if _, twice := f[name]; twice {
		return invalidField(fault.InvalidOption, name, "the option %q is given more than once", name)
	}
	if len(value) > maxFieldBytes {
		return invalidField(fault.InvalidOption, name, "the option %q is longer than %d bytes", name, maxFieldBytes)
	}
	f[name] = value
	return nil
}

// clip bounds what an error repeats of a request.
func clip(s string) string { return truncate(s, 64) }

// parseOptions checks a job's options and fills in the defaults.
func parseOptions(lane, languages string) (job.Options, error) {
	l, err := bus.ParseLane(lane)
	if err != nil {
		return job.Options{}, invalidField(fault.InvalidOption, fieldLane, "lane %q, want interactive or batch", clip(lane))
	}
	if err := checkLanguages(languages); err != nil {
		return job.Options{}, err
	}
	return job.Options{Lane: string(l), Languages: languages}, nil
}

// options checks what a REST client said about the job.
func (f fields) options() (job.Options, error) {
	opts, err := parseOptions(f[fieldLane], f[fieldLanguages])
	if err != nil {
		return opts, err
	}
	if opts.DocumentTimeout, err = parseTimeout(fieldDocumentTimeout, f[fieldDocumentTimeout]); err != nil {
		return opts, err
	}
	opts.PageTimeout, err = parseTimeout(fieldPageTimeout, f[fieldPageTimeout])
	return opts, err
}

func parseTimeout(field, s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, invalidField(fault.InvalidOption, field, "%s %q, want a duration such as 90s or 10m", field, clip(s))
	}
	return d, checkTimeout(field, d)
}

func checkTimeout(field string, d time.Duration) error {
	if d < minTimeout || d > maxTimeout {
		return invalidField(fault.InvalidOption, field, "%s %s, want %s to %s", field, d, minTimeout, maxTimeout)
	}
	return nil
}

// optionsOf checks the options of a gRPC client.
func optionsOf(o *inkstreamv1.JobOptions) (job.Options, error) {
	opts, err := parseOptions(o.GetLane(), o.GetLanguages())
	if err != nil {
		return opts, err
	}
	for _, t := range []struct {
		field string
		given *durationpb.Duration
		into  *time.Duration
	}{
		{fieldDocumentTimeout, o.GetDocumentTimeout(), &opts.DocumentTimeout}, {fieldPageTimeout, o.GetPageTimeout(), &opts.PageTimeout},
	} {
		if t.given == nil {
			continue
		}
		if err := checkTimeout(t.field, t.given.AsDuration()); err != nil {
			return opts, err
		}
		*t.into = t.given.AsDuration()
	}
	return opts, nil
}

// checkLanguages checks the form only: which languages there are, the recogniser knows.
func checkLanguages(s string) error {
	if s == "" {
		return nil
	}
	codes := strings.Split(s, "+")
	if len(codes) > maxLanguages {
		return invalidField(fault.InvalidOption, fieldLanguages, "%d languages, want at most %d", len(codes), maxLanguages)
	}
	for i, c := range codes {
		if !isLanguage(c) || slices.Contains(codes[:i], c) {
			return invalidField(fault.InvalidOption, fieldLanguages, "languages %q, want codes joined by +, such as eng+deu", clip(s))
		}
	}
	return nil
}

func isLanguage(c string) bool {
	for i := range len(c) {
		b := c[i]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' && i > 0 || b == '_' && i > 0) {
			return false
		}
	}
	return len(c) >= 2 && len(c) <= maxLanguageBytes
}

// checkIdempotencyKey makes sure that a key is 1 to 64 printable ASCII characters.
func checkIdempotencyKey(field, key string) error {
	ok := len(key) >= 1 && len(key) <= maxIdempotencyKey
	for i := range len(key) {
		ok = ok && key[i] >= ' ' && key[i] <= '~'
	}
	if !ok {
		return invalidField(fault.InvalidArgument, field, "an idempotency key has 1 to %d printable ASCII characters", maxIdempotencyKey)
	}
	return nil
}

// cleanFilename makes a client's file name fit to be shown: the base name, valid UTF-8 without control characters, at most 255 bytes. It is
// never used as a path.
func cleanFilename(name string) string {
	name = strings.ToValidUTF8(name, "\uFFFD")
	name = strings.Map(func(r rune) rune {
		// Format characters go as well: those that turn the direction of writing can make an .exe look like a .pdf.
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return -1
		}
		return r
	}, name)
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.TrimSpace(name)
	if name == "." || name == ".." {
		return ""
	}
	return truncate(name, maxFilenameBytes)
}

// truncate cuts s to at most n bytes, between runes.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

package gateway

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

const (
	maxFilenameBytes  = 255
	maxIdempotencyKey = 64
	maxLanguageBytes  = 32
	// maxLanguages is what the recogniser takes for one page.
	maxLanguages = 5
	// maxPassword is beyond what a PDF can have.
	maxPassword = 255
	// maxFieldBytes bounds the value of an option, wherever it comes from.
	maxFieldBytes = 4 << 10

	minChunkWords, maxChunkWords, defaultChunkWords = 50, 2000, 300
)

// The names of what a client may say about an upload: over REST as query parameters or form fields, over gRPC in the
// metadata.
const (
	fieldLane      = "lane"
	fieldLanguages = "languages"
	fieldFilename  = "filename"

	fieldDocumentTimeout = "document_timeout"
	fieldPageTimeout     = "page_timeout"
	fieldStallTimeout    = "stall_timeout"

	fieldOCR             = "ocr"
	fieldPages           = "pages"
	fieldDeskew          = "deskew"
	fieldRotate          = "rotate"
	fieldArtifacts       = "artifacts"
	fieldTables          = "tables"
	fieldBreakSignatures = "allow_signature_invalidation"
	fieldChunkWords      = "chunk_words"
	fieldDedupe          = "dedupe"
	fieldRetention       = "retention"
	fieldPassword        = "password"

	fieldLabels  = "labels"
	fieldWebhook = "webhook_url"
)

// knownFields are the fields that there are.
var knownFields = []string{
	fieldFilename, fieldLane, fieldLanguages, fieldOCR, fieldPages, fieldDeskew, fieldRotate, fieldArtifacts, fieldTables,
	fieldBreakSignatures, fieldChunkWords, fieldDedupe, fieldRetention, fieldPassword, fieldDocumentTimeout,
	fieldPageTimeout, fieldStallTimeout,
	fieldLabels, fieldWebhook,
}

const (
	// minTimeout is the shortest limit that a job can have; a shorter one would fail whatever comes.
	minTimeout = time.Second
	// maxTimeout is beyond what any server allows, so that a misread unit does not go unnoticed.
	maxTimeout = 24 * time.Hour
	// maxRetention is for the same; a client that wants more says 0, which means no limit.
	maxRetention = 10 * 365 * 24 * time.Hour
)

// uploadFields collects what a REST client says about an upload.
type uploadFields map[string]string

// setField notes a field, by its name in the API's proto or in its JSON form. A field that is not known is an
// error, so that a misspelt option does not go unnoticed; so is one that is given twice.
func (f uploadFields) setField(name, value string) error {
	name = toSnakeCase(name)
	if !slices.Contains(knownFields, name) {
		return invalidField(fault.InvalidOption, clipText(name), "there is no option %q; there are %s", clipText(name),
			strings.Join(knownFields, ", "))
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

// toSnakeCase turns pageTimeout into page_timeout.
func toSnakeCase(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String()
}

// clipText bounds what an error repeats of a request, and makes it text.
func clipText(s string) string { return truncateText(strings.ToValidUTF8(s, "\uFFFD"), 64) }

// parseOptions reads what a REST client said about the job as a gRPC client would have said it. An empty field counts
// as none.
func (f uploadFields) parseOptions() (*inkstreamv1.JobOptions, error) {
	o := &inkstreamv1.JobOptions{
		Lane: f[fieldLane], Languages: f[fieldLanguages], Ocr: f[fieldOCR], Pages: f[fieldPages], Rotate: f[fieldRotate],
		Password: f[fieldPassword],
	}
	if list := f[fieldArtifacts]; list != "" {
		for name := range strings.SplitSeq(list, ",") {
			o.Artifacts = append(o.Artifacts, strings.TrimSpace(name))
		}
	}
	var signatures *bool
	for _, b := range []struct {
		field string
		into  **bool
	}{{fieldDeskew, &o.Deskew}, {fieldTables, &o.Tables}, {fieldDedupe, &o.Dedupe}, {fieldBreakSignatures, &signatures}} {
		if f[b.field] == "" {
			continue
		}
		v, err := strconv.ParseBool(f[b.field])
		if err != nil {
			return nil, invalidField(fault.InvalidOption, b.field, "%s %q, want true or false", b.field, clipText(f[b.field]))
		}
		*b.into = &v
	}
	o.AllowSignatureInvalidation = signatures != nil && *signatures
	for _, t := range []struct {
		field string
		into  **durationpb.Duration
	}{
		{fieldDocumentTimeout, &o.DocumentTimeout}, {fieldPageTimeout, &o.PageTimeout}, {fieldStallTimeout, &o.StallTimeout},
		{fieldRetention, &o.Retention},
	} {
		if f[t.field] == "" {
			continue
		}
		d, err := parseDuration(f[t.field])
		if err != nil {
			return nil, invalidField(fault.InvalidOption, t.field, "%s %q, want a duration such as 90s, 10m or 7d", t.field,
				clipText(f[t.field]))
		}
		*t.into = durationpb.New(d)
	}
	if s := f[fieldChunkWords]; s != "" {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, invalidField(fault.InvalidOption, fieldChunkWords, "%s %q, want %d to %d", fieldChunkWords, clipText(s),
				minChunkWords, maxChunkWords)
		}
		o.ChunkWords = int32(n)
	}
	return o, nil
}

// parseDuration is time.ParseDuration with days.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

// normaliseOptions checks a client's options and brings them into their normal form, so that the same choice always
// looks the same.
func normaliseOptions(o *inkstreamv1.JobOptions) (job.Options, error) {
	if o == nil {
		o = &inkstreamv1.JobOptions{}
	}
	opts := job.Options{
		Languages: o.GetLanguages(), BreakSignatures: o.GetAllowSignatureInvalidation(), KeepSkew: o.Deskew != nil &&
			!o.GetDeskew(),
		NoTables: o.Tables != nil && !o.GetTables(), NoDedupe: o.Dedupe != nil &&
			!o.GetDedupe(), ChunkWords: int(o.GetChunkWords()),
	}
	lane, err := bus.ParseLane(o.GetLane())
	if err != nil {
		return opts, invalidField(fault.InvalidOption, fieldLane, "lane %q, want interactive or batch", clipText(o.GetLane()))
	}
	opts.Lane = string(lane)
	for _, check := range []func(*inkstreamv1.JobOptions, *job.Options) error{
		checkLanguagesOption, setOCROption, setRotateOption, setPagesOption, setArtifactsOption, setTimeoutOptions,
		setRetentionOption, setPasswordOption,
	} {
		if err := check(o, &opts); err != nil {
			return opts, err
		}
	}
	if n := opts.ChunkWords; n != 0 && (n < minChunkWords || n > maxChunkWords) {
		return opts, invalidField(fault.InvalidOption, fieldChunkWords, "%s %d, want %d to %d", fieldChunkWords, n,
			minChunkWords, maxChunkWords)
	}
	return opts, nil
}

func setOCROption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	switch mode := job.OCRMode(o.GetOcr()); mode {
	case "", job.OCRAuto:
	case job.OCRForce, job.OCRSkip, job.OCRRedo:
		opts.OCR = mode
	default:
		return invalidField(fault.InvalidOption, fieldOCR, "ocr %q, want auto, force, skip or redo", clipText(o.GetOcr()))
	}
	return nil
}

func setRotateOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	switch o.GetRotate() {
	case "", "auto":
	case "off":
		opts.KeepRotation = true
	default:
		return invalidField(fault.InvalidOption, fieldRotate, "rotate %q, want auto or off", clipText(o.GetRotate()))
	}
	return nil
}

func setPagesOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	pages, err := job.ParsePages(o.GetPages())
	if err != nil {
		return invalidField(fault.InvalidOption, fieldPages, "pages %q, want ranges such as 1-3,7,12-: %v",
			clipText(o.GetPages()), err)
	}
	opts.Pages = pages.String()
	return nil
}

// allArtifacts asks for every kind.
const allArtifacts = "all"

func setArtifactsOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	every := job.AllArtifacts()
	var chosen []job.Artifact
	for _, name := range o.GetArtifacts() {
		switch {
		case name == allArtifacts:
			chosen = append(chosen, every...)
		case slices.Contains(every, job.Artifact(name)):
			chosen = append(chosen, job.Artifact(name))
		default:
			return invalidField(fault.InvalidOption, fieldArtifacts, "there is no artifact %q; there are %s, and %s",
				clipText(name), joinArtifacts(every), allArtifacts)
		}
	}
	slices.Sort(chosen)
	chosen = slices.Compact(chosen)
	if !slices.Equal(chosen, slices.Sorted(slices.Values(wantedArtifacts(&job.Options{})))) {
		opts.Artifacts = chosen
	}
	return nil
}

// wantedArtifacts lists what a job yields.
func wantedArtifacts(o *job.Options) []job.Artifact {
	return slices.DeleteFunc(job.AllArtifacts(), func(a job.Artifact) bool { return !o.WantsArtifact(a) })
}

func joinArtifacts(list []job.Artifact) string {
	var names []string
	for _, a := range list {
		names = append(names, string(a))
	}
	return strings.Join(names, ", ")
}

func setTimeoutOptions(o *inkstreamv1.JobOptions, opts *job.Options) error {
	for _, t := range []struct {
		field string
		given *durationpb.Duration
		into  *time.Duration
	}{
		{fieldDocumentTimeout, o.GetDocumentTimeout(), &opts.DocumentTimeout},
		{fieldPageTimeout, o.GetPageTimeout(), &opts.PageTimeout},
		{fieldStallTimeout, o.GetStallTimeout(), &opts.StallTimeout},
	} {
		if t.given == nil {
			continue
		}
		d := t.given.AsDuration()
		if t.given.CheckValid() != nil || d < minTimeout || d > maxTimeout {
			return invalidField(fault.InvalidOption, t.field, "%s %s, want %s to %s", t.field, d, minTimeout, maxTimeout)
		}
		*t.into = d
	}
	return nil
}

func setRetentionOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	if o.GetRetention() == nil {
		return nil
	}
	d := o.GetRetention().AsDuration()
	switch {
	case o.GetRetention().CheckValid() != nil || d < 0 || d > maxRetention || d > 0 && d < minTimeout:
		return invalidField(fault.InvalidOption, fieldRetention, "retention %s, want 0 for ever, or %s to %d days", d,
			minTimeout, int(maxRetention.Hours()/24))
	case d == 0:
		opts.Keep = true
	default:
		opts.Retention = d
	}
	return nil
}

// setPasswordOption takes the password over; no error repeats any of it.
func setPasswordOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	if len(o.GetPassword()) > maxPassword {
		return invalidField(fault.InvalidOption, fieldPassword, "a password of more than %d bytes", maxPassword)
	}
	if o.GetPassword() != "" {
		opts.Password = config.NewSecret(o.GetPassword())
	}
	return nil
}

// autoLanguages has the recogniser find out by itself which script it sees.
const autoLanguages = "auto"

// checkLanguagesOption checks the form; which languages there are, knownLanguages knows.
func checkLanguagesOption(o *inkstreamv1.JobOptions, _ *job.Options) error {
	s := o.GetLanguages()
	if s == "" || s == autoLanguages {
		return nil
	}
	codes := strings.Split(s, "+")
	if len(codes) > maxLanguages {
		return invalidField(fault.InvalidOption, fieldLanguages, "%d languages, want at most %d", len(codes), maxLanguages)
	}
	for i, c := range codes {
		if !isLanguageCode(c) || c == autoLanguages || slices.Contains(codes[:i], c) {
			return invalidField(fault.InvalidOption, fieldLanguages,
				"languages %q, want auto, or codes joined by +, such as eng+deu", clipText(s))
		}
	}
	return nil
}

// isLanguageCode accepts codes such as eng, chi_sim and script/Latin.
func isLanguageCode(c string) bool {
	name := strings.TrimPrefix(c, "script/")
	for i := range len(name) {
		b := name[i]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' && i > 0 || b == '_' && i > 0) {
			return false
		}
	}
	return len(name) >= 2 && len(c) <= maxLanguageBytes
}

// checkIdempotencyKey makes sure that a key is 1 to 64 printable ASCII characters.
func checkIdempotencyKey(field, key string) error {
	ok := len(key) >= 1 && len(key) <= maxIdempotencyKey
	for i := range len(key) {
		ok = ok && key[i] >= ' ' && key[i] <= '~'
	}
	if !ok {
		return invalidField(fault.InvalidArgument, field, "an idempotency key has 1 to %d printable ASCII characters",
			maxIdempotencyKey)
	}
	return nil
}

// cleanFilename makes a client's file name fit to be shown: the base name, valid UTF-8 without control characters, at
// most 255 bytes. It is never used as a path.
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
	return truncateText(name, maxFilenameBytes)
}

// truncateText cuts s to at most n bytes, between runes.
func truncateText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

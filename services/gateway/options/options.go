// Package options reads what a client may choose for a job: the fields of JobOptions say what there is and of what kind,
// ParseOptions reads them from a REST request, NormaliseOptions checks them, ToProto shows them.
package options

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
)

// ToProto shows the choices made for a job, defaults filled in. The password is none of them.
func ToProto(o job.Options) *inkstreamv1.JobOptions {
	v := &inkstreamv1.JobOptions{
		Lane: o.Lane, Languages: o.Languages, Ocr: string(job.OCRAuto), Pages: o.Pages, Rotate: "auto",
		ChunkWords: defaultChunkWords,
	}
	for _, option := range job.AllOptions() {
		if option.Choice != nil {
			showChoice(v.ProtoReflect(), option, &o)
		}
	}
	if o.OCR != "" {
		v.Ocr = string(o.OCR)
	}
	if !o.Rotate.IsOn() {
		v.Rotate = "off"
	}
	if o.ChunkWords > 0 {
		v.ChunkWords = int32(o.ChunkWords)
	}
	for _, a := range wantedArtifacts(&o) {
		v.Artifacts = append(v.Artifacts, string(a))
	}
	switch {
	case o.Keep:
		v.Retention = durationpb.New(0)
	case o.Retention > 0:
		v.Retention = durationpb.New(o.Retention)
	}
	return v
}

// showChoice sets the field of an option to what was chosen.
func showChoice(shown protoreflect.Message, option job.Option, o *job.Options) {
	field := shown.Descriptor().Fields().ByName(protoreflect.Name(option.Name))
	switch choice := option.Choice(o).(type) {
	case *bool:
		shown.Set(field, protoreflect.ValueOfBool(*choice))
	case *job.Choice:
		shown.Set(field, protoreflect.ValueOfBool(choice.IsOn()))
	case *string:
		shown.Set(field, protoreflect.ValueOfString(cmp.Or(*choice, option.Values[0])))
	case *time.Duration:
		if *choice > 0 {
			shown.Set(field, protoreflect.ValueOfMessage(durationpb.New(*choice).ProtoReflect()))
		}
	}
}

const (
	maxLanguageBytes = 32
	// maxLanguages is what the recogniser takes for one page.
	maxLanguages = 5
	// maxPassword is beyond what a PDF can have.
	maxPassword = 255
	// MaxFieldBytes bounds the value of an option, wherever it comes from.
	MaxFieldBytes = 4 << 10

	minChunkWords, maxChunkWords, defaultChunkWords = 50, 2000, 300
)

// The names of what a client may say about an upload: over REST as query parameters or form fields, over gRPC in the
// metadata.
const (
	fieldLane      = "lane"
	FieldLanguages = "languages"
	FieldFilename  = "filename"

	fieldOCR        = "ocr"
	fieldPages      = "pages"
	fieldRotate     = "rotate"
	FieldArtifacts  = "artifacts"
	fieldChunkWords = "chunk_words"
	fieldRetention  = "retention"
	FieldPassword   = "password"

	FieldLabels  = "labels"
	FieldWebhook = "webhook_url"
	FieldBatch   = "batch"
)

// KnownFields are the fields that there are: those of JobOptions, and what is said of the document besides.
var KnownFields = listKnownFields()

func listKnownFields() []string {
	names := []string{FieldFilename}
	fields := (&inkstreamv1.JobOptions{}).ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		names = append(names, string(fields.Get(i).Name()))
	}
	return append(names, FieldLabels, FieldWebhook, FieldBatch)
}

const (
	// minTimeout is the shortest limit that a job can have; a shorter one would fail whatever comes.
	minTimeout = time.Second
	// maxTimeout is beyond what any server allows, so that a misread unit does not go unnoticed.
	maxTimeout = 24 * time.Hour
	// maxRetention is for the same; a client that wants more says 0, which means no limit.
	maxRetention = 10 * 365 * 24 * time.Hour
)

// Fields collects what a REST client says about an upload.
type Fields map[string]string

// SetField notes a field, by its name in the API's proto or in its JSON form. A field that is not known is an
// error, so that a misspelt option does not go unnoticed; so is one that is given twice.
func (f Fields) SetField(name, value string) error {
	name = ToSnakeCase(name)
	if !slices.Contains(KnownFields, name) {
		return apierror.InvalidField(fault.InvalidOption, apierror.ClipText(name), "there is no option %q; there are %s", apierror.ClipText(name),
			strings.Join(KnownFields, ", "))
	}
	if _, twice := f[name]; twice {
		return apierror.InvalidField(fault.InvalidOption, name, "the option %q is given more than once", name)
	}
	if len(value) > MaxFieldBytes {
		return apierror.InvalidField(fault.InvalidOption, name, "the option %q is longer than %d bytes", name, MaxFieldBytes)
	}
	f[name] = value
	return nil
}

// ToSnakeCase turns pageTimeout into page_timeout.
func ToSnakeCase(name string) string {
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

// ParseOptions reads what a REST client said about the job as a gRPC client would have said it. An empty field counts
// as none. The fields of JobOptions say which options there are, and of what kind each is.
func (f Fields) ParseOptions() (*inkstreamv1.JobOptions, error) {
	o := &inkstreamv1.JobOptions{}
	fields := o.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		text := f[string(fields.Get(i).Name())]
		if text == "" {
			continue
		}
		if err := setOption(o.ProtoReflect(), fields.Get(i), text); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// setOption sets an option by the text that a REST client gave.
func setOption(o protoreflect.Message, field protoreflect.FieldDescriptor, text string) error {
	var want string
	switch field.Kind() {
	case protoreflect.BoolKind:
		v, err := strconv.ParseBool(text)
		if err == nil {
			o.Set(field, protoreflect.ValueOfBool(v))
			return nil
		}
		want = "true or false"
	case protoreflect.MessageKind: // the only one is a duration
		d, err := parseDuration(text)
		if err == nil {
			o.Set(field, protoreflect.ValueOfMessage(durationpb.New(d).ProtoReflect()))
			return nil
		}
		want = "a duration such as 90s, 10m or 7d"
	case protoreflect.Int32Kind: // the only one is chunk_words
		n, err := strconv.ParseInt(text, 10, 32)
		if err == nil {
			o.Set(field, protoreflect.ValueOfInt32(int32(n)))
			return nil
		}
		want = fmt.Sprintf("%d to %d", minChunkWords, maxChunkWords)
	default:
		if !field.IsList() {
			o.Set(field, protoreflect.ValueOfString(text))
			return nil
		}
		list := o.Mutable(field).List()
		for name := range strings.SplitSeq(text, ",") {
			list.Append(protoreflect.ValueOfString(strings.TrimSpace(name)))
		}
		return nil
	}
	name := string(field.Name())
	return apierror.InvalidField(fault.InvalidOption, name, "%s %q, want %s", name, apierror.ClipText(text), want)
}

// parseDuration is time.ParseDuration with days.
func parseDuration(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(s)
}

// setters check and take over the options of which the table in pkg/job does not say all.
var setters = map[string]func(*inkstreamv1.JobOptions, *job.Options) error{
	fieldLane: setLaneOption, FieldLanguages: setLanguagesOption, fieldOCR: setOCROption, fieldRotate: setRotateOption,
	fieldPages: setPagesOption, FieldArtifacts: setArtifactsOption, fieldRetention: setRetentionOption,
	FieldPassword: setPasswordOption, fieldChunkWords: setChunkWordsOption,
}

// NormaliseOptions checks a client's options and brings them into their normal form, so that the same choice always
// looks the same.
func NormaliseOptions(o *inkstreamv1.JobOptions) (job.Options, error) {
	if o == nil {
		o = &inkstreamv1.JobOptions{}
	}
	var opts job.Options
	for _, option := range job.AllOptions() {
		var err error
		if option.Choice != nil {
			err = setChoice(o.ProtoReflect(), option, &opts)
		} else {
			err = setters[option.Name](o, &opts)
		}
		if err != nil {
			return opts, err
		}
	}
	return opts, nil
}

// setChoice takes over what was chosen.
func setChoice(given protoreflect.Message, option job.Option, opts *job.Options) error {
	field := given.Descriptor().Fields().ByName(protoreflect.Name(option.Name))
	if !given.Has(field) {
		return nil
	}
	switch choice := option.Choice(opts).(type) {
	case *bool:
		*choice = given.Get(field).Bool()
	case *job.Choice:
		if !given.Get(field).Bool() {
			*choice = job.TurnedOff()
		}
	case *string:
		switch name := given.Get(field).String(); {
		case name == option.Values[0]:
		case slices.Contains(option.Values, name):
			*choice = name
		default:
			return apierror.InvalidField(fault.InvalidOption, option.Name, "%s %q, want one of %s", option.Name,
				apierror.ClipText(name), strings.Join(option.Values, ", "))
		}
	case *time.Duration:
		limit, ok := given.Get(field).Message().Interface().(*durationpb.Duration)
		d := limit.AsDuration()
		if !ok || limit.CheckValid() != nil || d < minTimeout || d > maxTimeout {
			return apierror.InvalidField(fault.InvalidOption, option.Name, "%s %s, want %s to %s", option.Name, d, minTimeout, maxTimeout)
		}
		*choice = d
	}
	return nil
}

func setLaneOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	lane, err := bus.ParseLane(o.GetLane())
	if err != nil {
		return apierror.InvalidField(fault.InvalidOption, fieldLane, "lane %q, want interactive or batch", apierror.ClipText(o.GetLane()))
	}
	opts.Lane = string(lane)
	return nil
}

func setChunkWordsOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	n := int(o.GetChunkWords())
	if n != 0 && (n < minChunkWords || n > maxChunkWords) {
		return apierror.InvalidField(fault.InvalidOption, fieldChunkWords, "%s %d, want %d to %d", fieldChunkWords, n,
			minChunkWords, maxChunkWords)
	}
	opts.ChunkWords = n
	return nil
}

func setOCROption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	switch mode := job.OCRMode(o.GetOcr()); mode {
	case "", job.OCRAuto:
	case job.OCRForce, job.OCRSkip, job.OCRRedo:
		opts.OCR = mode
	default:
		return apierror.InvalidField(fault.InvalidOption, fieldOCR, "ocr %q, want auto, force, skip or redo", apierror.ClipText(o.GetOcr()))
	}
	return nil
}

func setRotateOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	switch o.GetRotate() {
	case "", "auto":
	case "off":
		opts.Rotate = job.TurnedOff()
	default:
		return apierror.InvalidField(fault.InvalidOption, fieldRotate, "rotate %q, want auto or off", apierror.ClipText(o.GetRotate()))
	}
	return nil
}

func setPagesOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	pages, err := job.ParsePages(o.GetPages())
	if err != nil {
		return apierror.InvalidField(fault.InvalidOption, fieldPages, "pages %q, want ranges such as 1-3,7,12-: %v",
			apierror.ClipText(o.GetPages()), err)
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
			return apierror.InvalidField(fault.InvalidOption, FieldArtifacts, "there is no artifact %q; there are %s, and %s",
				apierror.ClipText(name), joinArtifacts(every), allArtifacts)
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

func setRetentionOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	if o.GetRetention() == nil {
		return nil
	}
	d := o.GetRetention().AsDuration()
	switch {
	case o.GetRetention().CheckValid() != nil || d < 0 || d > maxRetention || d > 0 && d < minTimeout:
		return apierror.InvalidField(fault.InvalidOption, fieldRetention, "retention %s, want 0 for ever, or %s to %d days", d,
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
		return apierror.InvalidField(fault.InvalidOption, FieldPassword, "a password of more than %d bytes", maxPassword)
	}
	if o.GetPassword() != "" {
		opts.Password = config.NewSecret(o.GetPassword())
	}
	return nil
}

// AutoLanguages has the recogniser find out by itself which script it sees.
const AutoLanguages = "auto"

// setLanguagesOption checks the form; which languages are installed, the upload asks (upload/languages.go).
func setLanguagesOption(o *inkstreamv1.JobOptions, opts *job.Options) error {
	s := o.GetLanguages()
	opts.Languages = s
	if s == "" || s == AutoLanguages {
		return nil
	}
	codes := strings.Split(s, "+")
	if len(codes) > maxLanguages {
		return apierror.InvalidField(fault.InvalidOption, FieldLanguages, "%d languages, want at most %d", len(codes), maxLanguages)
	}
	for i, c := range codes {
		if !isLanguageCode(c) || c == AutoLanguages || slices.Contains(codes[:i], c) {
			return apierror.InvalidField(fault.InvalidOption, FieldLanguages,
				"languages %q, want auto, or codes joined by +, such as eng+deu", apierror.ClipText(s))
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

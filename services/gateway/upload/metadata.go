package upload

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/options"
)

const maxFilenameBytes = 255

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
	return apierror.TruncateText(name, maxFilenameBytes)
}

const (
	// maxLabels and maxLabelChars bound what a client may note about a job.
	maxLabels     = 16
	maxLabelChars = 63
	// maxWebhookURL bounds the address that a job comes with.
	maxWebhookURL = 2000
)

// uploadMeta is what a client says of a document besides the choices for its job.
type uploadMeta struct {
	filename string
	labels   map[string]string
	webhook  string
	batch    string
}

// setMetadata checks what is said of the document, and takes it over. The prefix names the message that holds the
// fields; empty over REST.
func (in *upload) setMetadata(prefix string, a uploadMeta) error {
	labels, err := checkLabels(prefix+options.FieldLabels, a.labels)
	if err != nil {
		return err
	}
	if err := in.service.checkWebhookURL(prefix+options.FieldWebhook, a.webhook); err != nil {
		return err
	}
	if a.batch != "" {
		if in.batch, err = job.ParseID(a.batch); err != nil {
			return apierror.InvalidField(fault.InvalidArgument, prefix+options.FieldBatch, "batch %q, want a ULID: 26 letters and digits",
				apierror.ClipText(a.batch))
		}
	}
	in.filename, in.labels, in.webhook = cleanFilename(a.filename), labels, a.webhook
	return nil
}

// checkLabels checks labels: names of letters, digits and ._/-, values of printable characters.
func checkLabels(field string, given map[string]string) (map[string]string, error) {
	if len(given) > maxLabels {
		return nil, apierror.InvalidField(fault.InvalidArgument, field, "%d labels, want at most %d", len(given), maxLabels)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !isLabelName(name) {
			return nil, apierror.InvalidField(fault.InvalidArgument, field, "label name %q, want 1 to %d letters, digits, and ._/-",
				apierror.ClipText(name), maxLabelChars)
		}
		value := given[name]
		if !utf8.ValidString(value) || utf8.RuneCountInString(value) > maxLabelChars ||
			strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return nil, apierror.InvalidField(fault.InvalidArgument, field,
				"the value of label %q, want at most %d printable characters", name, maxLabelChars)
		}
	}
	if len(given) == 0 {
		return nil, nil
	}
	return given, nil
}

func isLabelName(name string) bool {
	for i := range len(name) {
		b := name[i]
		if !('a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || strings.IndexByte("._-/", b) >= 0) {
			return false
		}
	}
	return name != "" && len(name) <= maxLabelChars
}

// parseLabels reads labels as a REST client writes them: k=v,k2=v2, or a JSON object, for values that hold
// commas. No label's name begins like one.
func parseLabels(text string) (map[string]string, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	labels := map[string]string{}
	if strings.HasPrefix(text, "{") {
		if err := json.Unmarshal([]byte(text), &labels); err != nil {
			return nil, apierror.InvalidField(fault.InvalidArgument, options.FieldLabels,
				"labels that begin with {, want a JSON object of names and values in quotation marks")
		}
		return labels, nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		if _, twice := labels[name]; !ok || twice {
			return nil, apierror.InvalidField(fault.InvalidArgument, options.FieldLabels,
				"labels %q, want name=value, joined by commas, each name once", apierror.ClipText(text))
		}
		labels[name] = strings.TrimSpace(value)
	}
	return labels, nil
}

// checkWebhookURL refuses an address to be told of a job's end that the server would not call.
func (s *Service) checkWebhookURL(field, url string) error {
	switch {
	case url == "":
		return nil
	case !s.cfg.CallWebhooks:
		return apierror.InvalidField(apierror.WebhookForbidden, field,
			"this server calls no addresses that jobs come with: it has no secret to sign the calls with (--webhook.secret)")
	case len(url) > maxWebhookURL:
		return apierror.InvalidField(apierror.WebhookForbidden, field, "an address of more than %d bytes", maxWebhookURL)
	}
	if err := s.cfg.WebhookPolicy.CheckURL(url); err != nil {
		return apierror.InvalidField(apierror.WebhookForbidden, field, "%s", err)
	}
	return nil
}

// applyFields takes over what a REST client has said so far.
func (in *upload) applyFields(said options.Fields) error {
	chosen, err := in.checkRESTOptions(said)
	if err != nil {
		return err
	}
	labels, err := parseLabels(said[options.FieldLabels])
	if err != nil {
		return err
	}
	in.options = chosen
	return in.setMetadata("", uploadMeta{filename: said[options.FieldFilename], labels: labels, webhook: said[options.FieldWebhook],
		batch: said[options.FieldBatch]})
}

// applyMetadata takes over what a gRPC client says. The prefix names the message that it is in.
func (in *upload) applyMetadata(prefix string, m *inkstreamv1.UploadMetadata) (err error) {
	if in.key = m.GetIdempotencyKey(); in.key != "" {
		if err := checkIdempotencyKey(prefix+"idempotency_key", in.key); err != nil {
			return err
		}
	}
	if in.options, err = in.checkOptions(m.GetOptions()); err != nil {
		return err
	}
	return in.setMetadata(prefix, uploadMeta{filename: m.GetFilename(), labels: m.GetLabels(), webhook: m.GetWebhookUrl(),
		batch: m.GetBatch()})
}

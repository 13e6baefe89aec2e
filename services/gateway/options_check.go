package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// checkRESTOptions checks what a REST client said about its job.
func (in *upload) checkRESTOptions(said uploadFields) (job.Options, error) {
	o, err := said.parseOptions()
	if err != nil {
		return job.Options{}, err
	}
	return in.checkOptions(o)
}

// checkOptions checks a client's options: their form, and what this server can do.
func (in *upload) checkOptions(o *inkstreamv1.JobOptions) (job.Options, error) {
	opts, err := normaliseOptions(o)
	if err != nil {
		return opts, err
	}
	if err := in.service.languages.checkInstalled(opts.Languages); err != nil {
		return opts, err
	}
	if opts.Password.IsEmpty() {
		return opts, nil
	}
	if in.service.deps.Sealer == nil {
		return opts, invalidField(fault.InvalidOption, fieldPassword,
			"this server takes no passwords: it has no key to seal them with")
	}
	opts.PasswordDigest = in.service.deps.Sealer.DigestSecret(in.tenant, opts.Password.RevealText())
	return opts, nil
}

// sealPassword puts the password into a record that is about to be stored, under the server's key.
func (in *upload) sealPassword(r *job.Record) *job.Record {
	if in.options.Password.IsEmpty() {
		return r
	}
	r.Sealed, r.Protected = in.service.deps.Sealer.SealSecret(r.Tenant, r.ID, in.options.Password.RevealText()), true
	r.Options.Password = config.Secret{}
	return r
}

const (
	// languagesAge is how old the known languages may be.
	languagesAge = 30 * time.Second
	// languagesTimeout bounds the question for them; only an upload that names languages asks.
	languagesTimeout = time.Second
	// languagesMaxAge is how long the recogniser's word holds: it repeats it every minute while it runs.
	languagesMaxAge = 10 * time.Minute
)

// languageCache knows which languages the recogniser has, by its latest report. While there is no current report, every
// language passes; the recogniser then says what is wrong.
type languageCache struct {
	load func(context.Context) (job.Languages, error)

	mu    sync.Mutex // guards all below, and is held during load: a caller that waits wants the same answer
	codes []string
	asked time.Time
}

// checkInstalled returns an error that names the installed languages where one is asked for that is not among them.
func (l *languageCache) checkInstalled(wanted string) error {
	if wanted == "" || wanted == autoLanguages {
		return nil
	}
	installed := l.installedCodes()
	if len(installed) == 0 {
		return nil
	}
	for code := range strings.SplitSeq(wanted, "+") {
		if !slices.Contains(installed, code) {
			return invalidField(fault.InvalidOption, fieldLanguages, "language %q is not installed; these are: %s, and auto",
				clipText(code),
				strings.Join(installed, ", "))
		}
	}
	return nil
}

func (l *languageCache) installedCodes() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) < languagesAge && l.codes != nil {
		return l.codes
	}
	ctx, cancel := context.WithTimeout(context.Background(), languagesTimeout) // the answer is for all uploads
	defer cancel()
	told, err := l.load(ctx)
	l.codes, l.asked = nil, time.Now()
	if err == nil && time.Since(told.Time) < languagesMaxAge {
		l.codes = told.Codes
	}
	return l.codes
}

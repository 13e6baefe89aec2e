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

// chooseREST checks what a REST client said about its job.
func (in *intake) chooseREST(said fields) (job.Options, error) {
	o, err := said.options()
	if err != nil {
		return job.Options{}, err
	}
	return in.choose(o)
}

// choose checks a client's options: their form, and what this server can do.
func (in *intake) choose(o *inkstreamv1.JobOptions) (job.Options, error) {
	opts, err := optionsOf(o)
	if err != nil {
		return opts, err
	}
	if err := in.s.languages.check(opts.Languages); err != nil {
		return opts, err
	}
	if opts.Password.Empty() {
		return opts, nil
	}
	if in.s.env.Sealer == nil {
		return opts, invalidField(fault.InvalidOption, fieldPassword, "this server takes no passwords: it has no key to seal them with")
	}
	opts.PasswordDigest = in.s.env.Sealer.Digest(in.tenant, opts.Password.Reveal())
	return opts, nil
}

// seal puts the password into a record that is about to be stored, under the server's key.
func (in *intake) seal(r *job.Record) *job.Record {
	if in.options.Password.Empty() {
		return r
	}
	r.Sealed, r.Protected = in.s.env.Sealer.Seal(r.Tenant, r.ID, in.options.Password.Reveal()), true
	r.Options.Password = config.Secret{}
	return r
}

const (
	// languagesAge is how old the known languages may be.
	languagesAge = 30 * time.Second
	// languagesWait bounds the question for them; only an upload that names languages asks.
	languagesWait = time.Second
	// languagesTrust is how long the recogniser's word holds: it repeats it every minute while it runs.
	languagesTrust = 10 * time.Minute
)

// languages knows which languages the recogniser has, as it told last. While nobody has told, every language is let pass; the recogniser then says
// what is wrong.
type languages struct {
	load func(context.Context) (job.Languages, error)

	mu    sync.Mutex // guards all below, and is held while asking: whoever comes meanwhile wants the same answer
	codes []string
	asked time.Time
}

// check returns an error that names the installed languages where one is asked for that is not among them.
func (l *languages) check(wanted string) error {
	if wanted == "" || wanted == autoLanguages {
		return nil
	}
	installed := l.installed()
	if len(installed) == 0 {
		return nil
	}
	for code := range strings.SplitSeq(wanted, "+") {
		if !slices.Contains(installed, code) {
			return invalidField(fault.InvalidOption, fieldLanguages, "language %q is not installed; these are: %s, and auto", clip(code),
				strings.Join(installed, ", "))
		}
	}
	return nil
}

func (l *languages) installed() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) < languagesAge && l.codes != nil {
		return l.codes
	}
	ctx, cancel := context.WithTimeout(context.Background(), languagesWait) // the answer is for all uploads
	defer cancel()
	told, err := l.load(ctx)
	l.codes, l.asked = nil, time.Now()
	if err == nil && time.Since(told.Time) < languagesTrust {
		l.codes = told.Codes
	}
	return l.codes
}

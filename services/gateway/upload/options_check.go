package upload

import (
	"time"

	"inkstream.dev/pkg/config"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/options"
)

// longRetention is what a job may be kept for without a scope, where the server's own retention ends.
const longRetention = 366 * 24 * time.Hour

// checkRESTOptions checks what a REST client said about its job.
func (in *upload) checkRESTOptions(said options.Fields) (job.Options, error) {
	o, err := said.ParseOptions()
	if err != nil {
		return job.Options{}, err
	}
	return in.checkOptions(o)
}

// checkOptions checks a client's options: their form, what this server can do, and what the caller may.
func (in *upload) checkOptions(o *inkstreamv1.JobOptions) (job.Options, error) {
	opts, err := options.NormaliseOptions(o)
	if err != nil {
		return opts, err
	}
	// What is kept without end takes room that no later job gets back.
	if (opts.Keep || opts.Retention > longRetention) && in.service.cfg.Retention != 0 && !in.mayKeep {
		return opts, fault.New(apierror.PermissionDenied, "to keep a job without end, or for more than %d days, needs the scope %s",
			int(longRetention.Hours()/24), access.Admin)
	}
	if err := in.service.languages.checkInstalled(opts.Languages); err != nil {
		return opts, err
	}
	if opts.Password.IsEmpty() {
		return opts, nil
	}
	if in.service.deps.Sealer == nil {
		return opts, apierror.InvalidField(fault.InvalidOption, options.FieldPassword,
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

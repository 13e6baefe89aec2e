package scan

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// Action is what a kind of finding leads to.
type Action string

const (
	// Allow lets the document pass; the finding is still kept on the job.
	Allow Action = "allow"
	// Flag lets the document pass and marks the finding as worth a look.
	Flag Action = "flag"
	// Reject ends the job.
	Reject Action = "reject"
)

const (
	// KindMalware is the kind of what the malware scanner finds.
	KindMalware = "malware"
	// KindBomb is the kind of what a document is found to be that inflates to absurd sizes.
	KindBomb = "decompression_ratio"
)

// findingKinds are all kinds of findings, as Finding in job.proto lists them.
var findingKinds = []string{
	"javascript", "launch_action", "uri_action", "submit_form_action", "remote_goto_action", "import_data_action",
	"open_action",
	"additional_actions", "embedded_file", "xfa", "acro_form", "signature", "rich_media", "object_count", KindBomb,
	KindMalware,
}

// Policy says what each kind of finding leads to. Its zero value flags everything, but always rejects malware. It is
// a flag.Value.
type Policy struct {
	actions map[string]Action
}

var _ flag.Value = (*Policy)(nil)

// DefaultPolicy flags everything, and rejects bombs and malware.
func DefaultPolicy() Policy {
	return Policy{actions: map[string]Action{KindBomb: Reject}}
}

// ParsePolicy reads a policy such as "javascript=reject,uri_action=allow". What it does not mention is as in
// DefaultPolicy.
func ParsePolicy(s string) (Policy, error) {
	p := DefaultPolicy()
	if strings.TrimSpace(s) == "" {
		return p, nil
	}
	named := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		kind, action, found := strings.Cut(part, "=")
		kind, action = strings.TrimSpace(kind), strings.TrimSpace(action)
		switch {
		case !found:
			return Policy{}, fmt.Errorf("%q: want kind=action, such as javascript=reject", part)
		case !slices.Contains(findingKinds, kind):
			return Policy{}, fmt.Errorf("%q: unknown kind %q, want one of %s", part, kind, strings.Join(findingKinds, ", "))
		case !slices.Contains([]Action{Allow, Flag, Reject}, Action(action)):
			return Policy{}, fmt.Errorf("%q: unknown action %q, want allow, flag or reject", part, action)
		case kind == KindMalware && Action(action) != Reject:
			return Policy{}, fmt.Errorf("%q: malware is always rejected", part)
		case named[kind]:
			return Policy{}, fmt.Errorf("%q: %s is named twice", part, kind)
		}
		named[kind] = true
		p.actions[kind] = Action(action)
	}
	return p, nil
}

// ActionFor returns what a kind of finding leads to. Kinds that the policy does not know are flagged.
func (p Policy) ActionFor(kind string) Action {
	if kind == KindMalware {
		return Reject
	}
	if action, ok := p.actions[kind]; ok {
		return action
	}
	return Flag
}

// String returns the policy in the form that ParsePolicy reads: what is not merely flagged, in the order in which
// job.proto lists the kinds.
func (p Policy) String() string {
	var parts []string
	for _, kind := range findingKinds {
		action := p.ActionFor(kind)
		if kind == KindMalware || action == Flag && kind != KindBomb {
			continue
		}
		parts = append(parts, kind+"="+string(action))
	}
	return strings.Join(parts, ",")
}

// Set replaces the policy by the one that s describes.
func (p *Policy) Set(s string) error {
	parsed, err := ParsePolicy(s)
	if err != nil {
		return err
	}
	*p = parsed
	return nil
}

// EvaluateFindings judges findings. It returns them all, in their order, and a *fault.Error for the first one that
// the policy rejects: MALWARE_FOUND or POLICY_REJECTED. The error is nil where the document may pass.
func (p Policy) EvaluateFindings(findings []pdf.Finding) ([]*inkstreamv1.Finding, error) {
	judged := make([]*inkstreamv1.Finding, 0, len(findings))
	var refusal error
	for _, f := range findings {
		action := p.ActionFor(f.Kind)
		judged = append(judged, &inkstreamv1.Finding{Kind: f.Kind, Count: int32(f.Count), Policy: string(action),
			Detail: f.Detail})
		if action == Reject && refusal == nil {
			refusal = newRejection(f)
		}
	}
	return judged, refusal
}

func newRejection(f pdf.Finding) error {
	if f.Kind == KindMalware {
		return fault.New(fault.MalwareFound, "the malware scanner found %s", f.Detail)
	}
	if f.Detail != "" {
		return fault.New(fault.PolicyReject, "the server's policy rejects %s (%s)", f.Kind, f.Detail)
	}
	return fault.New(fault.PolicyReject, "the server's policy rejects %s", f.Kind)
}

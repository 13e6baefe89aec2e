package scan

import (
	"flag"
	"io"
	"strings"
	"testing"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/pdf"
)

func TestParsePolicy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in string
		want     string // as String gives it
		wrong    string // part of the error
	}{
		{"nothing is the default", "", "decompression_ratio=reject", ""},
		{"one kind", "javascript=reject", "javascript=reject,decompression_ratio=reject", ""},
		{"several kinds, with spaces", " uri_action = allow , javascript=reject",
			"javascript=reject,uri_action=allow,decompression_ratio=reject", ""},
		{"bombs can be let pass", "decompression_ratio=flag", "decompression_ratio=flag", ""},
		{"flagging is the default", "javascript=flag", "decompression_ratio=reject", ""},
		{"malware may be named", "malware=reject", "decompression_ratio=reject", ""},
		{"no action", "javascript", "", `"javascript"`},
		{"unknown kind", "xfa=flag,javscript=reject", "", `"javscript"`},
		{"unknown action", "xfa=flag,javascript=block", "", `"block"`},
		{"empty part", "javascript=reject,", "", `""`},
		{"twice", "xfa=flag,xfa=reject", "", "twice"},
		{"malware allowed", "malware=allow", "", "malware is always rejected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := ParsePolicy(tt.in)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("ParsePolicy(%q): got error %v, want one that names %s", tt.in, err, tt.wrong)
				}
				return
			}
			if err != nil || p.String() != tt.want {
				t.Fatalf("ParsePolicy(%q): got %q, %v, want %q", tt.in, p.String(), err, tt.want)
			}
			again, err := ParsePolicy(p.String())
			if err != nil || again.String() != tt.want {
				t.Errorf("ParsePolicy(%q): got %q, %v, want the same again", p.String(), again.String(), err)
			}
		})
	}
}

func TestPolicyFlag(t *testing.T) {
	t.Parallel()
	p := DefaultPolicy()
	fs := flag.NewFlagSet("scan", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Var(&p, "scan.policy", "")
	if err := fs.Parse([]string{"-scan.policy", "launch_action=reject"}); err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if got := p.ActionFor("launch_action"); got != Reject {
		t.Errorf("launch_action: got %s, want reject", got)
	}
	if err := fs.Parse([]string{"-scan.policy", "launch=reject"}); err == nil {
		t.Error("Parse of an unknown kind: got no error, want one")
	}
	if got := p.ActionFor("launch_action"); got != Reject {
		t.Errorf("launch_action after a bad flag: got %s, want reject as before", got)
	}
	if got := DefaultPolicy().ActionFor("launch_action"); got != Flag {
		t.Errorf("launch_action by default: got %s, want flag", got)
	}
}

func TestEvaluateFindings(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		policy   string
		findings []pdf.Finding
		want     []string // actions
		code     fault.Code
		message  string
	}{
		{name: "nothing found"},
		{
			name: "all flagged", findings: []pdf.Finding{{Kind: "javascript", Count: 2}, {Kind: "xfa", Count: 1}},
			want: []string{"flag", "flag"},
		},
		{
			name: "one allowed", policy: "uri_action=allow",
			findings: []pdf.Finding{{Kind: "uri_action", Count: 9}}, want: []string{"allow"},
		},
		{name: "a kind of the future", findings: []pdf.Finding{{Kind: "hologram", Count: 1}}, want: []string{"flag"}},
		{
			name: "bomb",
			findings: []pdf.Finding{{Kind: "javascript", Count: 1},
				{Kind: KindBomb, Count: 1, Detail: "stream_ratio: 9 bytes"}},
			want: []string{"flag", "reject"}, code: fault.PolicyReject,
			message: "decompression_ratio (stream_ratio: 9 bytes)",
		},
		{
			name: "the first rejection counts", policy: "javascript=reject,xfa=reject",
			findings: []pdf.Finding{{Kind: "xfa", Count: 1}, {Kind: "javascript", Count: 1}},
			want:     []string{"reject", "reject"}, code: fault.PolicyReject, message: "rejects xfa",
		},
		{
			name:     "malware",
			findings: []pdf.Finding{{Kind: KindMalware, Count: 1, Detail: "Eicar-Test-Signature"}},
			want:     []string{"reject"}, code: fault.MalwareFound, message: "Eicar-Test-Signature",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p, err := ParsePolicy(tt.policy)
			if err != nil {
				t.Fatal(err)
			}
			judged, refusal := p.EvaluateFindings(tt.findings)
			if len(judged) != len(tt.findings) {
				t.Fatalf("EvaluateFindings: got %d findings, want %d", len(judged), len(tt.findings))
			}
			for i, f := range judged {
				in := tt.findings[i]
				if f.GetPolicy() != tt.want[i] || f.GetKind() != in.Kind || int(f.GetCount()) != in.Count ||
					f.GetDetail() != in.Detail {
					t.Errorf("finding %d: got %v, want %+v with policy %s", i, f, in, tt.want[i])
				}
			}
			if tt.code == "" {
				if refusal != nil {
					t.Errorf("refusal: got %v, want none", refusal)
				}
				return
			}
			if refusal == nil || fault.CodeOf(refusal) != tt.code ||
				!strings.Contains(fault.UserMessageOf(refusal), tt.message) {
				t.Errorf("refusal: got %v, want %s with %q", refusal, tt.code, tt.message)
			}
			if got := fault.KindOf(refusal); got != fault.Permanent {
				t.Errorf("refusal: got kind %v, want permanent", got)
			}
		})
	}
}

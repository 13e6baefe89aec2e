package bus

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
)

// CanPublish reports whether the user may publish to the subject, or to every subject of the pattern.
func (p Permissions) CanPublish(subject string) bool {
	return coveredByAny(GrantSubjects(p.Publish), subject)
}

// CanSubscribe reports whether the user may subscribe to the subject or the pattern, in no queue group.
func (p Permissions) CanSubscribe(subject string) bool {
	return coveredByAny(GrantSubjects(p.Subscribe), subject)
}

// GrantSubjects returns the subjects of the grants, in their order.
func GrantSubjects(grants []Grant) []string {
	list := make([]string, len(grants))
	for i, g := range grants {
		list[i] = g.Subject
	}
	return list
}

// coveredByAny reports whether one of the patterns matches everything that the pattern does.
func coveredByAny(patterns []string, pattern string) bool {
	for _, p := range patterns {
		if patternCovers(p, pattern) {
			return true
		}
	}
	return false
}

// patternCovers reports whether a pattern matches everything that another one does. Queue groups, after a space, must
// be the same.
func patternCovers(wide, narrow string) bool {
	wide, group, _ := strings.Cut(wide, " ")
	narrow, other, _ := strings.Cut(narrow, " ")
	if group != "" && group != other {
		return false
	}
	w, n := strings.Split(wide, "."), strings.Split(narrow, ".")
	for i, token := range w {
		switch {
		case token == ">":
			return i < len(n)
		case i >= len(n), token != n[i] && (token != "*" || n[i] == ">"):
			return false
		}
	}
	return len(w) == len(n)
}

// patternsOverlap reports whether two patterns have a subject in common.
func patternsOverlap(a, b string) bool {
	s, t := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(s), len(t)) {
		switch {
		case s[i] == ">" || t[i] == ">":
			return true
		case s[i] != t[i] && s[i] != "*" && t[i] != "*":
			return false
		}
	}
	return len(s) == len(t)
}

// userTimeout bounds the question what this user may do.
const userTimeout = 5 * time.Second

// subjectRules is what the server lets a user do with subjects of one kind; no list is no bound.
type subjectRules struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// userInfo is what the server tells of a connection's user.
type userInfo struct {
	User        string `json:"user"`
	Account     string `json:"account"`
	Permissions *struct {
		Publish   *subjectRules `json:"publish"`
		Subscribe *subjectRules `json:"subscribe"`
	} `json:"permissions"` // nil is everything
}

// requestUserInfo asks the server about this connection's user.
func (b *connection) requestUserInfo(ctx context.Context) (userInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, userTimeout)
	defer cancel()
	var answer struct {
		Data userInfo `json:"data"`
	}
	msg, err := b.nc.RequestWithContext(ctx, "$SYS.REQ.USER.INFO", nil)
	if err == nil {
		err = json.Unmarshal(msg.Data, &answer)
	}
	return answer.Data, err
}

// missingGrants returns the grants that the server would refuse, wholly or in part.
func (a *subjectRules) missingGrants(grants []Grant) []string {
	var missing []string
	if a == nil {
		return nil
	}
	for _, g := range grants {
		subject, _, _ := strings.Cut(g.Subject, " ")
		ok := len(a.Allow) == 0 || coveredByAny(a.Allow, g.Subject)
		for _, denied := range a.Deny {
			denied, _, _ = strings.Cut(denied, " ")
			ok = ok && !patternsOverlap(denied, subject)
		}
		if !ok {
			missing = append(missing, g.Subject)
		}
	}
	return missing
}

// CheckPermissions asks the server what this connection's user may do, and returns an error that names what is
// missing of what the service of that name needs. The server refuses without an answer, so a service whose user lacks
// something would otherwise find out by a task that times out. A server that does not tell causes no error: it is
// logged.
func (b *topologyAdmin) CheckPermissions(ctx context.Context, user string) error {
	asked, err := b.requestUserInfo(ctx)
	if err != nil {
		b.log.WarnContext(ctx, "nats does not tell what this user may do", "user", user, "error", err)
		return nil
	}
	p := asked.Permissions
	if p == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, userTimeout)
	defer cancel()
	replicas := 1
	// Who may not ask for the bucket gets no answer.
	if len(p.Publish.missingGrants([]Grant{{Subject: apiSubject("STREAM.INFO", "KV_"+JobBucket)}})) == 0 {
		if stream, err := b.js.Stream(ctx, "KV_"+JobBucket); err == nil {
			replicas = stream.CachedInfo().Config.Replicas
		}
	}
	need := PermissionsFor(user, replicas)
	missing := append(p.Publish.missingGrants(need.Publish), p.Subscribe.missingGrants(need.Subscribe)...)
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.Internal,
		"the NATS user %s of account %s lacks permissions that %s needs: %s; write the server's configuration anew "+
			"with 'inkstream nats-config'", asked.User, asked.Account, need.User, strings.Join(missing, ", "))
}

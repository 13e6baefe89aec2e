package bus

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"inkstream.dev/pkg/fault"
)

// Allows reports whether the user may publish to the subject, or to every subject of the pattern.
func (p Permissions) Allows(subject string) bool { return covered(subjects(p.Publish), subject) }

// Hears reports whether the user may subscribe to the subject or the pattern, in no queue group.
func (p Permissions) Hears(subject string) bool { return covered(subjects(p.Subscribe), subject) }

func subjects(grants []Grant) []string {
	list := make([]string, len(grants))
	for i, g := range grants {
		list[i] = g.Subject
	}
	return list
}

// covered reports whether one of the patterns matches everything that the pattern does.
func covered(patterns []string, pattern string) bool {
	for _, p := range patterns {
		if covers(p, pattern) {
			return true
		}
	}
	return false
}

// covers reports whether a pattern matches everything that another one does. Queue groups, after a space, must be the same.
func covers(wide, narrow string) bool {
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

// overlap reports whether two patterns have a subject in common.
func overlap(a, b string) bool {
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

// allowed is what the server lets a user do with subjects of one kind; no list is no bound.
type allowed struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// userInfo is what the server tells of a connection's user.
type userInfo struct {
	User        string `json:"user"`
	Account     string `json:"account"`
	Permissions *struct {
		Publish   *allowed `json:"publish"`
		Subscribe *allowed `json:"subscribe"`
	} `json:"permissions"` // nil is everything
}

// user asks the server about this connection's user.
func (b *Bus) user(ctx context.Context) (userInfo, error) {
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

// lacks returns the grants that the server would refuse, wholly or in part.
func (a *allowed) lacks(grants []Grant) []string {
	var missing []string
	if a == nil {
		return nil
	}
	for _, g := range grants {
		subject, _, _ := strings.Cut(g.Subject, " ")
		ok := len(a.Allow) == 0 || covered(a.Allow, g.Subject)
		for _, denied := range a.Deny {
			denied, _, _ = strings.Cut(denied, " ")
			ok = ok && !overlap(denied, subject)
		}
		if !ok {
			missing = append(missing, g.Subject)
		}
	}
	return missing
}

// CheckPermissions asks the server what this connection's user may do, and returns an error that names what is missing of what the service of that
// name needs. The server refuses without an answer, so a service whose user lacks something would otherwise find out by a task that times out. A
// server that does not tell is not held against anybody: it is logged.
func (b *Bus) CheckPermissions(ctx context.Context, user string) error {
	asked, err := b.user(ctx)
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
	if len(p.Publish.lacks([]Grant{{Subject: api("STREAM.INFO", "KV_"+JobBucket)}})) == 0 {
		if stream, err := b.js.Stream(ctx, "KV_"+JobBucket); err == nil {
			replicas = stream.CachedInfo().Config.Replicas
		}
	}
	need := Permit(user, replicas)
	missing := append(p.Publish.lacks(need.Publish), p.Subscribe.lacks(need.Subscribe)...)
	if len(missing) == 0 {
		return nil
	}
	return fault.New(fault.Internal, "the NATS user %s of account %s lacks permissions that %s needs: %s; write the server's configuration anew "+
		"with 'inkstream nats-config'", asked.User, asked.Account, need.User, strings.Join(missing, ", "))
}

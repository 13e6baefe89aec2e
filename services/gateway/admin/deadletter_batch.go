package admin

import (
	"cmp"
	"context"
	"slices"

	"inkstream.dev/pkg/bus"
	"inkstream.dev/pkg/fault"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/access"
	"inkstream.dev/services/gateway/internal/apierror"
	"inkstream.dev/services/gateway/jobview"
)

const (
	// maxBatchLetters bounds the dead letters that one call does something to, and maxCountedLetters those that are
	// counted by group.
	maxBatchLetters, maxCountedLetters = 10_000, 50_000
	// letterPage is how many dead letters are read at once.
	letterPage = 500
)

// letterFilter selects dead letters. Conditions that are set must all hold.
type letterFilter struct{ stage, code, job string }

func (f letterFilter) matches(l bus.DeadLetter) bool {
	return (f.stage == "" || f.stage == string(l.Stage)) && (f.code == "" || f.code == l.Code) &&
		(f.job == "" || f.job == l.Job)
}

// scanDeadLetters calls visit with the tenant's dead letters from the one after the number on, oldest first, until it
// returns false.
func (s *DeadLetters) scanDeadLetters(ctx context.Context, after uint64, visit func(bus.DeadLetter) bool) error {
	for {
		letters, more, err := s.deps.Bus.ListDeadLetters(ctx, access.TenantFrom(ctx), after, letterPage)
		if err != nil {
			return err
		}
		for _, l := range letters {
			if !visit(l) {
				return nil
			}
			after = l.Sequence
		}
		if !more || len(letters) == 0 {
			return nil
		}
	}
}

// ListDeadLetterGroups counts the dead letters by stage and code.
func (s *DeadLetters) ListDeadLetterGroups(ctx context.Context,
	_ *inkstreamv1.ListDeadLetterGroupsRequest) (*inkstreamv1.ListDeadLetterGroupsResponse, error) {
	resp := &inkstreamv1.ListDeadLetterGroupsResponse{}
	groups, counted := map[letterFilter]*inkstreamv1.DeadLetterGroup{}, 0
	err := s.scanDeadLetters(ctx, 0, func(l bus.DeadLetter) bool {
		if counted++; counted > maxCountedLetters {
			resp.Truncated = true
			return false
		}
		key := letterFilter{stage: string(l.Stage), code: l.Code}
		g := groups[key]
		if g == nil {
			g = &inkstreamv1.DeadLetterGroup{Stage: key.stage, Code: key.code, Oldest: jobview.TimeToProto(l.Time)}
			groups[key] = g
			resp.Groups = append(resp.Groups, g)
		}
		g.Count++
		g.Newest, g.Error = jobview.TimeToProto(l.Time), l.Error
		return true
	})
	slices.SortFunc(resp.Groups, func(a, b *inkstreamv1.DeadLetterGroup) int {
		return cmp.Or(cmp.Compare(b.GetCount(), a.GetCount()), cmp.Compare(a.GetStage(), b.GetStage()),
			cmp.Compare(a.GetCode(), b.GetCode()))
	})
	return resp, err
}

// RetryDeadLetters has the work done of many dead letters.
func (s *DeadLetters) RetryDeadLetters(ctx context.Context,
	req *inkstreamv1.BatchDeadLettersRequest) (*inkstreamv1.BatchDeadLettersResponse, error) {
	return s.forEachDeadLetter(ctx, req, func(ctx context.Context, id string) error {
		_, err := s.RetryDeadLetter(ctx, &inkstreamv1.RetryDeadLetterRequest{Id: id})
		return err
	})
}

// DropDeadLetters removes many dead letters.
func (s *DeadLetters) DropDeadLetters(ctx context.Context,
	req *inkstreamv1.BatchDeadLettersRequest) (*inkstreamv1.BatchDeadLettersResponse, error) {
	return s.forEachDeadLetter(ctx, req, func(ctx context.Context, id string) error {
		_, err := s.DropDeadLetter(ctx, &inkstreamv1.DropDeadLetterRequest{Id: id})
		return err
	})
}

// forEachDeadLetter does something to every dead letter that the request selects. One that is gone, or whose job is in
// no state for it, is skipped; any other error ends the call, and what was done stays done.
func (s *DeadLetters) forEachDeadLetter(ctx context.Context, req *inkstreamv1.BatchDeadLettersRequest,
	do func(context.Context, string) error) (*inkstreamv1.BatchDeadLettersResponse, error) {
	resp := &inkstreamv1.BatchDeadLettersResponse{}
	filter := letterFilter{stage: req.GetStage(), code: req.GetCode(), job: req.GetJob()}
	ids := req.GetIds()
	switch {
	case len(ids) > 0 && filter != letterFilter{}:
		return nil, apierror.InvalidField(fault.InvalidArgument, "ids", "both ids and conditions; want one of them")
	case len(ids) == 0 && filter == letterFilter{}:
		return nil, fault.New(fault.InvalidArgument, "there is no condition; say which dead letters, or it would be all of them")
	case len(ids) == 0:
		err := s.scanDeadLetters(ctx, 0, func(l bus.DeadLetter) bool {
			if resp.More = len(ids) >= maxBatchLetters; resp.GetMore() {
				return false
			}
			if filter.matches(l) {
				ids = append(ids, jobview.EncodeToken(l.Sequence))
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		var err error
		if req.GetDryRun() {
			_, err = s.loadDeadLetter(ctx, id)
		} else {
			err = do(ctx, id)
		}
		switch {
		case err == nil:
			resp.Done++
		case jobview.IsStateConflict(err), fault.CodeOf(err) == apierror.DeadLetterNotFound:
			resp.Skipped++
		default:
			return nil, err
		}
	}
	return resp, nil
}

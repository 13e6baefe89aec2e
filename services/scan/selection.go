package scan

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/stage"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
)

// notSelected is why a page was skipped that the job's selection leaves out.
const notSelected = "not_selected"

// leaveOutBatch is how many results of pages that are left out are stored at once.
const leaveOutBatch = 256

// leaveOut gives the pages that the job's selection leaves out their outcome and their result, so that no stage after this one has anything to do
// with them. The results are stored first: a page that has an outcome has a result.
func (st *steps) leaveOut(ctx context.Context, r *job.Record, p *job.Progress) error {
	selected, err := job.ParsePages(r.Options.Pages)
	if err != nil {
		return fault.New(fault.InvalidPages, "the selection of pages is not valid: %v", err)
	}
	if len(selected) == 0 {
		return nil
	}
	var outcomes []job.Outcome
	var objects []blob.Object
	store := func() error {
		stage.Alive(ctx)
		if err := st.env.Blobs.PutAll(ctx, objects); err != nil {
			return fmt.Errorf("store pages that are left out: %w", err)
		}
		objects = objects[:0]
		return nil
	}
	for n := 1; n <= r.PageCount; n++ {
		if selected.Contains(n) {
			continue
		}
		data, err := document.Store(&inkstreamv1.Page{Number: int32(n), Outcome: job.OutcomeSkipped, Reason: notSelected})
		if err != nil {
			return err
		}
		outcomes = append(outcomes, job.Outcome{Page: n, Kind: job.OutcomeSkipped})
		objects = append(objects, blob.Object{Key: job.PageKey(r.Tenant, r.ID, r.Run, n), Data: data})
		if len(objects) == leaveOutBatch {
			if err := store(); err != nil {
				return err
			}
		}
	}
	if err := store(); err != nil {
		return err
	}
	if _, err := p.Set(outcomes); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	return nil
}

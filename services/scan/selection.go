package scan

import (
	"context"
	"fmt"

	"inkstream.dev/pkg/blob"
	"inkstream.dev/pkg/document"
	"inkstream.dev/pkg/fault"
	"inkstream.dev/pkg/job"
	"inkstream.dev/pkg/outcome"
	"inkstream.dev/pkg/stage"
)

// skipBatchSize is how many results of pages that are left out are stored at once.
const skipBatchSize = 256

// skipUnselectedPages gives the pages that the job's selection leaves out their outcome and their result, so that no
// stage after this one has anything to do with them. The results are stored first: a page that has an outcome has a
// result.
func (st *steps) skipUnselectedPages(ctx context.Context, r *job.Record, p *job.Progress) error {
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
		stage.Heartbeat(ctx)
		if err := st.deps.Blobs.PutAll(ctx, objects); err != nil {
			return fmt.Errorf("store pages that are left out: %w", err)
		}
		objects = objects[:0]
		return nil
	}
	for n := 1; n <= r.PageCount; n++ {
		if selected.ContainsPage(n) {
			continue
		}
		data, err := document.EncodeObservedPage(outcome.NewSkippedPage(n, outcome.NotSelected))
		if err != nil {
			return err
		}
		outcomes = append(outcomes, job.Outcome{Page: n, Kind: outcome.Skipped})
		objects = append(objects, blob.Object{Key: job.PageKey(r.Tenant, r.ID, r.Run, n), Data: data})
		if len(objects) == skipBatchSize {
			if err := store(); err != nil {
				return err
			}
		}
	}
	if err := store(); err != nil {
		return err
	}
	if _, err := p.SetOutcomes(outcomes); err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	return nil
}

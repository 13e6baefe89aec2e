package bus

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Backlog is how full a stage's queue is.
type Backlog struct {
	// Tasks counts the tasks that wait or are in hand.
	Tasks int64
	// HighWater is the number from which on the stage ahead takes up nothing more of the batch lane; of the interactive
	// lane at twice that.
	HighWater int64
	// Limit is the number from which on the stream refuses more.
	Limit int64
	// Time is when that was so, by this process's clock.
	Time time.Time
}

// QueryBacklog asks the broker how full a stage's queue is.
func (b *queueMonitor) QueryBacklog(ctx context.Context, s Stage) (Backlog, error) {
	stream, err := b.js.Stream(ctx, s.StreamName())
	if err != nil {
		return Backlog{}, fmt.Errorf("backlog of %s: %w", s, err)
	}
	info := stream.CachedInfo() // as fresh as the answer to the call above
	log := Backlog{Tasks: int64(info.State.Msgs), HighWater: info.Config.MaxMsgs, Limit: info.Config.MaxMsgs,
		Time: time.Now()}
	if mark, err := strconv.ParseInt(info.Config.Metadata[highWaterKey], 10, 64); err == nil {
		log.HighWater = mark
	}
	return log, nil
}

// IsFull reports whether nothing more of the lane should be added.
func (b Backlog) IsFull(l Lane) bool {
	mark := b.HighWater
	if l == Interactive {
		mark *= 2 // a client that waits for an answer does not wait for a batch to finish
	}
	return mark > 0 && b.Tasks >= mark
}

// JobRef names a job.
type JobRef struct {
	Tenant, Job string
}

// QueuedJobs returns the jobs for which a task waits or is in flight at any stage. It queries the stages in the order
// in which a job passes them, so that a job that moves on between two queries is not missed; only a chunk that goes
// back from index to render can be, and then the job's progress has just been written. It takes two exchanges a
// stage, however many tasks there are.
func (b *queueMonitor) QueuedJobs(ctx context.Context) (map[JobRef]struct{}, error) {
	jobs := make(map[JobRef]struct{})
	for _, s := range AllStages() {
		stream, err := b.js.Stream(ctx, s.StreamName())
		if err != nil {
			return nil, fmt.Errorf("queued tasks of %s: %w", s, err)
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter("ink."+string(s)+".>"))
		if err != nil {
			return nil, fmt.Errorf("queued tasks of %s: %w", s, err)
		}
		for subject := range info.State.Subjects {
			if tenant, id := parseTaskSubject(subject); id != "" {
				jobs[JobRef{tenant, id}] = struct{}{}
			}
		}
	}
	return jobs, nil
}

package bus

import (
	"context"
	"sync"
)

// permittedTask is a task that has a slot.
type permittedTask struct {
	*Delivery
	permit permit
}

// workerPool runs a consumer's handlers in goroutines that serve many tasks each: the stack of a new one would have to
// grow with each task.
type workerPool struct {
	consumer *Consumer
	tasks    chan permittedTask // closed when no more come
	size     int                // how many slots there are
	started  int                // how many goroutines there are
}

// handleTask hands a task to a goroutine that is free, or to a new one, which wg waits for.
func (p *workerPool) handleTask(ctx context.Context, t permittedTask, wg *sync.WaitGroup) {
	if p.started < p.size {
		select {
		case p.tasks <- t:
		default:
			p.started++
			wg.Go(func() { p.serveTasks(ctx, t) })
		}
		return
	}
	p.tasks <- t // the task has a slot, so one of them is free, or gives up its slot just now
}

// serveTasks handles a task, and then those that come.
func (p *workerPool) serveTasks(ctx context.Context, t permittedTask) {
	for ok := true; ok; t, ok = <-p.tasks {
		p.consumer.handleDelivery(ctx, t.Delivery)
		p.consumer.handled.Add(-1)
		p.consumer.endedPermits <- t.permit
	}
}

package bus

import (
	"context"
	"time"
)

const (
	// defaultFairnessWait is the default of ConsumerConfig.FairnessWait. A page takes seconds; a job whose tasks take
	// longer must not block others.
	defaultFairnessWait = 15 * time.Second
	// deferDelay is how long a task is put aside at first, and maxDeferDelay at last.
	deferDelay, maxDeferDelay = 2 * time.Second, 15 * time.Second
)

// permit is what a task in hand takes up: a slot, on account of its job.
type permit struct {
	slot slot
	job  string
}

// jobInFlight is what a job has in hand.
type jobInFlight struct {
	tasks int
	// overtakeAtOnce says that a task of the job has waited for long: those that come after it let others pass at once.
	overtakeAtOnce bool
}

// deferredDelivery is an interactive task that is not taken up, because its job has others in flight and only urgent
// slots are free. Those are for other jobs: a document all of whose pages hang would otherwise block every other job.
// It gets the first shared slot that comes free.
type deferredDelivery struct {
	delivery *Delivery
	// overtakeTime is how long it keeps what comes behind it waiting, so that a job whose tasks take seconds has them
	// done in their order.
	overtakeTime time.Time
}

func (d *Delivery) jobKey() string { return d.Tenant + "/" + d.Job }

// acquirePermit takes a slot for a task. An interactive one leaves the urgent slots to those that come when all
// others are taken.
func (c *Consumer) acquirePermit(d *Delivery) permit {
	at := permit{shared, d.jobKey()}
	if c.freeSlots[shared] == 0 && d.Lane == Interactive {
		at.slot = urgent
	}
	c.freeSlots[at.slot]--
	if c.inFlight[at.job] == nil {
		c.inFlight[at.job] = &jobInFlight{}
	}
	c.inFlight[at.job].tasks++
	for _, r := range c.downstream {
		r.recordTask()
	}
	return at
}

// releasePermit takes back the slot of a task that has ended.
func (c *Consumer) releasePermit(at permit) {
	c.freeSlots[at.slot]++
	if h := c.inFlight[at.job]; h.tasks > 1 {
		h.tasks--
	} else {
		delete(c.inFlight, at.job)
	}
}

// slotAvailable reports whether there is a slot for a task: for that of an interactive job which has others in hand
// no urgent one.
func (c *Consumer) slotAvailable(d *Delivery) bool {
	return c.freeSlots[shared] > 0 || d.Lane == Interactive && c.freeSlots[urgent] > 0 && c.inFlight[d.jobKey()] == nil
}

// interactiveOpen reports whether a task of the interactive lane could be taken up: that which is held, or one that
// passes it.
func (c *Consumer) interactiveOpen() bool {
	return c.freeSlots[shared] > 0 || c.freeSlots[urgent] > 0 &&
		(c.deferred == nil || c.slotAvailable(c.deferred.delivery) || c.overtakeAllowed())
}

// overtakeAllowed reports whether others pass the held task.
func (c *Consumer) overtakeAllowed() bool { return !time.Now().Before(c.deferred.overtakeTime) }

// nextDeferred returns the held task if there is a slot for it.
func (c *Consumer) nextDeferred() *Delivery {
	if c.deferred == nil || !c.slotAvailable(c.deferred.delivery) {
		return nil
	}
	d := c.deferred.delivery
	if h := c.inFlight[d.jobKey()]; h != nil {
		h.overtakeAtOnce = c.overtakeAllowed()
	}
	c.deferred = nil
	return d
}

// deferIfNoSlot reports whether there is no slot for a task that was pulled. It is held then, or put aside where one
// is.
func (c *Consumer) deferIfNoSlot(ctx context.Context, d *Delivery) bool {
	switch {
	case c.slotAvailable(d):
		return false
	case c.deferred == nil:
		c.deferred = &deferredDelivery{delivery: d, overtakeTime: time.Now()}
		if !c.inFlight[d.jobKey()].overtakeAtOnce {
			c.deferred.overtakeTime = c.deferred.overtakeTime.Add(c.cfg.FairnessWait)
		}
	default:
		c.deferDelivery(ctx, d)
	}
	return true
}

// deferDelivery hands a task back for some seconds, more of them each time.
func (c *Consumer) deferDelivery(ctx context.Context, d *Delivery) {
	defer d.stopHeartbeat()
	d.drainDone = ctx.Done()
	delay := min(deferDelay*time.Duration(min(d.Delivered, 100)), maxDeferDelay)
	if err := c.returnTask(ctx, d, addJitter(delay)); err != nil { // it comes back after AckWait then
		c.bus.log.WarnContext(ctx, "put task aside", "stage", c.stage, "job", d.Job, "error", err)
	}
}

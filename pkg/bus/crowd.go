package bus

import (
	"context"
	"time"
)

// crowd is the default of ConsumerConfig.Crowd. A page takes seconds; where no task of a stage ends in so long, something is wrong with a document.
const crowd = 15 * time.Second

// place is what a task in hand takes up: a slot, on account of its job.
type place struct {
	slot slot
	job  string
}

// hand is what a job has in hand.
type hand struct {
	tasks int
	// crowding says that a task of the job has waited in vain: those that come after it need not.
	crowding bool
}

// held is an interactive task that is not taken up, because its job has others in hand and only urgent slots are free. Those are for other jobs: a
// document all of whose pages hang would otherwise keep everybody out.
type held struct {
	d     *Delivery
	until time.Time
}

func (d *Delivery) owner() string { return d.Tenant + "/" + d.Job }

// take takes a slot for a task. An interactive one leaves the urgent slots to those that come when all others are taken.
func (c *Consumer) take(d *Delivery) place {
	at := place{shared, d.owner()}
	if c.free[shared] == 0 && d.Lane == Interactive {
		at.slot = urgent
	}
	c.free[at.slot]--
	if c.hands[at.job] == nil {
		c.hands[at.job] = &hand{}
	}
	c.hands[at.job].tasks++
	for _, r := range c.rooms {
		r.took()
	}
	return at
}

// freed takes back the slot of a task that has ended.
func (c *Consumer) freed(at place) {
	c.free[at.slot]++
	if h := c.hands[at.job]; h.tasks > 1 {
		h.tasks--
	} else {
		delete(c.hands, at.job)
	}
}

// holds reports whether a task is not to be taken up now. It is then held, or has gone to the batch lane.
func (c *Consumer) holds(ctx context.Context, d *Delivery) bool {
	h := c.hands[d.owner()]
	if d.Lane != Interactive || c.free[shared] > 0 || h == nil {
		return false
	}
	if h.crowding {
		c.demote(ctx, d)
	} else {
		c.held = &held{d, time.Now().Add(c.cfg.Crowd)}
	}
	return true
}

// unheld returns the held task if there is room for it now. It sends one that has waited long enough to the batch lane.
func (c *Consumer) unheld(ctx context.Context) *Delivery {
	if c.held == nil {
		return nil
	}
	d, h := c.held.d, c.hands[c.held.d.owner()]
	switch {
	case c.free[shared] > 0 || h == nil && c.free[urgent] > 0:
		c.held = nil
		return d
	case h != nil && !time.Now().Before(c.held.until):
		h.crowding, c.held = true, nil
		c.demote(ctx, d)
	}
	return nil
}

// demote moves a task to the batch lane. The copy has an id of its own, the same at every try; a crash between the copy and the ack leaves both, and
// the handler finds what is done.
func (c *Consumer) demote(ctx context.Context, d *Delivery) {
	defer d.stop()
	d.over = ctx.Done()
	log := c.bus.log.With("stage", c.stage, "job", d.Job, "task", d.ID)
	meta, err := d.msg.Metadata()
	if err == nil {
		try, cancel := context.WithTimeout(ctx, settleTimeout)
		defer cancel()
		err = c.bus.copyTask(try, d.msg, taskSubject(c.stage, Batch, d.Tenant, d.Job), laneMark, meta)
	}
	if err != nil {
		log.WarnContext(ctx, "move task to the batch lane", "error", err)
		_ = d.nak(jitter(busyDelay)) // if it does not arrive, AckWait does the same later
		return
	}
	log.InfoContext(ctx, "task goes to the batch lane, because others of its job take long and keep all workers")
	if err := d.ack(ctx); err != nil {
		log.WarnContext(ctx, "settle task", "error", err)
	}
}

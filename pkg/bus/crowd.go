package bus

import (
	"context"
	"time"
)

const (
	// crowd is the default of ConsumerConfig.Crowd. A page takes seconds; a job whose tasks take longer shall not be in the way of others.
	crowd = 15 * time.Second
	// asideDelay is how long a task is put aside at first, and asideMost at last.
	asideDelay, asideMost = 2 * time.Second, 15 * time.Second
)

// place is what a task in hand takes up: a slot, on account of its job.
type place struct {
	slot slot
	job  string
}

// hand is what a job has in hand.
type hand struct {
	tasks int
	// crowding says that a task of the job has waited for long: those that come after it let others pass at once.
	crowding bool
}

// held is an interactive task that is not taken up, because its job has others in hand and only urgent slots are free. Those are for other jobs: a
// document all of whose pages hang would otherwise keep everybody out. It has the first shared slot that comes free.
type held struct {
	d *Delivery
	// until is how long it keeps what comes behind it waiting, so that a job whose tasks take seconds has them done in their order.
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

// fits reports whether there is a slot for a task: for that of an interactive job which has others in hand no urgent one.
func (c *Consumer) fits(d *Delivery) bool {
	return c.free[shared] > 0 || d.Lane == Interactive && c.free[urgent] > 0 && c.hands[d.owner()] == nil
}

// interactive reports whether a task of the interactive lane could be taken up: that which is held, or one that passes it.
func (c *Consumer) interactive() bool {
	return c.free[shared] > 0 || c.free[urgent] > 0 && (c.held == nil || c.fits(c.held.d) || c.passing())
}

// passing reports whether others pass the held task.
func (c *Consumer) passing() bool { return !time.Now().Before(c.held.until) }

// unheld returns the held task if there is a slot for it.
func (c *Consumer) unheld() *Delivery {
	if c.held == nil || !c.fits(c.held.d) {
		return nil
	}
	d := c.held.d
	if h := c.hands[d.owner()]; h != nil {
		h.crowding = c.passing()
	}
	c.held = nil
	return d
}

// holds reports whether there is no slot for a task that was pulled. It is held then, or put aside where one is.
func (c *Consumer) holds(ctx context.Context, d *Delivery) bool {
	switch {
	case c.fits(d):
		return false
	case c.held == nil:
		c.held = &held{d: d, until: time.Now()}
		if !c.hands[d.owner()].crowding {
			c.held.until = c.held.until.Add(c.cfg.Crowd)
		}
	default:
		c.aside(ctx, d)
	}
	return true
}

// aside hands a task back for some seconds, more of them each time.
func (c *Consumer) aside(ctx context.Context, d *Delivery) {
	defer d.stop()
	d.over = ctx.Done()
	delay := min(asideDelay*time.Duration(min(d.Delivered, 100)), asideMost)
	if err := c.putBack(ctx, d, jitter(delay)); err != nil { // it comes back after AckWait then
		c.bus.log.WarnContext(ctx, "put task aside", "stage", c.stage, "job", d.Job, "error", err)
	}
}

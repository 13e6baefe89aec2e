package bus

import (
	"context"
	"maps"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookInterval is the least time between two looks at who waits, and lookShare how many times as long as a look
	// takes it is at least. While no look sees a task to look for, the time doubles up to maxLookInterval: a stage whose
	// tasks take seconds would otherwise look a hundred times while one of them is worked on. lookTimeout bounds a look.
	lookInterval, maxLookInterval, lookShare = 25 * time.Millisecond, 200 * time.Millisecond, 20
	lookTimeout                              = 2 * time.Second
	// vainWait is how long a consumer that has passed a lane's tasks in vain leaves it at that at first, and maxVainWait
	// at last, unless more tasks come of tenants that use little.
	vainWait, maxVainWait = time.Second, 30 * time.Second
)

// lookout knows who waits in the stage's queue. A consumer that holds tasks for which there is no slot does not pull
// more of them, but while a task waits of a tenant that a reserved slot is for it does, until it has one.
//
// What it sees are the tasks that are queued, and it cannot tell from them which the broker would deliver: others may
// be in the hands of another consumer, or come back later. So it passes each task once, at most, and leaves those
// alone that it has not found so.
type lookout struct {
	lookedAt time.Time
	interval time.Duration
	lanes    map[Lane]*laneLookout
}

// mayReserve reports whether a reserved slot may be for a task, as far as the last look tells.
func (o *lookout) mayReserve(d *Delivery) bool {
	lightest := o.onLane(d.Lane).lightest
	return len(lightest) == 0 || lightest[d.Tenant]
}

// laneLookout is what a lookout knows of a lane.
type laneLookout struct {
	// waits says that a task may wait of a tenant that uses little.
	waits bool
	// lightest are the tenants that a reserved slot is for, of those that were seen to wait in the lane; see
	// fairshare.Account.Lightest. It is empty where none was seen.
	lightest map[string]bool
	// light counts the queued tasks of such tenants by subject, and vain how many of them were not found.
	light, vain map[string]uint64
	// queued counts the tasks of the lane that are not in the consumer's own hands, and left those that are still to be
	// passed; 0 when none are being passed.
	queued, left int
	// passBegan is when the pass that goes on, or the last one, began, passed how many tasks it has passed, and passTime
	// how long each took.
	passBegan time.Time
	passed    int
	passTime  time.Duration
	// vainUntil is until when vain counts, and vainWait how long that was.
	vainUntil time.Time
	vainWait  time.Duration
}

// onLane returns what is known of a lane.
func (o *lookout) onLane(l Lane) *laneLookout {
	if o.lanes == nil {
		o.lanes = map[Lane]*laneLookout{Interactive: {}, Batch: {}}
	}
	return o.lanes[l]
}

// remainingPass returns how long it may take to pass the tasks of a lane that are still to be passed: twice what it
// took so far, or the last time.
func (o *lookout) remainingPass(l Lane, now time.Time) time.Duration {
	of := o.onLane(l)
	if of.left > 0 && of.passed > 0 {
		of.passTime = now.Sub(of.passBegan) / time.Duration(of.passed)
	}
	return min(time.Duration(of.left)*max(2*of.passTime, minPassTime), maxPassTime)
}

// recordPassed notes that a task of a lane was passed. When it was the last one, none was found.
func (o *lookout) recordPassed(l Lane) {
	if of := o.onLane(l); of.left > 0 {
		of.passed++
		if of.left--; of.left == 0 {
			of.giveUpPass(time.Now())
		}
	}
}

// recordEmpty notes that a lane has no task to deliver.
func (o *lookout) recordEmpty(l Lane) {
	if of := o.onLane(l); of.left > 0 {
		of.giveUpPass(time.Now())
	}
}

// endPass notes that a task was taken up.
func (o *lookout) endPass(d *Delivery, isLight bool) {
	if of := o.onLane(d.Lane); isLight {
		of.left, of.vain, of.vainWait = 0, nil, 0
	}
}

// giveUpPass notes that the tasks which were seen are not there to be had.
func (o *laneLookout) giveUpPass(now time.Time) {
	o.waits, o.left, o.vain = false, 0, maps.Clone(o.light)
	o.vainWait = min(max(2*o.vainWait, vainWait), maxVainWait)
	o.vainUntil = now.Add(o.vainWait)
}

// forgetVain has tasks that were not found count again, when they have been left alone for long enough.
func (o *laneLookout) forgetVain(now time.Time) {
	if !now.Before(o.vainUntil) {
		o.vain = nil
	}
}

// update takes in what a look has seen, and says whether there may be a task to look for.
func (o *laneLookout) update(light map[string]uint64, queued int, now time.Time) {
	o.light, o.queued, o.waits = light, queued, false
	o.forgetVain(now)
	for subject, n := range o.vain {
		o.vain[subject] = min(n, light[subject]) // what comes after some have gone is new
	}
	for subject, n := range light {
		o.waits = o.waits || n > o.vain[subject]
	}
	if o.waits && o.left == 0 {
		o.left, o.passBegan, o.passed = queued, now, 0
	} else if !o.waits {
		o.left = 0
	}
}

// intervalAfterLook returns the time until the next look, by what this one and those before it have seen.
func (o *lookout) intervalAfterLook() time.Duration {
	for _, of := range o.lanes {
		if of.waits {
			return lookInterval
		}
	}
	return min(max(2*o.interval, lookInterval), maxLookInterval)
}

// lookoutSees reports whether a task of the lane may wait that a reserved slot is for.
func (c *Consumer) lookoutSees(ctx context.Context, l *lane) bool {
	if now := time.Now(); now.Sub(c.lookout.lookedAt) >= c.lookout.interval {
		c.lookAtQueue(ctx)
		c.lookout.lookedAt = time.Now()
		c.lookout.interval = max(c.lookout.intervalAfterLook(), lookShare*c.lookout.lookedAt.Sub(now))
	}
	return c.lookout.onLane(l.name).waits
}

// lookAtQueue asks the broker whose tasks are queued. Where it does not answer, no tenant is seen to wait until the
// next look.
func (c *Consumer) lookAtQueue(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	subjects, err := c.queuedSubjects(ctx)
	if err != nil {
		subjects = nil
	}
	for subject, n := range c.subjectsInHand() {
		if subjects[subject] <= n {
			delete(subjects, subject)
		} else {
			subjects[subject] -= n
		}
	}
	byLane := map[Lane]map[string]uint64{Interactive: {}, Batch: {}}
	for subject, n := range subjects {
		byLane[laneOfSubject(subject)][subject] = n
	}
	now := time.Now()
	for _, l := range c.lanes {
		of := c.lookout.onLane(l.name)
		of.forgetVain(now)
		of.lightest = c.lightestOf(byLane[l.name], of.vain, c.deferred[l.name])
		light, queued := make(map[string]uint64), 0
		for subject, n := range byLane[l.name] {
			if tenant, _ := parseTaskSubject(subject); of.lightest[tenant] || of.vain[subject] > 0 {
				light[subject] = n
			}
			queued += int(n)
		}
		if of.update(light, queued, now); of.waits && c.othersIdle(ctx, l) {
			of.waits, of.left = false, 0
		}
	}
}

// lightestOf returns the tenants that a reserved slot is for: of those of the subjects, but for tasks that were looked
// for in vain, which may be ones that take long, and of the tasks that are held.
func (s *taskSlots) lightestOf(subjects, vain map[string]uint64, held []*deferredDelivery) map[string]bool {
	waiting := make(map[string]bool)
	for subject, n := range subjects {
		if n > vain[subject] {
			tenant, _ := parseTaskSubject(subject)
			waiting[tenant] = true
		}
	}
	for _, h := range held {
		if !h.delivery.Slow {
			waiting[h.delivery.Tenant] = true
		}
	}
	lightest := s.tenants.Lightest(maps.Keys(waiting))
	maps.DeleteFunc(lightest, func(tenant string, _ bool) bool { return s.provenOnly() && !s.tenants.IsProven(tenant) })
	return lightest
}

// queuedSubjects returns how many tasks of the stage there are of each subject.
func (c *Consumer) queuedSubjects(ctx context.Context) (map[string]uint64, error) {
	if c.stream == nil {
		stream, err := c.bus.js.Stream(ctx, c.stage.StreamName())
		if err != nil {
			return nil, err
		}
		c.stream = stream
	}
	info, err := c.stream.Info(ctx, jetstream.WithSubjectFilter("ink."+string(c.stage)+".>"))
	if err != nil {
		return nil, err
	}
	return info.State.Subjects, nil
}

// subjectsInHand counts the tasks that are in the consumer's own hands, or held by it.
func (s *taskSlots) subjectsInHand() map[string]uint64 {
	own := make(map[string]uint64)
	for subject, n := range s.inHand {
		own[subject] += uint64(n)
	}
	for _, held := range s.deferred {
		for _, h := range held {
			own[h.delivery.subject()]++
		}
	}
	return own
}

// othersIdle reports whether other consumers wait for tasks of the lane: then none waits for a consumer.
func (c *Consumer) othersIdle(ctx context.Context, l *lane) bool {
	info, err := l.cons.Info(ctx)
	own := 0
	if l.pull != nil {
		own = 1
	}
	return err == nil && info.NumWaiting > own
}

package bus

import (
	"context"
	"slices"
	"time"

	"inkstream.dev/pkg/fairshare"
)

const (
	// defaultFairnessWait is the default of ConsumerConfig.FairnessWait. A page takes seconds; a job whose tasks take
	// longer must not block others.
	defaultFairnessWait = 15 * time.Second
	// deferDelay is how long a task is put aside at first, and maxDeferDelay at last.
	deferDelay, maxDeferDelay = 500 * time.Millisecond, 4 * time.Second
	// slowDeferDelay and maxSlowDeferDelay are the same for a task that takes long.
	slowDeferDelay, maxSlowDeferDelay = 2 * time.Second, 15 * time.Second
	// minPassTime is how long it may take to put one task aside, at least. What is put aside stays so until all that is
	// to be passed has been, for maxPassTime at most, or the consumer would get the same tasks again before it is through.
	minPassTime, maxPassTime = 4 * time.Millisecond, 30 * time.Second
)

// permit is what a task in hand takes up: a slot, on account of its job and its tenant.
type permit struct {
	slot    slot
	job     string
	subject string
	slow    bool
	// endUse ends what the tenant uses.
	endUse func()
}

// jobInFlight is what a job has in hand.
type jobInFlight struct {
	tasks int
	// overtakeAtOnce says that a task of the job has waited for long: those that come after it let others pass at once.
	overtakeAtOnce bool
}

// deferredDelivery is a task that was pulled and is not taken up, because the only slots that are free are not for it:
// its job has others in flight, or its tenant, or it takes long. Those slots are for others: a document all of whose
// pages hang would otherwise block every other job. It gets the first slot that comes free and is for it.
type deferredDelivery struct {
	delivery *Delivery
	// overtakeTime is how long it keeps what comes behind it from the urgent slots, so that a job whose tasks take
	// seconds has them done in their order.
	overtakeTime time.Time
}

func (d *Delivery) jobKey() string { return d.Tenant + "/" + d.Job }

func (d *Delivery) subject() string { return d.msg.Subject() }

// taskSlots says which task gets which of a consumer's slots, and holds those that have to wait for one. It does no
// input or output.
type taskSlots struct {
	cfg        ConsumerConfig
	freeSlots  [3]int                       // of each kind
	inFlight   map[string]*jobInFlight      // by job, those that have tasks in hand
	slowTasks  int                          // in hand
	inHand     map[string]int               // tasks in hand by subject
	deferred   map[Lane][]*deferredDelivery // by lane, in the order in which they came
	tenants    fairshare.Account
	lookout    lookout
	downstream []*downstreamCapacity // of the stages behind
}

func newTaskSlots(cfg ConsumerConfig) taskSlots {
	return taskSlots{
		cfg:       cfg,
		freeSlots: [3]int{shared: cfg.Workers, urgent: cfg.UrgentWorkers, reserved: cfg.ReservedWorkers},
		inFlight:  make(map[string]*jobInFlight), deferred: make(map[Lane][]*deferredDelivery),
		inHand: make(map[string]int),
	}
}

// maxHeld is how many tasks of a lane are held at most: so many that the slots have work while others are put aside.
func (s *taskSlots) maxHeld() int { return s.cfg.Workers + 2 }

// maxSlowTasks is how many tasks that take long are in hand at most: never all that there are slots for, where there
// are several.
func (s *taskSlots) maxSlowTasks() int { return max(s.cfg.Workers/2, 1) }

// acquirePermit takes a slot for a task, for which there is one.
func (s *taskSlots) acquirePermit(d *Delivery) permit {
	at := permit{job: d.jobKey(), subject: d.subject(), slow: d.Slow}
	at.slot, _ = s.slotFor(d)
	at.endUse = s.tenants.Begin(d.Tenant)
	s.freeSlots[at.slot]--
	if s.inFlight[at.job] == nil {
		s.inFlight[at.job] = &jobInFlight{}
	}
	s.inFlight[at.job].tasks++
	s.inHand[at.subject]++
	if at.slow {
		s.slowTasks++
	}
	for _, r := range s.downstream {
		r.recordTask()
	}
	return at
}

// releasePermit takes back the slot of a task that has ended.
func (s *taskSlots) releasePermit(at permit) {
	at.endUse()
	s.freeSlots[at.slot]++
	if h := s.inFlight[at.job]; h.tasks > 1 {
		h.tasks--
	} else {
		delete(s.inFlight, at.job)
	}
	if s.inHand[at.subject]--; s.inHand[at.subject] == 0 {
		delete(s.inHand, at.subject)
	}
	if at.slow {
		s.slowTasks--
	}
}

// slotFor returns the slot that a task may take now. An interactive one leaves the urgent slots to those that come
// when all others are taken, and whose job has none in hand; any leaves the reserved ones to those of tenants that use
// little. A task that takes long has neither.
func (s *taskSlots) slotFor(d *Delivery) (slot, bool) {
	switch {
	case d.Slow:
		return shared, s.freeSlots[shared] > 0 && s.slowTasks < s.maxSlowTasks()
	case s.freeSlots[shared] > 0:
		return shared, true
	case d.Lane == Interactive && s.freeSlots[urgent] > 0 && s.inFlight[d.jobKey()] == nil:
		return urgent, true
	default:
		return reserved, s.freeSlots[reserved] > 0 && s.lookout.mayReserve(d) && s.tenants.IsLight(d.Tenant) &&
			(!s.provenOnly() || s.tenants.IsProven(d.Tenant))
	}
}

// provenOnly reports whether the reserved slot that is free is the last of several, which is for tenants that are
// known to take a short time: a tenant of whom nothing is known may take long.
func (s *taskSlots) provenOnly() bool { return s.cfg.ReservedWorkers > 1 && s.freeSlots[reserved] == 1 }

func (s *taskSlots) slotAvailable(d *Delivery) bool {
	_, ok := s.slotFor(d)
	return ok
}

// laneOpen reports whether a task of the lane could be taken up: one that is held, or one that passes it.
func (c *Consumer) laneOpen(ctx context.Context, of *lane) bool {
	l := of.name
	held := c.deferred[l]
	if c.freeSlots[shared] > 0 ||
		slices.ContainsFunc(held, func(h *deferredDelivery) bool { return c.slotAvailable(h.delivery) }) {
		return true
	}
	if l == Interactive && c.freeSlots[urgent] > 0 && (len(held) == 0 || c.overtakeAllowed(l)) {
		return true
	}
	// A task that a pull has brought is looked at in any case: no other consumer can have it.
	return c.freeSlots[reserved] > 0 && (len(held) == 0 || len(of.pull) > 0 || c.lookoutSees(ctx, of))
}

// overtakeAllowed reports whether others pass the first held task of a lane on their way to an urgent slot.
func (s *taskSlots) overtakeAllowed(l Lane) bool {
	return !time.Now().Before(s.deferred[l][0].overtakeTime)
}

// nextDeferred returns the first held task of a lane for which there is a slot.
func (s *taskSlots) nextDeferred(l Lane) *Delivery {
	held := s.deferred[l]
	i := slices.IndexFunc(held, func(h *deferredDelivery) bool { return s.slotAvailable(h.delivery) })
	if i < 0 {
		return nil
	}
	d := held[i].delivery
	if h := s.inFlight[d.jobKey()]; h != nil {
		h.overtakeAtOnce = !time.Now().Before(held[i].overtakeTime)
	}
	s.deferred[l] = slices.Delete(held, i, i+1)
	return d
}

// deferIfNoSlot reports whether there is no slot for a task that was pulled. It is held then, or put aside where enough
// are.
func (c *Consumer) deferIfNoSlot(ctx context.Context, d *Delivery) bool {
	switch {
	case c.slotAvailable(d):
		c.lookout.endPass(d, c.tenants.IsLight(d.Tenant))
		return false
	case len(c.deferred[d.Lane]) < c.maxHeld():
		h := &deferredDelivery{delivery: d, overtakeTime: time.Now()}
		if busy := c.inFlight[d.jobKey()]; busy == nil || !busy.overtakeAtOnce {
			h.overtakeTime = h.overtakeTime.Add(c.cfg.FairnessWait)
		}
		c.deferred[d.Lane] = append(c.deferred[d.Lane], h)
	default:
		c.deferDelivery(ctx, d)
	}
	c.lookout.recordPassed(d.Lane)
	return true
}

// deferDelivery hands a task back for some time, longer each time.
func (c *Consumer) deferDelivery(ctx context.Context, d *Delivery) {
	defer d.stopHeartbeat()
	d.drainDone = ctx.Done()
	first, last := deferDelay, maxDeferDelay
	if d.Slow {
		first, last = slowDeferDelay, maxSlowDeferDelay
	}
	delay := addJitter(min(first*time.Duration(min(d.Delivered, 100)), last))
	if pass := c.lookout.remainingPass(d.Lane, time.Now()); pass > delay {
		delay = pass + addJitter(pass/4)
	}
	if err := c.returnTask(ctx, d, delay); err != nil { // it comes back after AckWait then
		c.bus.log.WarnContext(ctx, "put task aside", "stage", c.stage, "job", d.Job, "error", err)
	}
}

// untilNextLook returns how long to wait until held tasks are passed by others, or until the next look at who waits.
func (s *taskSlots) untilNextLook() (wait time.Duration, ok bool) {
	for _, held := range s.deferred {
		if len(held) == 0 {
			continue
		}
		if left := time.Until(held[0].overtakeTime); left > 0 && (!ok || left < wait) {
			wait, ok = left, true
		}
		if s.freeSlots[reserved] > 0 {
			if left := max(time.Until(s.lookout.lookedAt.Add(s.lookout.interval)), lookInterval); !ok || left < wait {
				wait, ok = left, true
			}
		}
	}
	return wait, ok
}

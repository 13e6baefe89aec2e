package bus

import (
	"testing"
	"time"
)

// A consumer passes each queued task once, at most, to find one of a tenant that uses little, and leaves it at that
// for some time, longer each time, unless more such tasks come.
func TestTasksArePassedOnce(t *testing.T) {
	t.Parallel()
	const tasks = 50
	var o lookout
	of := o.onLane(Batch)
	now := time.Now()
	passed := 0
	sweep := func(light map[string]uint64) {
		t.Helper()
		of.update(light, tasks, now)
		for ; of.waits && passed < 100*tasks; passed++ {
			o.recordPassed(Batch)
			of.update(light, tasks, now) // a look in between, which starts nothing again
		}
	}
	phantom := map[string]uint64{"ink.ocr.batch.light.j1": 3}
	if sweep(phantom); passed != tasks {
		t.Fatalf("%d tasks were passed for one that is not there, want %d", passed, tasks)
	}
	now = now.Add(vainWait / 2)
	if sweep(phantom); passed != tasks {
		t.Errorf("tasks are passed again after %v, though nothing has changed", vainWait/2)
	}
	// In an hour of that they are passed every half minute, not all the time.
	for range 3600 {
		now = now.Add(time.Second)
		sweep(phantom)
	}
	if times := passed / tasks; times < 60 || times > 130 {
		t.Errorf("the queue was passed %d times in an hour, want about 120", times)
	}
	// One more task of such a tenant is looked for at once, be it of the same job or of another.
	for _, light := range []map[string]uint64{
		{"ink.ocr.batch.light.j1": 4}, {"ink.ocr.batch.light.j1": 3, "ink.ocr.batch.light.j2": 1},
	} {
		of.vain, of.vainUntil, of.left = map[string]uint64{"ink.ocr.batch.light.j1": 3}, now.Add(time.Hour), 0
		if of.update(light, tasks, now); !of.waits || of.left != tasks {
			t.Errorf("waits=%v, %d tasks to pass, want true and %d", of.waits, of.left, tasks)
		}
	}
	// Also after others of the job have gone.
	of.vain, of.vainUntil, of.left = map[string]uint64{"ink.ocr.batch.light.j1": 3}, now.Add(time.Hour), 0
	of.update(map[string]uint64{"ink.ocr.batch.light.j1": 1}, tasks, now)
	if of.update(map[string]uint64{"ink.ocr.batch.light.j1": 2}, tasks, now); !of.waits {
		t.Error("a task that came after others had gone is not looked for")
	}
	// One that is found ends it, and the next is looked for without delay.
	o.endPass(&Delivery{Lane: Batch}, true)
	if of.left != 0 || of.vainWait != 0 {
		t.Errorf("%d tasks to pass and a wait of %v after one was found, want none", of.left, of.vainWait)
	}
}

// What is put aside stays so until all tasks can have been passed, not only the jobs that they are of, at the pace at
// which this goes.
func TestPassLastsAsLongAsItTakes(t *testing.T) {
	t.Parallel()
	var o lookout
	began := time.Now()
	o.onLane(Batch).update(map[string]uint64{"ink.ocr.batch.light.j1": 1}, 2000, began)
	if got := o.remainingPass(Batch, began); got != 2000*minPassTime {
		t.Errorf("before the first of 2000 tasks is passed the pass may take %v, want %v", got, 2000*minPassTime)
	}
	for range 1000 {
		o.recordPassed(Batch)
	}
	for took, want := range map[time.Duration]time.Duration{
		time.Second: 1000 * minPassTime, 10 * time.Second: 20 * time.Second, time.Minute: maxPassTime,
	} {
		if got := o.remainingPass(Batch, began.Add(took)); got != want {
			t.Errorf("half of the pass took %v, the rest may take %v, want %v", took, got, want)
		}
	}
	o.recordEmpty(Batch)
	if got := o.remainingPass(Batch, began); got != 0 {
		t.Errorf("after the pass it may take %v, want none", got)
	}
}

// A consumer that holds what it has no slot for looks no more often than the floor allows, whenever the last look was.
func TestLooksHaveAFloor(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Minute)
	c := &taskSlots{
		freeSlots: [3]int{reserved: 1},
		deferred:  map[Lane][]*deferredDelivery{Batch: {{overtakeTime: past}}},
		lookout:   lookout{lookedAt: past},
	}
	if wait, ok := c.untilNextLook(); !ok || wait < lookInterval {
		t.Errorf("the next look is in %v (%t), want %v at least", wait, ok, lookInterval)
	}
	c.deferred[Batch][0].overtakeTime = time.Now().Add(time.Hour)
	if wait, ok := c.untilNextLook(); !ok || wait < lookInterval || wait > time.Second {
		t.Errorf("the next look is in %v (%t), want %v or little more", wait, ok, lookInterval)
	}
}

// A consumer whose looks see no task to look for looks less often, and at once as often as before when there is one.
func TestVainLooksGrowRare(t *testing.T) {
	t.Parallel()
	var o lookout
	for range 10 {
		o.interval = o.intervalAfterLook()
	}
	if o.interval != maxLookInterval {
		t.Errorf("after vain looks the next is in %v, want %v", o.interval, maxLookInterval)
	}
	o.onLane(Interactive).update(map[string]uint64{"ink.ocr.interactive.light.j1": 1}, 1, time.Now())
	if got := o.intervalAfterLook(); got != lookInterval {
		t.Errorf("while a task waits the next look is in %v, want %v", got, lookInterval)
	}
}

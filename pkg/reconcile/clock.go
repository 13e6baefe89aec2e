package reconcile

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxClockSkew is how far this machine's clock may be from the broker's, and how far it may move against the time that
	// the machine has been up, before nothing is removed by its age.
	maxClockSkew = 10 * time.Minute
	// clockHold is how long nothing is removed by its age after the clock was set: time for the operator to
	// see it, and for a time service to set it back.
	clockHold = 24 * time.Hour
)

// clockWatch compares the clock with what does not follow it: the broker's, where that is another machine's, and the
// time since this machine started, sleep included, where it is not.
type clockWatch struct {
	broker func(context.Context) (time.Time, error)
	uptime func() time.Duration

	seen    bool
	booted  time.Time     // when the machine started, as the clock says
	setLast time.Duration // the uptime at which the clock was last seen to have been set
	wasSet  bool
}

// uptime returns how long the machine has been up, sleep included.
func uptime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0 // does not come up: Linux has the clock since 2.6.39
	}
	return time.Duration(t.Nano())
}

// check returns an error where the clock is not to be believed now: what is over by it may not be over.
func (w *clockWatch) check(ctx context.Context, now time.Time) error {
	up := w.uptime()
	booted := now.Add(-up)
	if w.seen && booted.Sub(w.booted).Abs() > maxClockSkew {
		w.wasSet, w.setLast = true, up
	}
	w.seen, w.booted = true, booted
	broker, err := w.broker(ctx)
	if err != nil {
		return fmt.Errorf("compare the clock with the broker's: %w", err)
	}
	if skew := now.Sub(broker); skew.Abs() > maxClockSkew {
		return fmt.Errorf("this machine's clock is %s off the broker's: nothing is removed by its age",
			skew.Round(time.Second))
	}
	if left := clockHold - (up - w.setLast); w.wasSet && left > 0 {
		return fmt.Errorf("this machine's clock was set: nothing is removed by its age for %s",
			left.Round(time.Second))
	}
	return nil
}

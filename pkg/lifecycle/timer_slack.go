package lifecycle

// Programs that have this package let the kernel wake them half a millisecond late (timer_slack.c, PR_SET_TIMERSLACK); its
// default is 50 µs. The runtime's monitor of threads sleeps for 20 µs at a time while threads block, as they do
// whenever a file is synced or a child waits for its next page: with so many timers it took a tenth of the processor
// time of a short job. What else waits for timers here waits for milliseconds and more.

import "C"

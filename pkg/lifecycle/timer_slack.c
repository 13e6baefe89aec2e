#include <sys/prctl.h>

// slack is what a sleep may take longer, in nanoseconds; see timer_slack.go.
enum { slack = 500 * 1000 };

// A thread inherits it from the one that starts it, so it is set before the runtime starts its first. Where it cannot be
// set, timers are as precise as before.
__attribute__((constructor)) static void set_timer_slack(void) { prctl(PR_SET_TIMERSLACK, (unsigned long)slack, 0, 0, 0); }

package bus

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"inkstream.dev/pkg/fault"
)

// What the users' table says of tries is what is done here.
func TestRetryPolicyIsAsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../fault/codes.md")
	if err != nil {
		t.Fatal(err)
	}
	var waits []string
	for _, d := range retryDelays {
		if d < time.Minute {
			waits = append(waits, fmt.Sprintf("%g s", d.Seconds()))
		} else {
			waits = append(waits, fmt.Sprintf("%g min", d.Minutes()))
		}
	}
	last := len(waits) - 1
	for kind, want := range map[fault.Kind]string{
		fault.Transient: fmt.Sprintf("%d times after %s and %s (", len(waits), strings.Join(waits[:last], ", "), waits[last]),
		fault.Busy:      fmt.Sprintf("every %g s (", busyRetryDelay.Seconds()),
	} {
		if want := fmt.Sprintf("\n| %s | %s", kind, want); !strings.Contains(string(page), want) {
			t.Errorf("codes.md has no line that begins %q", want)
		}
	}
	_, first := retryDelay(fault.EngineCrash, 1)
	_, second := retryDelay(fault.EngineCrash, 2)
	if !first || second || !strings.Contains(string(page), "\n| engine_crash | once, ") {
		t.Errorf("engine_crash: tried again after the first: %t, after the second: %t, want once, as codes.md says", first,
			second)
	}
}

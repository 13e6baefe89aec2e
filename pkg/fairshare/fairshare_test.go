package fairshare

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// clockedAccount is an Account whose time the test sets.
type clockedAccount struct {
	Account
	time time.Time
}

func newClockedAccount() *clockedAccount {
	a := &clockedAccount{time: time.Unix(1_000_000, 0)}
	a.now = func() time.Time { return a.time }
	return a
}

// use has a tenant hold a place for so long.
func (a *clockedAccount) use(tenant string, held time.Duration) {
	end := a.Begin(tenant)
	a.time = a.time.Add(held)
	end()
}

func (a *clockedAccount) want(t *testing.T, tenant string, light bool) {
	t.Helper()
	if got := a.IsLight(tenant); got != light {
		t.Errorf("light: %s %t, want %t", tenant, got, light)
	}
}

// Who is known to take little comes first, then who is not known, then those that took long, by what they have used.
func TestLightest(t *testing.T) {
	t.Parallel()
	a := newClockedAccount()
	a.use("long", 9*time.Second)
	a.use("short", 10*time.Millisecond)
	a.use("longest", 60*time.Second)
	holder := a.Begin("holder")
	defer holder()
	a.time = a.time.Add(60 * time.Second)
	order := []string{"short", "unknown", "long", "longest"}
	for i, tenant := range order {
		want := tenant != "longest" // it is not light
		if got := a.Lightest(slices.Values(order[i:]))[tenant]; got != want {
			t.Errorf("%s among %v: got %t, want %t", tenant, order[i:], got, want)
		}
		for _, before := range order[:i] {
			if a.Lightest(slices.Values([]string{tenant, before, "holder"}))[tenant] {
				t.Errorf("%s comes before %s", tenant, before)
			}
		}
		if got := a.IsProven(tenant); got != (tenant == "short") {
			t.Errorf("%s is proven: %t", tenant, got)
		}
	}
	if a.IsProven("holder") {
		t.Error("a tenant that holds a place is proven")
	}
	if a.time = a.time.Add(longMemory); a.IsProven("short") || !a.Lightest(slices.Values(order))["unknown"] {
		t.Error("what a tenant was known for is not forgotten")
	}
}

func TestIsLight(t *testing.T) {
	t.Parallel()
	t.Run("a tenant that holds a place is not light, a new one is", func(t *testing.T) {
		t.Parallel()
		a := newClockedAccount()
		a.want(t, "a", true)
		end := a.Begin("a")
		a.want(t, "a", false)
		a.want(t, "b", true)
		end()
		end() // does nothing
		a.want(t, "a", true)
		if n := a.HeldBy("a"); n != 0 {
			t.Errorf("a holds %d places, want none", n)
		}
	})
	t.Run("of many tenants that hold places for long, none is light again by turns", func(t *testing.T) {
		t.Parallel()
		a := newClockedAccount()
		const tenants = 10
		for i := range 60 {
			held := fmt.Sprintf("t%d", (i+1)%tenants)
			end := a.Begin(held)
			a.use(fmt.Sprintf("t%d", i%tenants), 3*time.Second)
			end()
		}
		end := a.Begin("t0")
		defer end()
		for i := 1; i < tenants; i++ {
			a.want(t, fmt.Sprintf("t%d", i), false)
		}
		a.want(t, "other", true)
	})
	t.Run("a tenant whose work is short stays light however much of it there is", func(t *testing.T) {
		t.Parallel()
		a := newClockedAccount()
		defer a.Begin("hostile")()
		for range 1000 {
			a.want(t, "quick", true)
			a.use("quick", 200*time.Millisecond)
		}
	})
	t.Run("a tenant whose pages take seconds is light until it has used half of what others have", func(t *testing.T) {
		t.Parallel()
		a := newClockedAccount()
		defer a.Begin("hostile")()
		a.time = a.time.Add(time.Minute)
		turns := 0
		for a.IsLight("steady") {
			a.use("steady", 3*time.Second)
			turns++
		}
		if turns < 5 || turns > 30 {
			t.Errorf("%d turns of 3 s beside a minute of another tenant, want 5 to 30", turns)
		}
		a.time = a.time.Add(4 * time.Minute) // what it has used fades, while the other's does not
		a.want(t, "steady", true)
	})
	t.Run("what is over is forgotten", func(t *testing.T) {
		t.Parallel()
		a := newClockedAccount()
		for i := range 100 {
			a.use(fmt.Sprintf("t%d", i), 3*time.Second)
		}
		a.time = a.time.Add(time.Hour)
		a.want(t, "t0", true)
		if n := len(a.tenants); n > 0 {
			t.Errorf("%d tenants are remembered, want none", n)
		}
	})
}

package vision

import (
	"errors"
	"sync"
	"time"
)

// errBudget means that no more tokens may be written. The errors that say whose are spent match it.
var errBudget = errors.New("the vision models' tokens are spent")

// budgetError says whose tokens are spent.
type budgetError string

// Error says it, as a page's notes do.
func (e budgetError) Error() string { return string(e) }

// Is makes it match errBudget.
func (budgetError) Is(target error) bool { return target == errBudget }

// account is who is charged for an answer.
type account struct{ tenant, job string }

// budget counts the tokens that models write on a day, UTC. Each process counts its own.
type budget struct {
	perDay, perTenant, perJob int64 // without limit if 0

	mu      sync.Mutex // guards all below
	day     string
	all     int64
	tenants map[string]int64
	jobs    map[account]int64
}

// check fails where the account, or all of them together, have none left.
func (b *budget) check(of account) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startDay()
	switch {
	case b.perJob > 0 && b.jobs[of] >= b.perJob:
		return budgetError("the job's tokens are spent")
	case b.perTenant > 0 && b.tenants[of.tenant] >= b.perTenant:
		return budgetError("the tenant's tokens of the day are spent")
	case b.perDay > 0 && b.all >= b.perDay:
		return budgetError("the day's tokens are spent")
	}
	return nil
}

// spend charges an account.
func (b *budget) spend(of account, tokens int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.startDay()
	b.all += tokens
	b.tenants[of.tenant] += tokens
	b.jobs[of] += tokens
}

// startDay forgets the day before.
func (b *budget) startDay() {
	if today := time.Now().UTC().Format(time.DateOnly); today != b.day {
		b.day, b.all = today, 0
		b.tenants, b.jobs = map[string]int64{}, map[account]int64{}
	}
}

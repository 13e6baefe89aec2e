package job

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// dailyUsage is what a caller has uploaded on the last day on which it uploaded anything.
type dailyUsage struct {
	Day   int64 `json:"day"` // since 1970, in UTC
	Bytes int64 `json:"bytes"`
}

// addBytes counts n bytes, if the day has room for them.
func (u *dailyUsage) addBytes(n, limit, day int64) bool {
	// A gateway whose clock is a little behind counts on the others' day. A day further ahead is that of a clock that
	// was wrong, and must not count until it comes.
	if u.Day < day || u.Day > day+1 {
		*u = dailyUsage{Day: day}
	}
	if n > limit-u.Bytes {
		return false
	}
	u.Bytes += n
	return true
}

func dayNumber(now time.Time) int64 { return now.Unix() / (24 * 60 * 60) }

// ConsumeQuota counts an upload of n bytes against what a caller may upload on a day (UTC), at all gateways together.
// It reports whether there was room; the bytes are counted only then.
func (s *quotas) ConsumeQuota(ctx context.Context, tenant, caller string, n, limit int64,
	now time.Time) (room bool, err error) {
	key := quotaKey(tenant, caller)
	for {
		var u dailyUsage
		_, err = compareAndSet(ctx, s.bucket, key, keyVersion{}, &u, func(u *dailyUsage) error {
			if room = u.addBytes(n, limit, dayNumber(now)); !room {
				return ErrUnchanged
			}
			return nil
		})
		if errors.Is(err, ErrNotFound) {
			u = dailyUsage{}
			if room, err = u.addBytes(n, limit, dayNumber(now)), nil; room {
				_, err = s.createKey(ctx, key, u)
			}
		}
		if errors.Is(err, ErrExists) {
			continue // another upload was faster
		}
		if err != nil {
			return false, fmt.Errorf("count a caller's bytes: %w", err)
		}
		return room, nil
	}
}

// ReturnQuota takes back bytes that ConsumeQuota counted at a time, unless that day is over.
func (s *quotas) ReturnQuota(ctx context.Context, tenant, caller string, n int64, counted time.Time) error {
	var u dailyUsage
	_, err := compareAndSet(ctx, s.bucket, quotaKey(tenant, caller), keyVersion{}, &u, func(u *dailyUsage) error {
		if u.Day != dayNumber(counted) {
			return ErrUnchanged
		}
		u.Bytes = max(u.Bytes-n, 0)
		return nil
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("give back a caller's bytes: %w", err)
	}
	return nil
}

// CheckQuota is ConsumeQuota without the counting.
func (s *quotas) CheckQuota(ctx context.Context, tenant, caller string, n, limit int64, now time.Time) (bool, error) {
	var u dailyUsage
	if _, err := s.loadKey(ctx, quotaKey(tenant, caller), &u); err != nil && !errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("look at a caller's bytes: %w", err)
	}
	return u.addBytes(n, limit, dayNumber(now)), nil
}

package job

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// usage is what a caller has uploaded on the last day on which it uploaded anything.
type usage struct {
	Day   int64 `json:"day"` // since 1970, in UTC
	Bytes int64 `json:"bytes"`
}

// add counts n bytes, if the day has room for them.
func (u *usage) add(n, limit, day int64) bool {
	// A gateway whose clock is a little behind counts on the others' day. A day further ahead is that of a clock that was wrong, and must not count until
	// it comes.
	if u.Day < day || u.Day > day+1 {
		*u = usage{Day: day}
	}
	if n > limit-u.Bytes {
		return false
	}
	u.Bytes += n
	return true
}

func dayOf(now time.Time) int64 { return now.Unix() / (24 * 60 * 60) }

// Use counts an upload of n bytes against what a caller may upload on a day (UTC), at all gateways together. It reports whether there was room; the
// bytes are counted only then.
func (s *Store) Use(ctx context.Context, tenant, caller string, n, limit int64, now time.Time) (room bool, err error) {
	key := usageKey(tenant, caller)
	for {
		var u usage
		_, err = update(ctx, s, key, version{}, &u, func(u *usage) error {
			if room = u.add(n, limit, dayOf(now)); !room {
				return ErrUnchanged
			}
			return nil
		})
		if errors.Is(err, ErrNotFound) {
			u = usage{}
			if room, err = u.add(n, limit, dayOf(now)), nil; room {
				_, err = s.create(ctx, key, u)
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

// Room is Use without the counting.
func (s *Store) Room(ctx context.Context, tenant, caller string, n, limit int64, now time.Time) (bool, error) {
	var u usage
	if _, err := s.load(ctx, usageKey(tenant, caller), &u); err != nil && !errors.Is(err, ErrNotFound) {
		return false, fmt.Errorf("look at a caller's bytes: %w", err)
	}
	return u.add(n, limit, dayOf(now)), nil
}

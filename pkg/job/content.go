package job

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// contentVersion goes up when the same bytes and options yield other results than before, so that old ones are not
// handed out for new ones.
const contentVersion = 3

// defaultChunkWords is what ChunkWords means where it is 0.
const defaultChunkWords = 300

// contentClaim is what content.<tenant>.<sha256>.<options> holds: the job that does the work for all with the same
// bytes and options.
type contentClaim struct {
	Leader ID        `json:"job"`
	Time   time.Time `json:"time"`
}

// contentKey names what a job yields: the document's bytes and those of its options that change results. How fast and
// how long does not.
func contentKey(r *Record) string {
	o := r.Options
	o.Lane, o.DocumentTimeout, o.PageTimeout, o.StallTimeout = "", 0, 0, 0
	o.Retention, o.Keep, o.Dedupe, o.PasswordDigest = 0, false, Choice{}, ""
	if o.ChunkWords == defaultChunkWords {
		o.ChunkWords = 0
	}
	// Options are plain values, which always encode.
	options, _ := json.Marshal(struct {
		Version int
		Options Options
	}{contentVersion, o})
	sum := sha256.Sum256(options)
	return "content." + r.Tenant + "." + r.SHA256 + "." + hex.EncodeToString(sum[:8])
}

// CanDeduplicate reports whether a job takes part in sharing results: its user has not said no, and its document
// needs no password. A client that has the bytes of a locked document need not have its password.
func (r *Record) CanDeduplicate() bool {
	return r.Options.Dedupe.IsOn() && !r.Protected && r.SHA256 != ""
}

// ClaimContent makes the job the one that does the work for its bytes and options, or returns which one does.
func (s *claims) ClaimContent(ctx context.Context, r *Record) (ID, error) {
	key := contentKey(r)
	data, err := json.Marshal(contentClaim{Leader: r.ID, Time: time.Now().UTC()})
	if err != nil {
		return "", fmt.Errorf("encode claim: %w", err)
	}
	for range 3 {
		_, err = s.kv.Create(ctx, key, data)
		if err == nil {
			return r.ID, nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return "", markBrokerError("claim content", err)
		}
		var holder contentClaim
		if _, err = s.loadKey(ctx, key, &holder); err == nil {
			return holder.Leader, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return "", err
		}
		// Dropped between the two calls, or a replica that lags: once more.
	}
	return "", markBrokerError("claim content", err)
}

// ReplaceContent passes the claim on a job's content from another job to this one. The error is ErrExists where a
// third has it, and ErrNotFound where no job has it.
func (s *claims) ReplaceContent(ctx context.Context, r *Record, old ID) error {
	key := contentKey(r)
	var holder contentClaim
	at, err := s.loadKey(ctx, key, &holder)
	if err != nil {
		return err
	}
	if holder.Leader != old {
		return fmt.Errorf("content: %w", ErrExists)
	}
	data, err := json.Marshal(contentClaim{Leader: r.ID, Time: time.Now().UTC()})
	if err != nil {
		return fmt.Errorf("encode claim: %w", err)
	}
	_, err = s.kv.Update(ctx, key, data, at.revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return fmt.Errorf("content: %w", ErrExists)
	}
	return markBrokerError("replace content claim", err)
}

// ReleaseContent gives up a job's claim on its content. To have none is no error.
func (s *claims) ReleaseContent(ctx context.Context, r *Record) error {
	key := contentKey(r)
	var holder contentClaim
	at, err := s.loadKey(ctx, key, &holder)
	if errors.Is(err, ErrNotFound) || err == nil && holder.Leader != r.ID {
		return nil
	}
	if err != nil {
		return err
	}
	err = s.kv.Purge(ctx, key, jetstream.LastRevision(at.revision), jetstream.PurgeTTL(purgeMarkerTTL))
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return nil // another job has taken it over
	}
	return markBrokerError("drop content claim", err)
}

// maxFollowers bounds the list in a record. Those beyond it are found by the reconciler.
const maxFollowers = 500

// ErrEnded means that a job has ended, so that no other job can wait for its end.
var ErrEnded = errors.New("the job has ended")

// AddFollower notes in a job's record that another one waits for its results. The error is ErrEnded where it will not
// end any more because it has, and ErrNotFound where there is no such job.
func (s *Store) AddFollower(ctx context.Context, tenant string, leader, follower ID) error {
	_, err := s.UpdateRecord(ctx, tenant, leader, func(r *Record) error {
		if r.State.HasEnded() {
			return ErrEnded
		}
		for _, id := range r.Followers {
			if id == follower {
				return ErrUnchanged
			}
		}
		if len(r.Followers) >= maxFollowers {
			return ErrUnchanged
		}
		r.Followers = append(r.Followers, follower)
		return nil
	})
	return err
}

// languagesKey is where the recognition service says which languages it has.
const languagesKey = "meta.languages"

// Languages are the languages that recognition can be asked for.
type Languages struct {
	Codes []string  `json:"codes"`
	Time  time.Time `json:"time"`
}

// PutLanguages publishes to all processes which languages are installed.
func (s *announcements) PutLanguages(ctx context.Context, l Languages) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode languages: %w", err)
	}
	if _, err := s.kv.Put(ctx, languagesKey, data); err != nil {
		return markBrokerError("put languages", err)
	}
	return nil
}

// LoadLanguages returns which languages are installed, as they were published last. The error is ErrNotFound where
// none were published.
func (s *announcements) LoadLanguages(ctx context.Context) (Languages, error) {
	var l Languages
	if _, err := s.loadKey(ctx, languagesKey, &l); err != nil {
		return Languages{}, fmt.Errorf("load languages: %w", err)
	}
	return l, nil
}

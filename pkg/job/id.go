package job

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// ID names a job: a lower-case ULID, so that ids sort by time of creation and are safe in subjects, keys and paths.
type ID string

// NewID returns a new id. It is safe for concurrent use.
func NewID() ID { return NewIDAt(time.Now()) }

// NewIDAt returns a new id of a job that was created at a time. It is safe for concurrent use.
func NewIDAt(created time.Time) ID {
	return ID(strings.ToLower(ulid.MustNew(ulid.Timestamp(created), rand.Reader).String()))
}

// ParseID checks that s has the form of an id; upper case is accepted.
func ParseID(s string) (ID, error) {
	if _, err := ulid.ParseStrict(s); err != nil {
		return "", fmt.Errorf("job id %q: %w", s, err)
	}
	return ID(strings.ToLower(s)), nil
}

// DefaultTenant is the tenant of requests without credentials.
const DefaultTenant = "default"

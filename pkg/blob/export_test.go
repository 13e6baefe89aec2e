package blob

import (
	"context"
	"net"
	"net/url"
)

// SetAbandonedAgeZero lets SweepAbandoned take every unfinished upload of an S3 store for one that a crash left.
func SetAbandonedAgeZero(s *Store) { s.driver.(*s3Bucket).abandoned = 0 }

// OpenS3Over is Open for an S3 URL, over connections that dial makes.
func OpenS3Over(ctx context.Context, u *url.URL,
	dial func(ctx context.Context, network, addr string) (net.Conn, error)) (*Store, error) {
	driver, err := openS3Bucket(ctx, u, dial)
	if err != nil {
		return nil, err
	}
	return New(driver), nil
}

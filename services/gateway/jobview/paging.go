package jobview

import (
	"strconv"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

const (
	defaultPageSize = 100
	maxPageSize     = 1000
)

// ParsePageRequest reads where a listing goes on and how long it may be. A token is the number of the last entry that
// was sent.
func ParsePageRequest(size int32, token string) (after uint64, limit int, err error) {
	if size < 0 {
		return 0, 0, apierror.InvalidField(fault.InvalidArgument, "page_size", "page size %d, want 0 or more", size)
	}
	if size == 0 {
		size = defaultPageSize
	}
	if token != "" {
		if after, err = strconv.ParseUint(token, 10, 64); err != nil {
			return 0, 0, apierror.InvalidField(fault.InvalidArgument, "page_token", "the page token is none that this server gave out")
		}
	}
	return after, int(min(size, maxPageSize)), nil
}

// EncodeToken returns the token that names the last entry that was sent.
func EncodeToken(last uint64) string { return strconv.FormatUint(last, 10) }

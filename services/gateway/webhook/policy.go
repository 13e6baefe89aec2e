package webhook

import "inkstream.dev/pkg/outbound"

// ErrForbidden means that an address is not one that the server calls.
var ErrForbidden = outbound.ErrForbidden

// Policy says which addresses may be called beyond the public ones.
type Policy = outbound.Policy

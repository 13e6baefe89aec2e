// Package validate checks requests against the rules of the .proto files.
package validate

import (
	"errors"
	"sync"
	"time"

	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

// validator checks requests against the rules that the .proto files state. It is made when first used: that takes
// some milliseconds, which a start can do without.
var validator = sync.OnceValues(func() (protovalidate.Validator, error) { return protovalidate.New() })

// CheckRequest checks a request. The error names the first field that breaks a rule, as the client named it.
func CheckRequest(req any) error {
	m, ok := req.(proto.Message)
	if !ok {
		return nil
	}
	v, err := validator()
	if err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	err = v.Validate(m)
	if broken, ok := errors.AsType[*protovalidate.ValidationError](err); ok && len(broken.Violations) > 0 {
		first := broken.Violations[0]
		return apierror.InvalidField(fault.InvalidArgument, protovalidate.FieldPathString(first.Proto.GetField()), "%s: %s",
			protovalidate.FieldPathString(first.Proto.GetField()), first.Proto.GetMessage())
	}
	if err != nil {
		return fault.Wrap(fault.Permanent, fault.Internal, err)
	}
	return nil
}

// ParseTimestamp returns a time that a client gave. JSON holds only those of the years 1 to 9999; a gRPC client
// can say any.
func ParseTimestamp(field string, t *timestamppb.Timestamp) (time.Time, error) {
	if t.CheckValid() != nil {
		return time.Time{}, apierror.InvalidField(fault.InvalidArgument, field, "%s: want a time of the years 1 to 9999", field)
	}
	return t.AsTime(), nil
}

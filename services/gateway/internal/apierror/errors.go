package apierror

import (
	"context"
	"errors"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/fault"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "inkstream.dev"

// FieldError says which field of the request a fault is about.
type FieldError struct {
	Field string
	err   *fault.Error
}

func (e *FieldError) Error() string { return e.Field + ": " + e.err.Error() }

func (e *FieldError) Unwrap() error { return e.err }

// InvalidField returns a fault about a field of the request, named as the client named it.
func InvalidField(c fault.Code, field, format string, args ...any) error {
	return &FieldError{Field: field, err: fault.New(c, format, args...)}
}

// DetailError adds facts to a fault's ErrorInfo.
type DetailError struct {
	Facts map[string]string
	Err   error
}

func (e *DetailError) Error() string { return e.Err.Error() }

func (e *DetailError) Unwrap() error { return e.Err }

// StatusOf returns what clients get to see of err. A gRPC status passes as it is. Nothing of an internal error
// gets out.
func StatusOf(err error) *status.Status {
	f, isFault := errors.AsType[*fault.Error](err)
	if !isFault {
		if st, ok := status.FromError(err); ok {
			return st
		}
		switch {
		case errors.Is(err, context.Canceled):
			return status.New(codes.Canceled, "the request was cancelled")
		case errors.Is(err, context.DeadlineExceeded):
			return status.New(codes.DeadlineExceeded, "the request's deadline has passed")
		}
	}
	c, message := fault.Internal, fault.Internal.DescribeCode()
	if isFault && f.Code != fault.Internal {
		if _, known := Statuses[f.Code]; known {
			c, message = f.Code, fault.UserMessageOf(f)
		}
	}
	a := Statuses[c]
	info := &errdetails.ErrorInfo{Reason: string(c), Domain: errorDomain}
	if d, ok := errors.AsType[*DetailError](err); ok {
		info.Metadata = d.Facts
	}
	if r, ok := errors.AsType[*retryError](err); ok {
		a.retryAfter = r.after
	}
	details := []protoadapt.MessageV1{info}
	if fe, ok := errors.AsType[*FieldError](err); ok {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: fe.Field, Description: message, Reason: string(c)},
		}})
	}
	if a.retryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(a.retryAfter)})
	}
	st := status.New(a.RPC, message)
	if with, derr := st.WithDetails(details...); derr == nil {
		st = with
	}
	return st
}

// isServerFault reports whether st is the server's fault, which the log should know of.
func isServerFault(st *status.Status) bool {
	switch st.Code() {
	case codes.Internal, codes.Unknown, codes.DataLoss, codes.Unavailable:
		return true
	default:
		return false
	}
}

// ReasonOf returns the stable code of a status; one that was not made here has its gRPC code's name.
func ReasonOf(st *status.Status) fault.Code {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return fault.Code(info.GetReason())
		}
	}
	return fault.Code(code.Code_name[int32(st.Code())])
}

// HTTPStatusOf returns the HTTP status of a gRPC status.
func HTTPStatusOf(st *status.Status) int {
	if a, ok := Statuses[ReasonOf(st)]; ok {
		return a.HTTP
	}
	if st.Code() == codes.Canceled {
		return statusClientClosed
	}
	return runtime.HTTPStatusFromCode(st.Code())
}

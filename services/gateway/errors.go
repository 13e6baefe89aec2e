package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"inkstream.dev/pkg/fault"
)

// errorDomain is the domain of every ErrorInfo.
const errorDomain = "inkstream.dev"

// Codes that only HTTP and the gateway know of.
const (
	notFound           fault.Code = "NOT_FOUND"
	methodNotAllowed   fault.Code = "METHOD_NOT_ALLOWED"
	requestTimeout     fault.Code = "REQUEST_TIMEOUT"
	jobExpired         fault.Code = "JOB_EXPIRED"
	shuttingDown       fault.Code = "SHUTTING_DOWN"
	jobDeleted         fault.Code = "JOB_DELETED"
	jobEnded           fault.Code = "JOB_ENDED"
	jobRunning         fault.Code = "JOB_RUNNING"
	jobNotRetryable    fault.Code = "JOB_NOT_RETRYABLE"
	deadLetterNotFound fault.Code = "DEAD_LETTER_NOT_FOUND"
)

// statusClientClosed is what proxies log for a client that hung up; no client receives it.
const statusClientClosed = 499

// codeStatus is what clients get to see of a code.
type codeStatus struct {
	rpc  codes.Code
	http int
	// retryAfter is how long a client should wait before it tries again; 0 where trying again is of no use.
	retryAfter time.Duration
}

// codeStatuses is the one table from stable codes to statuses. A code that is not in it is internal.
var codeStatuses = map[fault.Code]codeStatus{
	fault.EmptyFile:     {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.NotAPDF:       {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.Encrypted:     {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.WrongPassword: {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.InvalidPages:  {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.Damaged:       {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.NoPages:       {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.TooManyPages:  {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.PolicyReject:  {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.MalwareFound:  {codes.InvalidArgument, http.StatusUnprocessableEntity, 0},
	fault.TooLarge:      {codes.ResourceExhausted, http.StatusRequestEntityTooLarge, 0},

	fault.InvalidArgument:     {codes.InvalidArgument, http.StatusBadRequest, 0},
	fault.InvalidOption:       {codes.InvalidArgument, http.StatusBadRequest, 0},
	fault.UnsupportedMedia:    {codes.InvalidArgument, http.StatusUnsupportedMediaType, 0},
	fault.IdempotencyConflict: {codes.AlreadyExists, http.StatusConflict, 0},
	fault.JobNotFound:         {codes.NotFound, http.StatusNotFound, 0},
	fault.ArtifactNotFound:    {codes.NotFound, http.StatusNotFound, 0},
	fault.PageNotFound:        {codes.NotFound, http.StatusNotFound, 0},
	// Not an error over HTTP: the request is accepted, its answer does not exist yet.
	fault.NotReady:  {codes.FailedPrecondition, http.StatusAccepted, time.Second},
	fault.JobFailed: {codes.FailedPrecondition, http.StatusConflict, 0},

	fault.QueueFull:   {codes.ResourceExhausted, http.StatusTooManyRequests, 2 * time.Second},
	fault.Unavailable: {codes.Unavailable, http.StatusServiceUnavailable, 2 * time.Second},
	fault.Internal:    {codes.Internal, http.StatusInternalServerError, 0},

	notFound:            {codes.NotFound, http.StatusNotFound, 0},
	methodNotAllowed:    {codes.Unimplemented, http.StatusMethodNotAllowed, 0},
	requestTimeout:      {codes.DeadlineExceeded, http.StatusRequestTimeout, 0},
	jobExpired:          {codes.FailedPrecondition, http.StatusGone, 0},
	shuttingDown:        {codes.Unavailable, http.StatusServiceUnavailable, time.Second},
	jobDeleted:          {codes.FailedPrecondition, http.StatusGone, 0},
	jobEnded:            {codes.FailedPrecondition, http.StatusConflict, 0},
	jobRunning:          {codes.FailedPrecondition, http.StatusConflict, 0},
	jobNotRetryable:     {codes.FailedPrecondition, http.StatusConflict, 0},
	deadLetterNotFound:  {codes.NotFound, http.StatusNotFound, 0},
	rangeNotSatisfiable: {codes.OutOfRange, http.StatusRequestedRangeNotSatisfiable, 0},

	uploadNotFound:   {codes.NotFound, http.StatusNotFound, 0},
	resumableOff:     {codes.Unimplemented, http.StatusNotImplemented, 0},
	tusVersionWrong:  {codes.FailedPrecondition, http.StatusPreconditionFailed, 0},
	tusOffsetWrong:   {codes.FailedPrecondition, http.StatusConflict, 0},
	tusBusy:          {codes.Aborted, http.StatusLocked, time.Second},
	sourceNotAllowed: {codes.PermissionDenied, http.StatusForbidden, 0},
	sourceMissing:    {codes.NotFound, http.StatusNotFound, 0},
	keyNotFound:      {codes.NotFound, http.StatusNotFound, 0},
	webhookNotFound:  {codes.NotFound, http.StatusNotFound, 0},
	noIndex:          {codes.Unimplemented, http.StatusNotImplemented, 0},
	authOff:          {codes.FailedPrecondition, http.StatusConflict, 0},
	webhookForbidden: {codes.InvalidArgument, http.StatusBadRequest, 0},
	unauthenticated:  {codes.Unauthenticated, http.StatusUnauthorized, 0},
	permissionDenied: {codes.PermissionDenied, http.StatusForbidden, 0},
	rateLimited:      {codes.ResourceExhausted, http.StatusTooManyRequests, time.Second},
	quotaExceeded:    {codes.ResourceExhausted, http.StatusTooManyRequests, time.Minute},
}

// fieldError says which field of the request a fault is about.
type fieldError struct {
	field string
	err   *fault.Error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

// invalidField returns a fault about a field of the request, named as the client named it.
func invalidField(c fault.Code, field, format string, args ...any) error {
	return &fieldError{field: field, err: fault.New(c, format, args...)}
}

// detailError adds facts to a fault's ErrorInfo.
type detailError struct {
	facts map[string]string
	err   error
}

func (e *detailError) Error() string { return e.err.Error() }

func (e *detailError) Unwrap() error { return e.err }

// statusFromError returns what clients get to see of err. A gRPC status passes as it is. Nothing of an internal error
// gets out.
func statusFromError(err error) *status.Status {
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
		if _, known := codeStatuses[f.Code]; known {
			c, message = f.Code, fault.UserMessageOf(f)
		}
	}
	a := codeStatuses[c]
	info := &errdetails.ErrorInfo{Reason: string(c), Domain: errorDomain}
	if d, ok := errors.AsType[*detailError](err); ok {
		info.Metadata = d.facts
	}
	if r, ok := errors.AsType[*retryError](err); ok {
		a.retryAfter = r.after
	}
	details := []protoadapt.MessageV1{info}
	if fe, ok := errors.AsType[*fieldError](err); ok {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: fe.field, Description: message, Reason: string(c)},
		}})
	}
	if a.retryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(a.retryAfter)})
	}
	st := status.New(a.rpc, message)
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

// reasonOfStatus returns the stable code of a status; one that was not made here has its gRPC code's name.
func reasonOfStatus(st *status.Status) fault.Code {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok && info.GetDomain() == errorDomain {
			return fault.Code(info.GetReason())
		}
	}
	return fault.Code(code.Code_name[int32(st.Code())])
}

// httpStatusOf returns the HTTP status of a gRPC status.
func httpStatusOf(st *status.Status) int {
	if a, ok := codeStatuses[reasonOfStatus(st)]; ok {
		return a.http
	}
	if st.Code() == codes.Canceled {
		return statusClientClosed
	}
	return runtime.HTTPStatusFromCode(st.Code())
}

// errorBody is an error as JSON.
type errorBody struct {
	Error errorJSON `json:"error"`
}

type errorJSON struct {
	Code    fault.Code `json:"code"`
	Message string     `json:"message"`
	Status  int        `json:"status"`
	// RequestID is what the server's log knows the request by.
	RequestID string `json:"requestId,omitempty"`
	// Details are the details of the gRPC status.
	Details []json.RawMessage `json:"details,omitempty"`
}

// encodeStatus returns a status as JSON.
func encodeStatus(ctx context.Context, st *status.Status) []byte {
	body := errorBody{errorJSON{Code: reasonOfStatus(st), Message: st.Message(), Status: httpStatusOf(st),
		RequestID: requestIDFromContext(ctx)}}
	for _, d := range st.Proto().GetDetails() {
		// A detail of a type that this server does not know is left out.
		if raw, err := protojson.Marshal(d); err == nil {
			body.Error.Details = append(body.Error.Details, raw)
		}
	}
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Appendf(nil, `{"error":{"code":%q,"status":%d}}`, fault.Internal, http.StatusInternalServerError)
	}
	return data
}

// writeStatus answers a REST request with an error.
func writeStatus(w http.ResponseWriter, r *http.Request, st *status.Status) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			seconds := int((info.GetRetryDelay().AsDuration() + time.Second - 1) / time.Second)
			h.Set("Retry-After", strconv.Itoa(seconds))
		}
	}
	data := encodeStatus(r.Context(), st)
	w.WriteHeader(httpStatusOf(st))
	// A client that hung up has no use for the rest.
	_, _ = w.Write(indentJSON(data))
}

// reportError returns the status of err and logs it, once, where the server is to blame. An error that is a status
// already was logged where it became one.
func (s *Service) reportError(ctx context.Context, operation string, err error) *status.Status {
	st := statusFromError(err)
	if _, done := err.(interface{ GRPCStatus() *status.Status }); done || !isServerFault(st) || ctx.Err() != nil ||
		reasonOfStatus(st) == shuttingDown {
		return st
	}
	s.log.ErrorContext(ctx, "request failed", "request", requestIDFromContext(ctx), "operation", operation, "code",
		reasonOfStatus(st), "error", err)
	return st
}

// writeError answers a REST request with err.
func (s *Service) writeError(w http.ResponseWriter, r *http.Request, operation string, err error) {
	writeStatus(w, r, s.reportError(r.Context(), operation, err))
}

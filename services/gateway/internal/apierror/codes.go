package apierror

import (
	"net/http"
	"time"

	"google.golang.org/grpc/codes"

	"inkstream.dev/pkg/fault"
)

// Codes of keys and webhooks.
const (
	KeyNotFound      fault.Code = "KEY_NOT_FOUND"
	WebhookNotFound  fault.Code = "WEBHOOK_NOT_FOUND"
	AuthOff          fault.Code = "AUTH_OFF"
	WebhookForbidden fault.Code = "WEBHOOK_FORBIDDEN"
)

// Codes of requests that are refused for who sends them.
const (
	Unauthenticated  fault.Code = "UNAUTHENTICATED"
	PermissionDenied fault.Code = "PERMISSION_DENIED"
	RateLimited      fault.Code = "RATE_LIMITED"
	QuotaExceeded    fault.Code = "QUOTA_EXCEEDED"
)

// Codes that only HTTP and the gateway know of.
const (
	NotFound           fault.Code = "NOT_FOUND"
	MethodNotAllowed   fault.Code = "METHOD_NOT_ALLOWED"
	RequestTimeout     fault.Code = "REQUEST_TIMEOUT"
	JobExpired         fault.Code = "JOB_EXPIRED"
	ShuttingDown       fault.Code = "SHUTTING_DOWN"
	JobDeleted         fault.Code = "JOB_DELETED"
	JobEnded           fault.Code = "JOB_ENDED"
	JobRunning         fault.Code = "JOB_RUNNING"
	JobNotRetryable    fault.Code = "JOB_NOT_RETRYABLE"
	DeadLetterNotFound fault.Code = "DEAD_LETTER_NOT_FOUND"
)

// statusClientClosed is what proxies log for a client that hung up; no client receives it.
const statusClientClosed = 499

// Status is what clients get to see of a code.
type Status struct {
	RPC  codes.Code
	HTTP int
	// retryAfter is how long a client should wait before it tries again; 0 where trying again is of no use.
	retryAfter time.Duration
}

// Statuses is the one table from stable codes to statuses. A code that is not in it is internal.
var Statuses = map[fault.Code]Status{
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

	NotFound:            {codes.NotFound, http.StatusNotFound, 0},
	MethodNotAllowed:    {codes.Unimplemented, http.StatusMethodNotAllowed, 0},
	RequestTimeout:      {codes.DeadlineExceeded, http.StatusRequestTimeout, 0},
	JobExpired:          {codes.FailedPrecondition, http.StatusGone, 0},
	ShuttingDown:        {codes.Unavailable, http.StatusServiceUnavailable, time.Second},
	JobDeleted:          {codes.FailedPrecondition, http.StatusGone, 0},
	JobEnded:            {codes.FailedPrecondition, http.StatusConflict, 0},
	JobRunning:          {codes.FailedPrecondition, http.StatusConflict, 0},
	JobNotRetryable:     {codes.FailedPrecondition, http.StatusConflict, 0},
	DeadLetterNotFound:  {codes.NotFound, http.StatusNotFound, 0},
	RangeNotSatisfiable: {codes.OutOfRange, http.StatusRequestedRangeNotSatisfiable, 0},

	UploadNotFound:   {codes.NotFound, http.StatusNotFound, 0},
	ResumableOff:     {codes.Unimplemented, http.StatusNotImplemented, 0},
	TusVersionWrong:  {codes.FailedPrecondition, http.StatusPreconditionFailed, 0},
	TusOffsetWrong:   {codes.FailedPrecondition, http.StatusConflict, 0},
	TusBusy:          {codes.Aborted, http.StatusLocked, time.Second},
	SourceNotAllowed: {codes.PermissionDenied, http.StatusForbidden, 0},
	SourceMissing:    {codes.NotFound, http.StatusNotFound, 0},
	KeyNotFound:      {codes.NotFound, http.StatusNotFound, 0},
	WebhookNotFound:  {codes.NotFound, http.StatusNotFound, 0},
	NoIndex:          {codes.Unimplemented, http.StatusNotImplemented, 0},
	AuthOff:          {codes.FailedPrecondition, http.StatusConflict, 0},
	WebhookForbidden: {codes.InvalidArgument, http.StatusBadRequest, 0},
	Unauthenticated:  {codes.Unauthenticated, http.StatusUnauthorized, 0},
	PermissionDenied: {codes.PermissionDenied, http.StatusForbidden, 0},
	RateLimited:      {codes.ResourceExhausted, http.StatusTooManyRequests, time.Second},
	QuotaExceeded:    {codes.ResourceExhausted, http.StatusTooManyRequests, time.Minute},
}

// NoIndex is the answer where the gateway was started without an index database.
const NoIndex fault.Code = "NO_INDEX"

// JobFact is the fact of an error that names a job, or what has events as a job has.
const JobFact = "job"

// RangeNotSatisfiable is the answer where a part is asked for that the content does not have.
const RangeNotSatisfiable fault.Code = "RANGE_NOT_SATISFIABLE"

// Codes of documents that the server fetches.
const (
	SourceNotAllowed fault.Code = "SOURCE_NOT_ALLOWED"
	SourceMissing    fault.Code = "SOURCE_MISSING"
)

// Codes of resumable uploads.
const (
	TusVersionWrong fault.Code = "TUS_VERSION"
	TusOffsetWrong  fault.Code = "OFFSET_MISMATCH"
	TusBusy         fault.Code = "UPLOAD_LOCKED"
	UploadNotFound  fault.Code = "UPLOAD_NOT_FOUND"
	ResumableOff    fault.Code = "RESUMABLE_OFF"
)

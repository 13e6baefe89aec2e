package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	// The details of errors are messages of this package, which must be known to be read.
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// maxError bounds what is read of an error.
const maxError = 256 << 10

// rpcCodes are the gRPC codes of the HTTP statuses that the server answers.
var rpcCodes = map[int]codes.Code{
	http.StatusAccepted:              codes.FailedPrecondition, // the answer does not exist yet
	http.StatusBadRequest:            codes.InvalidArgument,
	http.StatusUnauthorized:          codes.Unauthenticated,
	http.StatusForbidden:             codes.PermissionDenied,
	http.StatusNotFound:              codes.NotFound,
	http.StatusMethodNotAllowed:      codes.Unimplemented,
	http.StatusRequestTimeout:        codes.DeadlineExceeded,
	http.StatusConflict:              codes.FailedPrecondition,
	http.StatusGone:                  codes.FailedPrecondition,
	http.StatusRequestEntityTooLarge: codes.ResourceExhausted,
	http.StatusUnsupportedMediaType:  codes.InvalidArgument,
	http.StatusUnprocessableEntity:   codes.InvalidArgument,
	http.StatusTooManyRequests:       codes.ResourceExhausted,
	http.StatusNotImplemented:        codes.Unimplemented,
	http.StatusBadGateway:            codes.Unavailable,
	http.StatusServiceUnavailable:    codes.Unavailable,
	http.StatusGatewayTimeout:        codes.Unavailable,
}

// unansweredError is what it means that no answer came.
func unansweredError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	text := err.Error()
	// The error begins with the method and the address, which the caller knows.
	if i := strings.Index(text, `": `); i >= 0 {
		text = text[i+len(`": `):]
	}
	return status.Error(codes.Unavailable, text)
}

// errorJSON is how the server writes an error.
type errorJSON struct {
	Error struct {
		Code    string            `json:"code"`
		Message string            `json:"message"`
		Status  int               `json:"status"`
		Details []json.RawMessage `json:"details"`
	} `json:"error"`
}

// responseError returns the error that an answer is, nil if it is none. An upload is answered with 202 too, but with
// no error in it; a caller of what is not there yet gets 202 with one.
func responseError(res *http.Response) error {
	if res.StatusCode == http.StatusAccepted && res.Header.Get("Retry-After") == "" {
		return nil
	}
	if res.StatusCode < http.StatusBadRequest && res.StatusCode != http.StatusAccepted {
		if res.StatusCode >= http.StatusMultipleChoices {
			return status.Errorf(codes.Unavailable, "the server at this address sends callers elsewhere: %s",
				stripControls(res.Header.Get("Location")))
		}
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxError))
	if err != nil {
		return status.Error(codes.Unavailable, "the answer broke off")
	}
	return parseError(data, res.StatusCode, res.Header.Get("Retry-After"))
}

// parseError reads an error. One that is no error of Inkstream's is a proxy's, or that of another server.
func parseError(data []byte, httpStatus int, retryAfter string) error {
	var body errorJSON
	if err := json.Unmarshal(data, &body); err != nil || body.Error.Code == "" {
		body.Error.Message = fmt.Sprintf("HTTP status %d, and the answer is not one of an Inkstream server", httpStatus)
		body.Error.Status = httpStatus
	}
	if httpStatus == 0 {
		httpStatus = body.Error.Status
	}
	code, ok := rpcCodes[httpStatus]
	if !ok {
		code = codes.Internal
	}
	if body.Error.Code == "IDEMPOTENCY_CONFLICT" {
		code = codes.AlreadyExists
	}
	st := &spb.Status{Code: int32(code), Message: body.Error.Message}
	retry := false
	for _, raw := range body.Error.Details {
		detail := &anypb.Any{}
		// A detail of a type that this client does not know is left out.
		if err := protojson.Unmarshal(raw, detail); err == nil {
			st.Details = append(st.Details, detail)
			retry = retry || detail.MessageIs(&errdetails.RetryInfo{})
		}
	}
	if seconds, err := strconv.Atoi(retryAfter); err == nil && !retry {
		detail, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Duration(seconds) * time.Second)})
		if err == nil {
			st.Details = append(st.Details, detail)
		}
	}
	return status.ErrorProto(st)
}

// stripControls drops what could play tricks on a terminal.
func stripControls(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

var errSent = errors.New("the request was sent already")

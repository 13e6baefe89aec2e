package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// explainError makes an error of the server readable, and says what to do where that is known. What the server finds
// wrong with the request itself is an error of usage.
func explainError(err error) error {
	if err == nil {
		return nil
	}
	st, ok := status.FromError(err)
	if !ok {
		return err
	}
	if st.Code() == codes.Canceled {
		return context.Canceled
	}
	readable := errors.New(errorMessage(st))
	if hint := errorAdvice(st); hint != "" {
		readable = fmt.Errorf("%s\n%s", errorMessage(st), hint)
	}
	if hasReason(err, "INVALID_ARGUMENT", "INVALID_OPTION") {
		return usageError{readable}
	}
	return readable
}

// errorMessage returns what an error says, for a terminal.
func errorMessage(st *status.Status) string {
	text := st.Message()
	// Errors of the connection name it by what the library calls it.
	if st.Code() == codes.Unavailable {
		text = strings.TrimPrefix(text, "connection error: desc = ")
		text = strings.Trim(strings.TrimPrefix(text, "transport: "), `"`)
	}
	return printableText(text)
}

// advice is what to do about an error, by its stable code.
var advice = map[string]string{
	"JOB_NOT_FOUND":        "'inkstream list' shows the jobs there are.",
	"JOB_DELETED":          "Its results are gone; 'inkstream events ID' tells when. Submit the document again if you need them.",
	"JOB_EXPIRED":          "Its retention is over and its results are gone. Submit the document again; --retention says how long results are kept.",
	"NOT_READY":            "'inkstream watch ID' follows the job to its end.",
	"JOB_FAILED":           "'inkstream get ID' says why; 'inkstream retry ID' runs it again.",
	"ARTIFACT_NOT_FOUND":   "'inkstream artifacts ID' lists what the job has yielded.",
	"JOB_RUNNING":          "Wait for it with 'inkstream watch ID', or end it with 'inkstream cancel ID'.",
	"JOB_NOT_RETRYABLE":    "A job that succeeded runs again with --all; one that was refused never does: submit another file.",
	"IDEMPOTENCY_CONFLICT": "The key belongs to another document: take a new one, or leave it out.",
	"NO_INDEX":             "Lists and searches need the index database: start the gateway with one.",
	"TOO_LARGE":            "The server's limit is --gateway.max-upload.",
	"ENCRYPTED":            "Give the document's password with --password-file.",
	"WRONG_PASSWORD":       "Give the document's password with --password-file.",
	"WEBHOOK_FORBIDDEN":    "Addresses of loopback and private networks need a server that was started with --webhook.allow-private.",
}

// errorAdvice returns what to do about an error; empty where the message says it all.
func errorAdvice(st *status.Status) string {
	if hint := advice[errorReason(st)]; hint != "" {
		return hint
	}
	if wait := serverRetryDelay(st); wait > 0 && st.Code() == codes.ResourceExhausted {
		return fmt.Sprintf("Try again in %s; with --wait the command does that itself.", wait)
	}
	switch st.Code() {
	case codes.Unavailable:
		return connectionAdvice(st.Message())
	case codes.Unauthenticated:
		return "Give a key with --api-key-file, INKSTREAM_API_KEY or a profile. Whoever runs the server makes one with 'inkstream keys create'; the first admin\n" +
			"key is in the file admin.key of the server's data folder."
	case codes.PermissionDenied:
		return "Ask for a key that may do more: 'inkstream keys create --scope write' or '--scope admin'."
	case codes.Unimplemented:
		return "The server may be older than this command; 'inkstream version' shows the command's."
	default:
		return ""
	}
}

// connectionAdvice says what to do where the server was not reached.
func connectionAdvice(text string) string {
	switch {
	case strings.Contains(text, "x509:"), strings.Contains(text, "certificate"):
		return "Name the authority that signed the server's certificate with --ca-file."
	case strings.Contains(text, "server gave HTTP response to HTTPS client"),
		strings.Contains(text, "first record does not look like a TLS handshake"):
		return "The server speaks without TLS there: write http:// or grpc:// instead of https:// or grpcs://."
	case strings.Contains(text, "malformed HTTP response"):
		return "That is the port of the gRPC API, or one that speaks TLS: write --server grpc://host:port or https://host:port."
	case strings.Contains(text, "HTTP/1."), strings.Contains(text, "frame header looked like"):
		return "That is the port of the REST API: write --server http://host:port."
	default:
		return "Is the server running? Start one with 'inkstream serve', or name another with --server, INKSTREAM_SERVER or a profile (inkstream help profiles)."
	}
}

// errorReason returns the stable code of an error, empty if it has none.
func errorReason(st *status.Status) string {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// serverRetryDelay returns when another try makes sense, 0 if the server did not say.
func serverRetryDelay(st *status.Status) time.Duration {
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			return info.GetRetryDelay().AsDuration()
		}
	}
	return 0
}

// hasReason reports whether an error has one of the stable codes.
func hasReason(err error, reasons ...string) bool {
	st, ok := status.FromError(err)
	if !ok || err == nil {
		return false
	}
	return slices.Contains(reasons, errorReason(st))
}

const (
	// unreachableDelay is how long is waited for a server that cannot be reached, and maxUnreachableDelay how long at
	// most as it goes on.
	unreachableDelay, maxUnreachableDelay = time.Second, 30 * time.Second
)

// retryPolicy says what is waited for.
type retryPolicy struct {
	// unreachableLimit is how long a server that cannot be reached is waited for, from when it was reached last; one that
	// says when to come back is waited for as long as it takes.
	unreachableLimit time.Duration
	// lastReached, if set, returns when the server was reached last; the zero time if it never was, and it is not waited for.
	lastReached func() time.Time
	// onWait, if set, is told of each wait.
	onWait func(err error, wait time.Duration)
}

// runWithRetry calls do until it succeeds or fails for good.
func (p retryPolicy) runWithRetry(ctx context.Context, do func() error) error {
	reached := time.Now()
	delays := &backoff.ExponentialBackOff{InitialInterval: unreachableDelay, Multiplier: 2,
		MaxInterval: maxUnreachableDelay}
	for {
		err := do()
		wait := retryDelay(err)
		if p.lastReached != nil {
			if at := p.lastReached(); at != reached {
				reached = at
				delays.Reset()
			}
		}
		if wait < 0 || ctx.Err() != nil || wait == 0 && time.Since(reached) >= p.unreachableLimit {
			return err
		}
		if wait == 0 {
			wait = delays.NextBackOff()
		}
		if p.onWait != nil {
			p.onWait(err, wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// retryDelay returns how long to wait before another try: 0 where the server did not say, less than 0 where another
// try is of no use.
func retryDelay(err error) time.Duration {
	st, ok := status.FromError(err)
	if err == nil || !ok {
		return -1
	}
	if st.Code() == codes.Unavailable || st.Code() == codes.ResourceExhausted && serverRetryDelay(st) > 0 {
		return serverRetryDelay(st)
	}
	return -1
}

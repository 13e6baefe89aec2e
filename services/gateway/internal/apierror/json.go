package apierror

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apijson"
	"inkstream.dev/services/gateway/internal/reqctx"
)

// ErrorBody is an error as JSON.
type ErrorBody struct {
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

// EncodeStatus returns a status as JSON.
func EncodeStatus(ctx context.Context, st *status.Status) []byte {
	body := ErrorBody{errorJSON{Code: ReasonOf(st), Message: st.Message(), Status: HTTPStatusOf(st),
		RequestID: reqctx.RequestIDFrom(ctx)}}
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

// WriteStatus answers a REST request with an error.
func WriteStatus(w http.ResponseWriter, r *http.Request, st *status.Status) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	for _, d := range st.Details() {
		if info, ok := d.(*errdetails.RetryInfo); ok {
			seconds := int((info.GetRetryDelay().AsDuration() + time.Second - 1) / time.Second)
			h.Set("Retry-After", strconv.Itoa(seconds))
		}
	}
	data := EncodeStatus(r.Context(), st)
	w.WriteHeader(HTTPStatusOf(st))
	// A client that hung up has no use for the rest.
	_, _ = w.Write(apijson.IndentJSON(data))
}

package rest

import (
	"bytes"
	"encoding/json"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/proto"

	"inkstream.dev/pkg/pagejson"
	inkstreamv1 "inkstream.dev/proto/gen/inkstream/v1"
	"inkstream.dev/services/gateway/internal/apijson"
)

// marshaler is how grpc-gateway writes answers: jobs and lists indented; pages on one line, because their boxes would
// fill screens.
type marshaler struct{ runtime.JSONPb }

// Marshal returns v as JSON.
func (*marshaler) Marshal(v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return json.Marshal(v)
	}
	if body, ok := m.(*httpbody.HttpBody); ok {
		return body.GetData(), nil
	}
	page, isPage := m.(*inkstreamv1.Page)
	if !isPage {
		return apijson.EncodeIndented(m)
	}
	var b bytes.Buffer
	err := pagejson.WriteComplete(&b, page)
	b.WriteByte('\n')
	return b.Bytes(), err
}

// ContentType returns the type of an answer: JSON, but for what is a file.
func (*marshaler) ContentType(v any) string {
	if body, ok := v.(*httpbody.HttpBody); ok {
		return body.GetContentType()
	}
	return JSONType
}

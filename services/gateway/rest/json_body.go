package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"inkstream.dev/pkg/fault"
	"inkstream.dev/services/gateway/internal/apierror"
)

// maxCallBytes bounds the JSON body of a call.
const maxCallBytes = 64 << 10

// DecodeJSONBody reads a request's JSON body into a message, and returns it to be read once more. No body is
// one that says nothing. An error names the field that is wrong, but nothing of its value: that may be a secret.
func DecodeJSONBody(w http.ResponseWriter, r *http.Request, into proto.Message) (io.ReadCloser, error) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallBytes))
	if err != nil {
		return nil, fault.New(fault.InvalidArgument, "the body cannot be read, or has more than %d bytes", maxCallBytes)
	}
	if len(bytes.TrimSpace(data)) > 0 && protojson.Unmarshal(data, into) != nil {
		return nil, explainJSONError(into.ProtoReflect().Descriptor(), data)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// rejectCallBody makes sure that a call whose options go into the query does not have them in its body, where they
// would go unnoticed. An empty object is what some clients send for nothing.
func rejectCallBody(r *http.Request) error {
	if r.ContentLength == 0 {
		return nil
	}
	const most = 64
	data, err := io.ReadAll(io.LimitReader(r.Body, most))
	if err != nil {
		return fault.New(apierror.RequestTimeout, "the request's body cannot be read")
	}
	if text := strings.TrimSpace(string(data)); len(data) == most || text != "" && text != "{}" {
		return fault.New(fault.InvalidArgument, "this address takes no body; options go into the query")
	}
	return nil
}

// explainJSONError says what is wrong with a body that is no JSON of a message.
func explainJSONError(d protoreflect.MessageDescriptor, data []byte) error {
	var fields map[string]json.RawMessage
	if !json.Valid(data) {
		return fault.New(fault.InvalidArgument, "the body is not valid JSON")
	}
	if err := json.Unmarshal(data, &fields); err != nil {
		return fault.New(fault.InvalidArgument, "the body is no JSON object")
	}
	if err := checkJSONFields(d, "", fields); err != nil {
		return err
	}
	return fault.New(fault.InvalidArgument, "the body is no JSON of a %s", d.Name())
}

// checkJSONFields returns a fault about the first of the fields, by their names, that the message does not have or
// whose value is none of its kind; nil where there is none.
func checkJSONFields(d protoreflect.MessageDescriptor, prefix string, fields map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := d.Fields().ByJSONName(name)
		if f == nil {
			f = d.Fields().ByTextName(name)
		}
		if f == nil {
			at := prefix + apierror.ClipText(name)
			return apierror.InvalidField(fault.InvalidArgument, at, "there is no field %q; there are %s", at,
				strings.Join(listFieldNames(d), ", "))
		}
		if err := checkJSONValue(f, prefix+name, fields[name]); err != nil {
			return err
		}
	}
	return nil
}

// checkJSONValue returns a fault about a field's value that is none of its kind.
func checkJSONValue(f protoreflect.FieldDescriptor, name string, value json.RawMessage) error {
	alone, err := json.Marshal(map[string]json.RawMessage{f.JSONName(): value})
	if err == nil {
		err = protojson.Unmarshal(alone, dynamicpb.NewMessage(f.ContainingMessage()))
	}
	if err == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	if hasNestedFields(f) && json.Unmarshal(value, &fields) == nil {
		if err := checkJSONFields(f.Message(), name+".", fields); err != nil {
			return err
		}
	}
	kind := describeFieldKind(f)
	switch {
	case f.IsMap():
		kind = "an object of names and texts"
	case f.IsList():
		kind = "a list, each " + kind
	}
	return apierror.InvalidField(fault.InvalidArgument, name, "%s: want %s", name, kind)
}

// listFieldNames returns the names of a message's fields.
func listFieldNames(d protoreflect.MessageDescriptor) []string {
	var names []string
	for i := range d.Fields().Len() {
		names = append(names, string(d.Fields().Get(i).Name()))
	}
	return names
}

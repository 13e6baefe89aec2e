// Package apijson writes messages as the JSON of the REST API.
package apijson

import (
	"bytes"
	"encoding/json"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// jsonOptions write fields that are zero, so that pagesDone: 0 shows; messages that are absent stay away.
var jsonOptions = protojson.MarshalOptions{EmitDefaultValues: true}

// EncodeJSON returns m as JSON on one line.
func EncodeJSON(m proto.Message) ([]byte, error) {
	data, err := jsonOptions.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	var b bytes.Buffer
	b.Grow(len(data))
	// protojson puts blanks in at random, so that no program relies on its bytes.
	if err := json.Compact(&b, data); err != nil {
		return nil, fmt.Errorf("compact JSON: %w", err)
	}
	return b.Bytes(), nil
}

// EncodeIndented returns m as JSON as people read it. What protojson puts in at random goes with the layout.
func EncodeIndented(m proto.Message) ([]byte, error) {
	data, err := jsonOptions.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
	}
	return IndentJSON(data), nil
}

// IndentJSON returns JSON as people read it, with a line feed at its end.
func IndentJSON(data []byte) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return data // no JSON: it is as readable as it gets
	}
	b.WriteByte('\n')
	return b.Bytes()
}

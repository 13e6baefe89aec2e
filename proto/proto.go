// Package proto holds what the .proto files say in other forms, for those who serve it.
package proto

import _ "embed"

// OpenAPI is the REST API as OpenAPI 2.0 (Swagger) JSON, generated from the .proto files.
//
//go:embed gen/openapi/inkstream.swagger.json
var OpenAPI []byte

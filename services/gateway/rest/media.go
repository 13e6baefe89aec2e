package rest

// The media types that the API takes and answers.
const (
	PDFType         = "application/pdf"
	OctetType       = "application/octet-stream"
	JSONType        = "application/json"
	MultipartType   = "multipart/form-data"
	EventStreamType = "text/event-stream"
	NDJSONType      = "application/x-ndjson"
)

package stage

const (
	// MaxBatchBytes bounds a stored page or batch of pages that a service reads back.
	MaxBatchBytes = 256 << 20
	// ContentTypeProtobuf is the content type of batches.
	ContentTypeProtobuf = "application/vnd.google.protobuf"
)

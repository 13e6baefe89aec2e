// Package gateway is the pipeline's door: it takes documents in over gRPC and REST, and answers what became of them.
// It never parses a document; it streams the bytes to the blob store, writes the job's record, and queues the job for
// ingest.
//
//	client ──> REST handlers ──┐
//	client ──> gRPC server ────┴──> intake ──> blob ──> manifest ──> idempotency claim ──> record ──> task, event ──> 202
//
// The unary calls of the REST side go through grpc-gateway and an in-process connection to the same gRPC server, so
// that interceptors see them. Uploads, watches and downloads have REST handlers of their own, because they stream;
// both sides share everything behind the handlers. One place, errors.go, decides what an error looks like to clients.
package gateway

// Package gateway is the pipeline's door: it takes documents in over gRPC and REST, and answers what became of them.
// It never parses a document; it streams the bytes to the blob store, writes the job's record, and queues the job for
// ingest. The package composes the gateway out of these, and runs it:
//
//	rest, rpc          the shells: what every request passes; gate lets it in
//	gate, access       who calls, and whether it may: API keys, tokens, scopes, tenants
//	limits             the throttles, in the order in which an upload meets them
//	upload, options    documents come in, by five ways that are one
//	jobview            records and progress, read and shown
//	watch              how a job stands: now, at its end, at every change
//	results, search    what jobs have yielded; lists and full text
//	admin, webhook     cancel, retry, delete; dead letters, keys, webhooks; calls at a job's end
//	compat, docs       other servers' addresses; OpenAPI
//
// The unary calls of the REST side go through grpc-gateway and an in-process connection to the same gRPC server, so
// that interceptors see them. Uploads, watches and downloads have REST handlers of their own, because they stream;
// both sides share everything behind the handlers. One package, internal/apierror, decides what an error looks like
// to clients.
package gateway

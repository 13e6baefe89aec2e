// Package apierror is what an error looks like to clients: the one table from stable codes to gRPC and HTTP statuses, the
// fields and facts that an error names, and its JSON. Nothing of an internal error gets out.
package apierror

// Package job keeps the state of jobs in a JetStream key-value bucket: one record a job and one progress record, each
// changed only by compare-and-set on its revision, and only through this package.
//
//	PENDING ──> RUNNING ──> SUCCEEDED | PARTIAL | FAILED | REJECTED | CANCELLED ──> EXPIRED | DELETED
//	   │           ↑                        │         │                 │
//	   │           └──── another run ───────┴─────────┴─────────────────┘
//	   └──────────────────────────────> FAILED | REJECTED | CANCELLED
//
// A retry starts another run (see Record.RestartRun), of a SUCCEEDED job only when all of it or its pages with doubts are
// to be done again.
//
// This package holds the data and says which changes are legal; pkg/jobs is the service that makes the changes, with
// their messages and events. How a page ends is pkg/outcome.
//
// The record is the guarantee that nothing happens twice: message ids are forgotten by the broker, revisions are not.
package job

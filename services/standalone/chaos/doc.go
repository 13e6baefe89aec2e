// Package chaos runs the pipeline as separate processes, puts a mixed load on it, and under this load kills whatever it
// finds: services, engine children, the NATS server; it also repeats messages, at once and late. When it is over it
// holds what is left against what was promised: an upload that was acknowledged has ended, exactly once, in a state
// that says the truth about every page, and nothing is left behind.
//
// Its parts serve other tests as well: Process is a program that can be killed and started again, Client an honest
// client of the REST API that repeats what was not answered, and Inspector collects what is known of a job so that
// two runs can be compared.
package chaos

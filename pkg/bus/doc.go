// Package bus is the pipeline's use of NATS JetStream: which streams, consumers and buckets there are, how a task is
// published so that a repeat is absorbed, and how it is consumed so that a crash anywhere replays it.
//
// Every subject, header and name that goes over NATS is built in this package and nowhere else.
//
// What a handler's error means is decided in one place, [Consumer] settle: nil is acknowledged, [fault.Busy] and
// [fault.Transient] are redelivered with a delay, [fault.Permanent] goes to the dead-letter stream first and is
// terminated after.
package bus

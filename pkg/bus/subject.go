package bus

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
)

// Stage is one step of the pipeline, and the name of its stream, consumers and service.
type Stage string

// The stages, in the order in which a document passes them.
const (
	Ingest Stage = "ingest"
	Scan   Stage = "scan"
	Render Stage = "render"
	OCR    Stage = "ocr"
	Index  Stage = "index"
)

// AllStages lists the stages in order.
func AllStages() []Stage { return []Stage{Ingest, Scan, Render, OCR, Index} }

// downstreamStages returns the stages that s passes its work on to. A page that needs no recognition has nothing to
// wait for in the queue of those that do.
func (s Stage) downstreamStages() []Stage {
	switch s {
	case Ingest:
		return []Stage{Scan}
	case Scan:
		return []Stage{Render}
	case Render:
		return []Stage{OCR, Index}
	case OCR:
		return []Stage{Index}
	default:
		return nil
	}
}

// StreamName returns the name of the stage's stream, e.g. INK_OCR.
func (s Stage) StreamName() string { return "INK_" + strings.ToUpper(string(s)) }

// Lane is a scheduling class. Interactive goes first; batch yields, but never starves.
type Lane string

// The lanes.
const (
	Interactive Lane = "interactive"
	Batch       Lane = "batch"
)

// ParseLane returns the lane of that name; the empty name is Interactive.
func ParseLane(s string) (Lane, error) {
	switch Lane(s) {
	case "", Interactive:
		return Interactive, nil
	case Batch:
		return Batch, nil
	}
	return "", fmt.Errorf("lane %q: want interactive or batch", s)
}

// DurableName returns the name of the consumer of a stage's lane, e.g. ocr-batch.
func DurableName(s Stage, l Lane) string { return string(s) + "-" + string(l) }

// Names of what is not a stage's.
const (
	EventStream      = "INK_EVENTS"
	DeadLetterStream = "INK_DLQ"
	AdvisoryStream   = "INK_ADVISORIES"
	WebhookStream    = "INK_WEBHOOK"
	JobBucket        = "jobs"
	// KeyBucket holds the API keys, and WebhookBucket the tenants' webhooks. They are the gateway's alone.
	KeyBucket     = "keys"
	WebhookBucket = "webhooks"
	// Webhooks names the calls to webhooks: in their subjects, as the consumers of both of their streams, and among the
	// dead letters.
	Webhooks = "webhook"
)

// Headers of a task message, beside Nats-Msg-Id and traceparent.
const (
	// HeaderSchema names the protobuf message that the payload holds as JSON.
	HeaderSchema = "Ink-Schema"
	// HeaderRun counts the runs of the job.
	HeaderRun = "Ink-Run"
	// HeaderQueued is when a task was queued first, where this is a copy that took its place.
	HeaderQueued = "Ink-Queued"
	// HeaderSlow marks a task that has taken longer than its first try; see ErrTakesLong.
	HeaderSlow = "Ink-Slow"

	// Headers of a dead letter.

	HeaderClass    = "Ink-Dlq-Class"
	HeaderReason   = "Ink-Dlq-Reason"
	HeaderError    = "Ink-Dlq-Error"
	HeaderAttempts = "Ink-Dlq-Attempts"
	HeaderSubject  = "Ink-Dlq-Subject"
	HeaderMsgID    = "Ink-Dlq-Msg-Id"
	HeaderStream   = "Ink-Dlq-Stream"
	HeaderSequence = "Ink-Dlq-Seq"
	HeaderTime     = "Ink-Dlq-Time"
)

// taskSubject returns ink.<stage>.<lane>.<tenant>.<job>.
func taskSubject(s Stage, l Lane, tenant, job string) string {
	return "ink." + string(s) + "." + string(l) + "." + tenant + "." + job
}

// laneSubjects returns the pattern of the subjects of a stage's lane.
func laneSubjects(s Stage, l Lane) string { return "ink." + string(s) + "." + string(l) + ".>" }

// eventSubject returns ink.events.<tenant>.<job>.<type>.
func eventSubject(tenant, job, kind string) string {
	return "ink.events." + tenant + "." + job + "." + kind
}

// allEvents is the subject of every event.
const allEvents = "ink.events.>"

// deadLetterSubject returns ink.dlq.<stage>.<tenant>.<job>.
func deadLetterSubject(s Stage, tenant, job string) string {
	return "ink.dlq." + string(s) + "." + tenant + "." + job
}

// parseTaskSubject returns the tenant and job that a task subject names; empty where it is not one.
func parseTaskSubject(subject string) (tenant, job string) {
	t := strings.Split(subject, ".")
	if len(t) != 5 || t[0] != "ink" {
		return "", ""
	}
	return t[3], t[4]
}

// laneOfSubject returns the lane that a task subject names; empty where it is not one.
func laneOfSubject(subject string) Lane {
	if t := strings.Split(subject, "."); len(t) == 5 {
		return Lane(t[2])
	}
	return ""
}

// schemaName names the protobuf message of a payload.
func schemaName(m proto.Message) string { return string(m.ProtoReflect().Descriptor().FullName()) }

package bus

import (
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// ackWait is how long a delivered message may go without a sign of life before another replica gets it: this is what
	// the work waits whose worker was killed. The longest stall measured of a cluster that loses its leader was 6.8 s.
	ackWait = 30 * time.Second
	// maxDeliver stops crash loops: a message that came back this often without being settled kills its handler. Past it
	// the broker would leave the message orphaned in the stream, so the janitor watches the advisories.
	maxDeliver = 16
	// duplicateWindow bounds the memory for message ids (about 170 bytes each).
	duplicateWindow = 10 * time.Minute
	// maxTaskBytes bounds a task message; tasks carry references only.
	maxTaskBytes = 64 << 10
	// maxRecognitionTasks is the mark of ocr's queue, where MaxTasks is not less: each task keeps a raster of some 9 MB
	// in the blob store. It is work for minutes, however many cores recognise, and render fills it up in seconds.
	maxRecognitionTasks = 2000
	// maxInFlight bounds the unacknowledged messages of one stage's lane over all replicas, those included that were put
	// aside: while so many are, the lane stands still.
	maxInFlight = 20_000
	// highWaterKey is the metadata of a stream that holds its mark.
	highWaterKey = "mark"
)

// Topology says how large the streams may grow and how often they are replicated.
type Topology struct {
	// Replicas is how many servers keep each stream and bucket. 0 is as many as now, and for those that are not there as
	// many as keep the bucket of jobs; where there is none either, 3 on a cluster and 1 on a single server. Streams that
	// more servers keep stay so, but for OnLowerReplicas.
	Replicas int
	// OnLowerReplicas lets Provision have fewer servers keep what more of them do. It is told of each stream.
	OnLowerReplicas func(stream string, from, to int)
	// MaxTasks is the mark of each stage's queue: at it the stage ahead takes up no more, and the gateway refuses
	// uploads before that. 0 means 50,000. See taskLimit for what the streams take beyond it.
	MaxTasks int64
	// AckWait overrides the redelivery delay of messages whose handler died; 0 means 30 s.
	AckWait time.Duration
	// MaxDeliver overrides the crash net, how often a message is delivered without ever being settled; 0 means 16.
	MaxDeliver int
}

func (t Topology) withDefaults() Topology {
	if t.MaxTasks == 0 {
		t.MaxTasks = 50_000
	}
	if t.AckWait == 0 {
		t.AckWait = ackWait
	}
	if t.MaxDeliver == 0 {
		t.MaxDeliver = maxDeliver
	}
	return t
}

// ClusterReplicas is how many servers of a cluster keep each stream, unless others are named: one of them may be away.
const ClusterReplicas = 3

// wantedReplicas returns how many servers are to keep a stream that so many keep now, none where it is not there;
// others is how many keep the rest.
func (t Topology) wantedReplicas(now, others int) int {
	switch {
	case t.OnLowerReplicas != nil && t.Replicas > 0:
		return t.Replicas
	case now > 0:
		return max(now, t.Replicas)
	default:
		return max(others, t.Replicas, 1)
	}
}

// withReplicas returns the configuration of a stream that so many servers keep.
func withReplicas(cfg jetstream.StreamConfig, replicas int) jetstream.StreamConfig {
	cfg.Replicas = replicas
	if cfg.Name == jobStream {
		cfg.AllowDirect = replicas == 1 // see jobStreamConfig
	}
	return cfg
}

const (
	// EventAge is how long the audit trail is kept, and deadLetterAge how long dead letters are.
	EventAge      = 90 * 24 * time.Hour
	deadLetterAge = 30 * 24 * time.Hour
)

func streamMetadata(kv ...string) map[string]string {
	m := map[string]string{"owner": "inkstream"}
	for i := 0; i+1 < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return m
}

// highWaterMark returns how many tasks a stage's queue holds before the stage ahead stops.
func (t Topology) highWaterMark(s Stage) int64 {
	if s == OCR {
		return min(maxRecognitionTasks, t.MaxTasks)
	}
	return t.MaxTasks
}

// taskLimit returns how many tasks a stage's stream takes at most. Nothing but uploads goes to ingest, and the
// gateway looks before it takes one, so there the limit is the mark. To the others also comes what follows from a
// task further back: index ends a chunk by queueing the job's next one for render, or the job's end for itself,
// before its own task leaves the queue. If that were refused because the queues are full, they would never empty. It
// can be no more than what the queues of ocr and index hold, and twice the mark is what the interactive lane may
// fill.
func (t Topology) taskLimit(s Stage) int64 {
	if s == Ingest {
		return t.MaxTasks
	}
	const inHand = 1000 // what stages that have just stopped still pass on
	return 5*t.MaxTasks + inHand
}

func (t Topology) stageStreamConfig(s Stage) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        s.StreamName(),
		Description: "Tasks waiting for or held by the " + string(s) + " service",
		Subjects:    []string{"ink." + string(s) + ".>"},
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		MaxMsgs:     t.taskLimit(s),
		MaxMsgSize:  maxTaskBytes,
		Duplicates:  duplicateWindow,
		Replicas:    t.Replicas,
		AllowDirect: true,
		Metadata: streamMetadata("stage", string(s), "schema", "inkstream.bus.v1", "dlq", DeadLetterStream,
			highWaterKey, strconv.FormatInt(t.highWaterMark(s), 10)),
	}
}

func (t Topology) otherStreamConfigs() []jetstream.StreamConfig {
	return []jetstream.StreamConfig{{
		Name:        EventStream,
		Description: "Audit trail: one event for each thing that happened to a job",
		Subjects:    []string{allEvents},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		Storage:     jetstream.FileStorage,
		MaxAge:      EventAge,
		MaxMsgSize:  maxTaskBytes,
		Duplicates:  duplicateWindow,
		Replicas:    t.Replicas,
		AllowDirect: true,
		Metadata:    streamMetadata("schema", "inkstream.bus.v1.Event"),
	}, {
		Name:        DeadLetterStream,
		Description: "What a stage gave up on: the whole message, with class, reason and attempts in its headers",
		Subjects:    []string{"ink.dlq.>"},
		Retention:   jetstream.LimitsPolicy,
		// A full dead-letter stream stops the stage instead of losing what it gives up on.
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		MaxMsgs:     100_000,
		MaxAge:      deadLetterAge,
		MaxMsgSize:  2 * maxTaskBytes,
		Duplicates:  duplicateWindow,
		Replicas:    t.Replicas,
		AllowDirect: true,
		Metadata:    streamMetadata("schema", "inkstream.bus.v1"),
	}, {
		Name:        AdvisoryStream,
		Description: "Broker advisories about messages that were delivered too often; read by the janitor",
		Subjects:    []string{"$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.*.*"},
		Retention:   jetstream.LimitsPolicy,
		Discard:     jetstream.DiscardOld,
		Storage:     jetstream.FileStorage,
		MaxAge:      14 * 24 * time.Hour,
		MaxMsgs:     100_000,
		Replicas:    t.Replicas,
		AllowDirect: true,
		Metadata:    streamMetadata(),
	}, {
		Name:        WebhookStream,
		Description: "Calls to webhooks that wait to be made",
		Subjects:    []string{"ink." + Webhooks + ".>"},
		Retention:   jetstream.WorkQueuePolicy,
		Discard:     jetstream.DiscardNew,
		Storage:     jetstream.FileStorage,
		MaxMsgs:     1_000_000,
		Duplicates:  duplicateWindow,
		Replicas:    t.Replicas,
		AllowDirect: true,
		Metadata:    streamMetadata("dlq", DeadLetterStream),
	}}
}

// webhookAckWait is how long a call to a webhook, or an event that calls follow from, may be in hand: twice as long
// as a receiver may take to answer.
const webhookAckWait = 30 * time.Second

// otherConsumerConfigs returns the consumers of streams that are no stage's, by stream.
func (t Topology) otherConsumerConfigs() map[string]jetstream.ConsumerConfig {
	return map[string]jetstream.ConsumerConfig{
		AdvisoryStream: {
			Durable: janitorDurable, Description: "Clears tasks that were delivered too often",
			AckPolicy: jetstream.AckExplicitPolicy,
			AckWait:   ackWait, MaxDeliver: -1, Metadata: streamMetadata(),
		},
		EventStream: {
			Durable: Webhooks, Description: "Ends of jobs, to be told to webhooks",
			FilterSubject: eventSubject("*", "*", "ended"),
			AckPolicy:     jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverNewPolicy, AckWait: webhookAckWait,
			Metadata: streamMetadata(),
		},
		WebhookStream: {
			Durable: Webhooks, Description: "Gateways that call webhooks", AckPolicy: jetstream.AckExplicitPolicy,
			AckWait:       webhookAckWait,
			MaxAckPending: 10_000, Metadata: streamMetadata(),
		},
	}
}

// otherBucketConfigs returns the buckets beside that of the jobs.
func (t Topology) otherBucketConfigs() []jetstream.KeyValueConfig {
	return []jetstream.KeyValueConfig{{
		Bucket: KeyBucket, Description: "API keys, by their id; only hashes of the secrets", History: 1,
		Storage:  jetstream.FileStorage,
		Replicas: t.Replicas,
	}, {
		Bucket: WebhookBucket, Description: "webhook.<tenant>.<id>: addresses that are told of jobs that end", History: 1,
		Storage: jetstream.FileStorage, Replicas: t.Replicas,
	}}
}

func (t Topology) consumerConfig(s Stage, l Lane) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       DurableName(s, l),
		Description:   fmt.Sprintf("Replicas of the %s service, %s lane", s, l),
		FilterSubject: laneSubjects(s, l),
		AckPolicy:     jetstream.AckExplicitPolicy,
		DeliverPolicy: jetstream.DeliverAllPolicy,
		AckWait:       t.AckWait,
		MaxDeliver:    t.MaxDeliver,
		MaxAckPending: maxInFlight,
		Metadata:      streamMetadata("stage", string(s), "lane", string(l)),
	}
}

const jobBucketDescription = "job.<tenant>.<id>: records; prog.<tenant>.<id>: page progress; idem.<tenant>.<key>: idempotency keys; " +
	"used.<tenant>.<caller>: bytes uploaded today; content.<tenant>.<digest>: jobs by their document; meta.<name>: of the whole"

// jobStream is the stream behind the bucket of jobs.
const jobStream = "KV_" + JobBucket

// jobStreamConfig is the stream behind the bucket of jobs, as the client makes it, but for AllowDirect: with it any
// replica answers a read, and one that lags answers with what was. A handler that takes an old record for the truth
// does work twice, or drops a task because its job is not there. So on a cluster the leader answers, which is one
// more hop to some; on a single server nothing can lag.
func (t Topology) jobStreamConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              jobStream,
		Description:       jobBucketDescription,
		Subjects:          []string{"$KV." + JobBucket + ".>"},
		Storage:           jetstream.FileStorage,
		Discard:           jetstream.DiscardNew,
		MaxMsgsPerSubject: 1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxConsumers:      -1,
		MaxMsgSize:        256 << 10,
		Duplicates:        2 * time.Minute,
		Replicas:          t.Replicas,
		AllowRollup:       true,
		DenyDelete:        true,
		AllowDirect:       t.Replicas == 1,
		AllowMsgTTL:       true,
		// Every key that expires by its age leaves a mark for this long, so that watchers see its removal.
		SubjectDeleteMarkerTTL: time.Hour,
		Metadata:               streamMetadata("schema", "inkstream.job.v1"),
	}
}

package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ServerInfo is what the broker says of itself.
type ServerInfo struct {
	Name, Version, Cluster string
	// MaxPayload is in bytes.
	MaxPayload int64
}

// ServerInfo returns what the server says of itself that this connection is to.
func (b *topologyAdmin) ServerInfo() ServerInfo {
	return ServerInfo{
		Name: b.nc.ConnectedServerName(), Version: b.nc.ConnectedServerVersion(), Cluster: b.nc.ConnectedClusterName(),
		MaxPayload: b.nc.MaxPayload(),
	}
}

// Deviation is a stream, consumer or bucket that is not as Provision makes it.
type Deviation struct {
	// Name is that of the stream, or of the stream and the consumer.
	Name string
	// Problem says what is wrong with it.
	Problem string
}

// InspectTopology compares the streams, the consumers and the buckets with what Provision makes of the topology, in
// what the guarantees rest on; it changes nothing. Bounds and times that an operator may have chosen are not
// compared, and neither are replicas: those of the stream that has the fewest are returned, none where there are no
// streams. Its error wraps ErrNoLeader where a cluster lacks one.
func (b *topologyAdmin) InspectTopology(ctx context.Context, t Topology) (found []Deviation, replicas int, err error) {
	t = t.withDefaults()
	streams := append(t.otherStreamConfigs(), t.jobStreamConfig())
	for _, s := range AllStages() {
		streams = append(streams, t.stageStreamConfig(s))
	}
	fewest := func(n int) {
		if replicas == 0 || n < replicas {
			replicas = n
		}
	}
	for _, want := range streams {
		stream, err := b.lookUpStream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			found = append(found, Deviation{want.Name, "is not there"})
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("stream %s: %w", want.Name, b.explainNoLeader(err))
		}
		got := stream.CachedInfo().Config
		if problem := streamProblem(withReplicas(want, got.Replicas), got); problem != "" {
			found = append(found, Deviation{want.Name, problem})
		}
		fewest(got.Replicas)
	}
	for _, want := range t.otherBucketConfigs() {
		name := "KV_" + want.Bucket
		stream, err := b.lookUpStream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			found = append(found, Deviation{name, "is not there"})
			continue
		}
		if err != nil {
			return nil, 0, fmt.Errorf("stream %s: %w", name, b.explainNoLeader(err))
		}
		fewest(stream.CachedInfo().Config.Replicas)
	}
	for _, s := range AllStages() {
		for _, l := range []Lane{Interactive, Batch} {
			name := s.StreamName() + " > " + DurableName(s, l)
			var c jetstream.Consumer
			err := b.retryUntilDone(ctx, func(ctx context.Context) (err error) {
				c, err = b.js.Consumer(ctx, s.StreamName(), DurableName(s, l))
				return err
			})
			if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
				found = append(found, Deviation{name, "is not there"})
				continue
			}
			if err != nil {
				return nil, 0, fmt.Errorf("consumer %s: %w", name, b.explainNoLeader(err))
			}
			if problem := consumerProblem(t.consumerConfig(s, l), c.CachedInfo().Config); problem != "" {
				found = append(found, Deviation{name, problem})
			}
		}
	}
	return found, replicas, nil
}

// lookUpStream returns a stream. It outlasts an election of its leader.
func (b *topologyAdmin) lookUpStream(ctx context.Context, name string) (s jetstream.Stream, err error) {
	err = b.retryUntilDone(ctx, func(ctx context.Context) (err error) {
		s, err = b.js.Stream(ctx, name)
		return err
	})
	return s, err
}

func streamProblem(want, got jetstream.StreamConfig) string {
	var problems []string
	differ := func(what string, want, got any) {
		if fmt.Sprint(want) != fmt.Sprint(got) {
			problems = append(problems, fmt.Sprintf("%s is %v, want %v", what, got, want))
		}
	}
	slices.Sort(want.Subjects)
	slices.Sort(got.Subjects)
	differ("subjects", want.Subjects, got.Subjects)
	differ("retention", want.Retention, got.Retention)
	differ("discard policy", want.Discard, got.Discard)
	differ("storage", want.Storage, got.Storage)
	differ("direct access", want.AllowDirect, got.AllowDirect)
	differ("messages a subject", max(want.MaxMsgsPerSubject, 0), max(got.MaxMsgsPerSubject, 0))
	if got.Sealed {
		problems = append(problems, "it is sealed")
	}
	return strings.Join(problems, "; ")
}

func consumerProblem(want, got jetstream.ConsumerConfig) string {
	var problems []string
	if got.FilterSubject != want.FilterSubject {
		problems = append(problems, fmt.Sprintf("its filter is %q, want %q", got.FilterSubject, want.FilterSubject))
	}
	if got.AckPolicy != want.AckPolicy {
		problems = append(problems, fmt.Sprintf("its ack policy is %v, want %v", got.AckPolicy, want.AckPolicy))
	}
	if got.DeliverPolicy != want.DeliverPolicy {
		problems = append(problems, fmt.Sprintf("its deliver policy is %v, want %v", got.DeliverPolicy, want.DeliverPolicy))
	}
	if len(got.BackOff) > 0 {
		problems = append(problems, "it has a backoff, which overrides the ack wait")
	}
	return strings.Join(problems, "; ")
}

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"inkstream.dev/pkg/bus"
)

const (
	// Stage names the webhooks among the dead letters.
	Stage = bus.Webhooks

	// jobHook names the address that the job itself came with.
	jobHook = "job"
	// fetchMessages is how many messages are asked for at once, each of which comes when it is there, and fetchTimeout how
	// long a request for them waits.
	fetchMessages, fetchTimeout = 16, 30 * time.Second
)

// Job is what a Dispatcher asks about a job.
type Job struct {
	// Body is the job as the API shows it, as JSON.
	Body []byte
	// URL is the address that the job came with; may be empty.
	URL string
}

// JobSource tells about jobs. The error is ErrNoJob where there is no job any more.
type JobSource func(ctx context.Context, tenant, id string) (Job, error)

// ErrNoJob means that the job is gone, so that there is nothing to tell.
var ErrNoJob = errors.New("the job is gone")

// Config says what a Dispatcher calls, and with which patience.
type Config struct {
	Policy Policy
	// Secret signs the calls to addresses that jobs came with.
	Secret string
	// MinRetryDelay and GiveUpAfter override the first wait between two tries, 5 s, and how long a call is tried, a day.
	MinRetryDelay, GiveUpAfter time.Duration
}

// Dispatcher makes the calls. Several processes may run one each; a call is made by one of them.
type Dispatcher struct {
	cfg     Config
	js      jetstream.JetStream
	hooks   *Hooks
	loadJob JobSource
	client  *http.Client
	log     *slog.Logger
	queues  *callQueues
	circuit *circuitBreaker
}

// NewDispatcher returns a Dispatcher that is not yet running.
func NewDispatcher(cfg Config, js jetstream.JetStream, hooks *Hooks, source JobSource, log *slog.Logger) *Dispatcher {
	if cfg.MinRetryDelay == 0 {
		cfg.MinRetryDelay = minRetryDelay
	}
	if cfg.GiveUpAfter == 0 {
		cfg.GiveUpAfter = giveUpAfter
	}
	return &Dispatcher{cfg: cfg, js: js, hooks: hooks, loadJob: source, client: cfg.Policy.NewClient(),
		log: log.With("part", "webhooks"), queues: newCallQueues(), circuit: newCircuitBreaker()}
}

// Run makes calls until ctx is done and those under way are over.
func (d *Dispatcher) Run(ctx context.Context) error {
	ended, calls, err := d.bindConsumers(ctx)
	if err != nil {
		return err
	}
	defer d.client.CloseIdleConnections()
	var wg sync.WaitGroup
	wg.Go(func() { d.consumeMessages(ctx, ended, d.queueDeliveries) })
	wg.Go(func() { d.consumeMessages(ctx, calls, d.assignDelivery) })
	wg.Wait()
	d.queues.drain()
	return nil
}

// bindConsumers finds what bus.Provision has made for the calls: a consumer of the events that end jobs, and one of
// the queue of calls.
func (d *Dispatcher) bindConsumers(ctx context.Context) (ended, calls jetstream.Consumer, err error) {
	if ended, err = d.js.Consumer(ctx, bus.EventStream, bus.Webhooks); err != nil {
		return nil, nil, fmt.Errorf("consumer of events: %w", err)
	}
	if calls, err = d.js.Consumer(ctx, bus.WebhookStream, bus.Webhooks); err != nil {
		return nil, nil, fmt.Errorf("consumer of calls: %w", err)
	}
	return ended, calls, nil
}

// consumeMessages handles messages one by one until ctx is done. It asks for several at once.
func (d *Dispatcher) consumeMessages(ctx context.Context, cons jetstream.Consumer,
	handle func(context.Context, jetstream.Msg) error) {
	for ctx.Err() == nil {
		pull, cancel := context.WithTimeout(ctx, fetchTimeout)
		batch, err := cons.Fetch(fetchMessages, jetstream.FetchContext(pull))
		if err == nil {
			for msg := range batch.Messages() {
				if err := handle(context.WithoutCancel(ctx), msg); err != nil {
					d.log.WarnContext(ctx, "webhook", "error", err)
				}
			}
			err = batch.Error()
		}
		over := pull.Err() != nil
		cancel()
		if err != nil && !over {
			select { // the broker is away or starting
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}
}

// queueDeliveries makes a call for each address that is to be told of a job's end. Repeats are absorbed by the calls'
// ids.
func (d *Dispatcher) queueDeliveries(ctx context.Context, msg jetstream.Msg) error {
	f := strings.Split(msg.Subject(), ".") // ink.events.<tenant>.<job>.ended
	var event struct {
		Run int `json:"run"`
	}
	if err := json.Unmarshal(msg.Data(), &event); err != nil || len(f) != 5 {
		return errors.Join(err, msg.Term())
	}
	to := delivery{Tenant: f[2], Job: f[3], Run: event.Run}
	hooks := d.hooks.ListHooks(to.Tenant)
	if len(hooks) == 0 && d.cfg.Secret == "" {
		return msg.Ack() // without a secret no job comes with an address
	}
	job, err := d.loadJob(ctx, to.Tenant, to.Job)
	if errors.Is(err, ErrNoJob) {
		return msg.Ack()
	}
	if err != nil {
		return errors.Join(err, msg.NakWithDelay(d.cfg.MinRetryDelay))
	}
	targets := make([]string, 0, len(hooks)+1)
	for _, h := range hooks {
		targets = append(targets, h.ID)
	}
	if job.URL != "" {
		targets = append(targets, jobHook)
	}
	for _, to.Hook = range targets {
		if err := d.queueDelivery(ctx, to, to.deliveryID()); err != nil {
			return errors.Join(err, msg.NakWithDelay(d.cfg.MinRetryDelay))
		}
	}
	return msg.Ack()
}

func (d *Dispatcher) queueDelivery(ctx context.Context, to delivery, id string) error {
	data, err := json.Marshal(to)
	if err != nil {
		return fmt.Errorf("encode call: %w", err)
	}
	_, err = d.js.Publish(ctx, "ink."+Stage+"."+to.Tenant+"."+to.Job, data, jetstream.WithMsgID(id))
	if err != nil {
		return wrapUnavailable("queue call", err)
	}
	return nil
}

// ReplayDelivery queues the call of a dead letter again. The id sets the new message apart; the receiver sees the
// call's own id.
func (d *Dispatcher) ReplayDelivery(ctx context.Context, payload []byte) error {
	var to delivery
	if err := json.Unmarshal(payload, &to); err != nil {
		return fmt.Errorf("decode call: %w", err)
	}
	return d.queueAgain(ctx, to)
}

func (d *Dispatcher) queueAgain(ctx context.Context, to delivery) error {
	return d.queueDelivery(ctx, to, to.deliveryID()+"#"+strconv.FormatInt(time.Now().UnixNano(), 36))
}

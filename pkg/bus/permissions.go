package bus

import (
	"fmt"
	"slices"
	"strings"
)

// The users beside those of the stages, which are called like their stages.
const (
	// GatewayUser is the gateway's, with the reconciler beside it.
	GatewayUser = "gateway"
	// AdminUser alone creates streams, consumers and buckets.
	AdminUser = "admin"
)

// Users lists the users in the order in which a configuration names them: the administrator, the gateway, and one for each stage's service.
func Users() []string {
	users := []string{AdminUser, GatewayUser}
	for _, s := range Stages() {
		users = append(users, string(s))
	}
	return users
}

// Grant is a subject, or a pattern of subjects, that a user may use.
type Grant struct {
	Subject string
	// For says what it is needed for.
	For string
	// Rare says that a service may live for days without it: it is for what follows a crash or a burst, or for a later server.
	Rare bool
}

// Permissions are what a user may do; everything else is refused.
type Permissions struct {
	User               string
	Publish, Subscribe []Grant
	// Answers lets the user answer whoever asks it, wherever the answer is wanted.
	Answers bool
}

// Permit returns the least that a user needs on servers that keep each stream so many times. It panics on a name that is none of Users.
func Permit(user string, replicas int) Permissions {
	g := &grants{Permissions: Permissions{User: user}, direct: (Topology{Replicas: replicas}).bucket().AllowDirect}
	g.subscribe(InboxPrefix(user)+".>", "answers to this user alone")
	g.publish("$SYS.REQ.USER.INFO", "what this user may do")
	switch s := Stage(user); {
	case user == AdminUser:
		g.publish("$JS.API.>", "make, change and look at streams, consumers and buckets")
	case user == GatewayUser:
		g.gateway()
	case slices.Contains(Stages(), s):
		g.stage(s)
	default:
		panic(fmt.Sprintf("bus: no user %q", user))
	}
	return g.Permissions
}

// The prefixes of the keys in the bucket of jobs.
const (
	recordKeys   = "job"
	progressKeys = "prog"
	claimKeys    = "idem"
	contentKeys  = "content"
	metaKeys     = "meta"
	usageKeys    = "used"
)

// grants gathers the permissions of a user.
type grants struct {
	Permissions
	direct bool // the bucket of jobs answers key by key
}

func (g *grants) publish(subject, why string) { g.add(&g.Publish, Grant{Subject: subject, For: why}) }
func (g *grants) seldom(subject, why string) {
	g.add(&g.Publish, Grant{Subject: subject, For: why, Rare: true})
}
func (g *grants) subscribe(subject, why string) {
	g.add(&g.Subscribe, Grant{Subject: subject, For: why})
}

func (g *grants) add(to *[]Grant, grant Grant) {
	if !slices.ContainsFunc(*to, func(have Grant) bool { return have.Subject == grant.Subject }) {
		*to = append(*to, grant)
	}
}

// common is what every service needs.
func (g *grants) common() {
	g.publish("$JS.API.INFO", "whether the server is there")
	g.publish(allEvents, "the audit trail")
	g.open(JobBucket)
	g.read(recordKeys)
	g.write(recordKeys)
	g.read(contentKeys)
	g.write(contentKeys)
	g.read(progressKeys)
}

// task is the subjects of a stage's tasks.
func task(s Stage) string { return "ink." + string(s) + ".>" }

func (g *grants) stage(s Stage) {
	g.common()
	for _, l := range []Lane{Interactive, Batch} {
		g.consume(s.Stream(), Durable(s, l))
	}
	g.publish(deadLetterSubject(s, "*", "*"), "what this stage gives up")
	for _, behind := range s.behind() {
		g.publish(api("STREAM.INFO", behind.Stream()), "whether the stage behind has room")
	}
	g.publish(task(Ingest), "jobs that waited for the end of another one")
	switch s {
	case Ingest:
		g.publish(task(Scan), "documents that were opened")
		g.publish(task(Index), "documents whose results are there already")
	case Scan:
		g.write(progressKeys)
		g.publish(task(Render), "a document's first chunks")
		g.seldom(task(Index), "runs that have every page already, and removal of what a stopped handler left")
	case Render:
		g.publish(task(OCR), "pages to recognise")
		g.publish(task(Index), "pages that need no recognition")
		g.subscribe(ImageCall.subject()+" "+string(ImageCall), "pages to draw")
		g.Answers = true
	case OCR:
		g.publish(task(Index), "pages that were recognised")
		g.seldom(task(Render), "pages whose raster is gone")
		g.write(metaKeys)
	case Index:
		g.publish(task(Render), "a document's next chunks")
		g.seldom(task(Index), "ends of runs that a crash or an error came before")
		g.seldom(task(Scan), "documents of whose results there is nothing left to take over")
		g.write(progressKeys)
		g.watch(JobBucket, recordKeys+".>", "the index's documents follow the records")
		g.publish(api("DIRECT.GET", EventStream), "the index's events follow the audit trail")
		g.publish(api("STREAM.INFO", DeadLetterStream), "dead letters of jobs that are removed")
		g.publish(api("STREAM.PURGE", DeadLetterStream), "dead letters of jobs that are removed")
	}
	g.seldom(task(s), "tasks that wait for something for long")
	g.seldom(api("DIRECT.GET", EventStream), "whether a job's end was told that a crash came after")
}

func (g *grants) gateway() {
	g.common()
	g.read(claimKeys)
	g.write(claimKeys)
	g.read(usageKeys)
	g.write(usageKeys)
	g.read(metaKeys)
	g.watchAny(JobBucket, "requests that watch jobs")
	g.watch(JobBucket, recordKeys+".>", "the reconciler's passes")
	for _, s := range Stages() {
		g.publish(task(s), "uploads, retries, replays, and tasks that got lost")
		g.publish(api("STREAM.INFO", s.Stream()), "how much waits")
		for _, l := range []Lane{Interactive, Batch} {
			g.publish(api("CONSUMER.INFO", s.Stream(), Durable(s, l)), "how much is in hand")
		}
		g.publish(api("STREAM.MSG.GET", s.Stream()), "tasks of jobs that are cancelled or deleted, and those that kill their handlers")
		g.publish(api("STREAM.MSG.DELETE", s.Stream()), "the same")
		g.publish(deadLetterSubject(s, "*", "*"), "the janitor keeps what it clears")
	}
	g.consume(AdvisoryStream, janitorDurable)
	g.publish(api("DIRECT.GET", EventStream), "show the audit trail")
	g.publish(api("STREAM.INFO", DeadLetterStream), "show dead letters")
	g.publish(api("DIRECT.GET", DeadLetterStream), "show dead letters")
	g.publish(api("STREAM.MSG.DELETE", DeadLetterStream), "drop dead letters")
	g.publish(ImageCall.subject(), "pages to draw")

	g.consume(EventStream, Webhooks)
	g.consume(WebhookStream, Webhooks)
	g.publish(task(Webhooks), "calls to webhooks")
	g.publish(deadLetterSubject(Webhooks, "*", "*"), "calls that are given up")
	for _, bucket := range []string{KeyBucket, HookBucket} {
		g.open(bucket)
		g.publish(api("DIRECT.GET", "KV_"+bucket, "$KV", bucket, ">"), "read keys of the bucket "+bucket)
		g.publish("$KV."+bucket+".>", "write keys of the bucket "+bucket)
	}
	g.watch(KeyBucket, ">", "API keys that other gateways make or revoke")
	g.watch(HookBucket, "webhook.>", "a tenant's webhooks")
}

// api returns a subject of JetStream's API.
func api(call string, names ...string) string {
	return "$JS.API." + strings.Join(append([]string{call}, names...), ".")
}

// consume lets the user take messages from a consumer, and settle them. A later server may have the account's names in the subjects of acks.
func (g *grants) consume(stream, durable string) {
	g.publish(api("CONSUMER.INFO", stream, durable), "bind to the consumer "+durable)
	g.publish(api("CONSUMER.MSG.NEXT", stream, durable), "pull from the consumer "+durable)
	g.publish("$JS.ACK."+stream+"."+durable+".>", "settle its messages")
	g.seldom("$JS.ACK.*.*."+stream+"."+durable+".>", "settle its messages, as later servers have it")
}

// open lets the user bind to a bucket.
func (g *grants) open(bucket string) {
	g.publish(api("STREAM.INFO", "KV_"+bucket), "bind to the bucket "+bucket)
}

// read lets the user read those of the bucket of jobs's keys that begin so. On a cluster the bucket's leader answers, and the key is in the request's
// body, where the server cannot tell one from another.
func (g *grants) read(prefix string) {
	if g.direct {
		g.publish(api("DIRECT.GET", "KV_"+JobBucket, "$KV", JobBucket, prefix, ">"), "read the keys "+prefix+".>")
		return
	}
	g.publish(api("STREAM.MSG.GET", "KV_"+JobBucket), "read keys of the bucket "+JobBucket)
}

// write lets the user write those of the bucket of jobs's keys that begin so.
func (g *grants) write(prefix string) {
	g.publish("$KV."+JobBucket+"."+prefix+".>", "write the keys "+prefix+".>")
}

// watch lets the user follow a bucket's keys of a pattern.
func (g *grants) watch(bucket, keys, why string) {
	g.publish(api("CONSUMER.CREATE", "KV_"+bucket, "*", "$KV", bucket, keys), why)
	g.unwatch(bucket)
}

// watchAny lets the user follow several patterns at once, which are in the request's body; so it may be any.
func (g *grants) watchAny(bucket, why string) {
	g.publish(api("CONSUMER.CREATE", "KV_"+bucket, "*"), why)
	g.unwatch(bucket)
}

func (g *grants) unwatch(bucket string) {
	g.publish(api("CONSUMER.DELETE", "KV_"+bucket, "*"), "end such a watch")
	g.seldom("$JS.FC.KV_"+bucket+".>", "the pace of a watch that has much to tell")
	g.seldom("$JS.FC.*.*.KV_"+bucket+".>", "the pace of a watch, as later servers have it")
}

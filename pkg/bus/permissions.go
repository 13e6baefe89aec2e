package bus

import (
	"fmt"
	"slices"
	"strings"
)

// The users beside those of the stages, which are called like their stages.
const (
	// GatewayUser is the user of the gateway and of the reconciler that runs with it.
	GatewayUser = "gateway"
	// AdminUser alone creates streams, consumers and buckets.
	AdminUser = "admin"
	// InspectorUser looks, and changes nothing. The embedded server has it beside an administrator.
	InspectorUser = "inspector"
)

// AllUsers lists the users in the order in which a configuration names them: the administrator, the gateway, and one
// for each stage's service.
func AllUsers() []string {
	users := []string{AdminUser, GatewayUser}
	for _, s := range AllStages() {
		users = append(users, string(s))
	}
	return users
}

// Grant is a subject, or a pattern of subjects, that a user may use.
type Grant struct {
	Subject string
	// Purpose says what it is needed for.
	Purpose string
	// Optional says that a service may live for days without it: it is for what follows a crash or a burst, or for a
	// later server.
	Optional bool
}

// Permissions are what a user may do; everything else is refused.
type Permissions struct {
	User               string
	Publish, Subscribe []Grant
	// AnswersRequests lets the user answer every request that it receives, at whatever subject the request names.
	AnswersRequests bool
}

// PermissionsFor returns the least that a user needs on servers that keep each stream so many times. It panics on a
// name that is none of AllUsers.
func PermissionsFor(user string, replicas int) Permissions {
	g := &grants{Permissions: Permissions{User: user},
		direct: (Topology{Replicas: replicas}).jobStreamConfig().AllowDirect}
	g.grantSubscribe(InboxPrefix(user)+".>", "answers to this user alone")
	g.grantPublish("$SYS.REQ.USER.INFO", "what this user may do")
	switch s := Stage(user); {
	case user == AdminUser:
		g.grantPublish("$JS.API.>", "make, change and look at streams, consumers and buckets")
		g.grantPublish("$JS.SNAPSHOT.>", "back streams up and bring them back")
	case user == GatewayUser:
		g.grantGateway()
	case slices.Contains(AllStages(), s):
		g.grantStage(s)
	default:
		panic(fmt.Sprintf("bus: no user %q", user))
	}
	return g.Permissions
}

// InspectorPermissions returns what InspectorUser may do: look at the streams and what they hold, and follow the
// jobs. API keys and webhooks are none of it.
func InspectorPermissions() Permissions {
	g := &grants{Permissions: Permissions{User: InspectorUser}, direct: true}
	g.grantSubscribe(InboxPrefix(InspectorUser)+".>", "answers to this user alone")
	g.grantPublish("$SYS.REQ.USER.INFO", "what this user may do")
	g.grantPublish("$JS.API.INFO", "the server")
	g.grantPublish("$JS.API.STREAM.NAMES", "the names of the streams")
	g.grantPublish("$JS.API.STREAM.LIST", "the streams")
	streams := []string{EventStream, DeadLetterStream, AdvisoryStream, "KV_" + JobBucket}
	for _, s := range AllStages() {
		streams = append(streams, s.StreamName())
	}
	for _, s := range streams {
		g.grantPublish(apiSubject("STREAM.INFO", s), "a stream")
		g.grantPublish(apiSubject("STREAM.MSG.GET", s), "its messages")
		g.grantPublish(apiSubject("DIRECT.GET", s), "its messages")
		g.grantPublish(apiSubject("DIRECT.GET", s, ">"), "its messages")
		g.grantPublish(apiSubject("CONSUMER.NAMES", s), "its consumers")
		g.grantPublish(apiSubject("CONSUMER.LIST", s), "its consumers")
		g.grantPublish(apiSubject("CONSUMER.INFO", s, "*"), "a consumer")
	}
	// Not of the stages' streams: a consumer there takes messages away. A consumer of the services has no place in the
	// bucket of jobs.
	g.grantPublish(apiSubject("CONSUMER.CREATE", "KV_"+JobBucket, ">"), "follow the jobs")
	g.grantPublish(apiSubject("CONSUMER.MSG.NEXT", "KV_"+JobBucket, "*"), "follow the jobs")
	g.grantPublish("$JS.FC.KV_"+JobBucket+".>", "the pace of a watch that has much to tell")
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

func (g *grants) grantPublish(subject, why string) {
	g.addGrant(&g.Publish, Grant{Subject: subject, Purpose: why})
}
func (g *grants) grantOptional(subject, why string) {
	g.addGrant(&g.Publish, Grant{Subject: subject, Purpose: why, Optional: true})
}
func (g *grants) grantSubscribe(subject, why string) {
	g.addGrant(&g.Subscribe, Grant{Subject: subject, Purpose: why})
}

func (g *grants) addGrant(to *[]Grant, grant Grant) {
	if !slices.ContainsFunc(*to, func(have Grant) bool { return have.Subject == grant.Subject }) {
		*to = append(*to, grant)
	}
}

// grantCommon is what every service needs.
func (g *grants) grantCommon() {
	g.grantPublish("$JS.API.INFO", "whether the server is there")
	g.grantPublish(allEvents, "the audit trail")
	g.grantBucketAccess(JobBucket)
	g.grantKeyRead(recordKeys)
	g.grantKeyWrite(recordKeys)
	g.grantKeyRead(contentKeys)
	g.grantKeyWrite(contentKeys)
	g.grantKeyRead(progressKeys)
}

// taskPattern is the subjects of a stage's tasks.
func taskPattern(s Stage) string { return "ink." + string(s) + ".>" }

func (g *grants) grantStage(s Stage) {
	g.grantCommon()
	for _, l := range []Lane{Interactive, Batch} {
		g.grantConsume(s.StreamName(), DurableName(s, l))
	}
	g.grantOptional(apiSubject("STREAM.INFO", s.StreamName()), "whose tasks wait, where a tenant holds every slot")
	g.grantPublish(deadLetterSubject(s, "*", "*"), "what this stage gives up")
	g.grantOptional(processSubject(string(s)), "that this process runs the stage")
	for _, behind := range s.downstreamStages() {
		g.grantPublish(apiSubject("STREAM.INFO", behind.StreamName()), "whether the stage behind has room")
	}
	g.grantPublish(taskPattern(Ingest), "jobs that waited for the end of another one")
	switch s {
	case Ingest:
		g.grantPublish(taskPattern(Scan), "documents that were opened")
		g.grantPublish(taskPattern(Index), "documents whose results are there already")
	case Scan:
		g.grantKeyWrite(progressKeys)
		g.grantPublish(taskPattern(Render), "a document's first chunks")
		g.grantOptional(taskPattern(Index), "runs that have every page already, and removal of what a stopped handler left")
	case Render:
		g.grantPublish(taskPattern(OCR), "pages to recognise")
		g.grantPublish(taskPattern(Index), "pages that need no recognition")
		g.grantSubscribe(ImageCall.callSubject()+" "+string(ImageCall), "pages to draw")
		g.grantSubscribe(ImageCall.cancelSubject(), "pages that need not be drawn any more")
		g.AnswersRequests = true
	case OCR:
		g.grantPublish(taskPattern(Index), "pages that were recognised")
		g.grantOptional(taskPattern(Render), "pages whose raster is gone")
		g.grantKeyWrite(metaKeys)
	case Index:
		g.grantPublish(taskPattern(Render), "a document's next chunks")
		g.grantOptional(taskPattern(Index), "ends of runs that a crash or an error came before")
		g.grantOptional(taskPattern(Scan), "documents of whose results there is nothing left to take over")
		g.grantKeyWrite(progressKeys)
		g.grantKeyWatch(JobBucket, recordKeys+".>", "the index's documents follow the records")
		g.grantPublish(apiSubject("DIRECT.GET", EventStream), "the index's events follow the audit trail")
		g.grantPublish(apiSubject("STREAM.INFO", DeadLetterStream), "dead letters of jobs that are removed")
		g.grantPublish(apiSubject("STREAM.PURGE", DeadLetterStream), "dead letters of jobs that are removed")
	}
	g.grantOptional(taskPattern(s), "tasks that wait for something for long, and those that take long")
	g.grantOptional(apiSubject("DIRECT.GET", EventStream), "whether a job's end was told that a crash came after")
}

func (g *grants) grantGateway() {
	g.grantCommon()
	g.grantKeyRead(claimKeys)
	g.grantKeyWrite(claimKeys)
	g.grantKeyRead(usageKeys)
	g.grantKeyWrite(usageKeys)
	g.grantKeyRead(metaKeys)
	g.grantAnyWatch(JobBucket, "requests that watch jobs")
	g.grantKeyWatch(JobBucket, recordKeys+".>", "the reconciler's passes")
	for _, s := range AllStages() {
		g.grantPublish(taskPattern(s), "uploads, retries, replays, and tasks that got lost")
		g.grantPublish(apiSubject("STREAM.INFO", s.StreamName()), "how much waits")
		for _, l := range []Lane{Interactive, Batch} {
			g.grantPublish(apiSubject("CONSUMER.INFO", s.StreamName(), DurableName(s, l)), "how much is in hand")
		}
		g.grantPublish(apiSubject("STREAM.MSG.GET", s.StreamName()),
			"tasks of jobs that are cancelled or deleted, and those that kill their handlers")
		g.grantPublish(apiSubject("STREAM.MSG.DELETE", s.StreamName()), "the same")
		g.grantPublish(deadLetterSubject(s, "*", "*"), "the janitor keeps what it clears")
	}
	g.grantConsume(AdvisoryStream, janitorDurable)
	g.grantPublish(apiSubject("DIRECT.GET", EventStream), "show the audit trail")
	g.grantPublish(apiSubject("STREAM.INFO", DeadLetterStream), "show dead letters")
	g.grantPublish(apiSubject("DIRECT.GET", DeadLetterStream), "show dead letters")
	g.grantPublish(apiSubject("STREAM.MSG.DELETE", DeadLetterStream), "drop dead letters")
	g.grantPublish(ImageCall.callSubject(), "pages to draw")
	g.grantOptional(ImageCall.cancelSubject(), "pages whose clients are gone")
	g.addGrant(&g.Subscribe, Grant{Subject: processSubject("*"), Purpose: "which processes run the stages", Optional: true})

	g.grantConsume(EventStream, Webhooks)
	g.grantConsume(WebhookStream, Webhooks)
	g.grantPublish(taskPattern(Webhooks), "calls to webhooks")
	g.grantPublish(deadLetterSubject(Webhooks, "*", "*"), "calls that are given up")
	for _, bucket := range []string{KeyBucket, WebhookBucket} {
		g.grantBucketAccess(bucket)
		g.grantPublish(apiSubject("DIRECT.GET", "KV_"+bucket, "$KV", bucket, ">"), "read keys of the bucket "+bucket)
		g.grantPublish("$KV."+bucket+".>", "write keys of the bucket "+bucket)
	}
	g.grantKeyWatch(KeyBucket, ">", "API keys that other gateways make or revoke")
	g.grantKeyWatch(WebhookBucket, "webhook.>", "a tenant's webhooks")
}

// apiSubject returns a subject of JetStream's API.
func apiSubject(call string, names ...string) string {
	return "$JS.API." + strings.Join(append([]string{call}, names...), ".")
}

// grantConsume lets the user take messages from a consumer, and settle them. A later server may have the account's
// names in the subjects of acks.
func (g *grants) grantConsume(stream, durable string) {
	g.grantPublish(apiSubject("CONSUMER.INFO", stream, durable), "bind to the consumer "+durable)
	g.grantPublish(apiSubject("CONSUMER.MSG.NEXT", stream, durable), "pull from the consumer "+durable)
	g.grantPublish("$JS.ACK."+stream+"."+durable+".>", "settle its messages")
	g.grantOptional("$JS.ACK.*.*."+stream+"."+durable+".>", "settle its messages, as later servers have it")
}

// grantBucketAccess lets the user bind to a bucket.
func (g *grants) grantBucketAccess(bucket string) {
	g.grantPublish(apiSubject("STREAM.INFO", "KV_"+bucket), "bind to the bucket "+bucket)
}

// grantKeyRead lets the user read those of the bucket of jobs's keys that begin so. On a cluster the bucket's leader
// answers, and the key is in the request's body, where the server cannot tell one from another.
func (g *grants) grantKeyRead(prefix string) {
	if g.direct {
		g.grantPublish(apiSubject("DIRECT.GET", "KV_"+JobBucket, "$KV", JobBucket, prefix, ">"), "read the keys "+prefix+".>")
		return
	}
	g.grantPublish(apiSubject("STREAM.MSG.GET", "KV_"+JobBucket), "read keys of the bucket "+JobBucket)
}

// grantKeyWrite lets the user write those of the bucket of jobs's keys that begin so.
func (g *grants) grantKeyWrite(prefix string) {
	g.grantPublish("$KV."+JobBucket+"."+prefix+".>", "write the keys "+prefix+".>")
}

// grantKeyWatch lets the user follow a bucket's keys of a pattern.
func (g *grants) grantKeyWatch(bucket, keys, why string) {
	g.grantPublish(apiSubject("CONSUMER.CREATE", "KV_"+bucket, "*", "$KV", bucket, keys), why)
	g.grantUnwatch(bucket)
}

// grantAnyWatch lets the user follow several patterns at once, which are in the request's body; so it may be any.
func (g *grants) grantAnyWatch(bucket, why string) {
	g.grantPublish(apiSubject("CONSUMER.CREATE", "KV_"+bucket, "*"), why)
	g.grantUnwatch(bucket)
}

func (g *grants) grantUnwatch(bucket string) {
	g.grantPublish(apiSubject("CONSUMER.DELETE", "KV_"+bucket, "*"), "end such a watch")
	g.grantOptional("$JS.FC.KV_"+bucket+".>", "the pace of a watch that has much to tell")
	g.grantOptional("$JS.FC.*.*.KV_"+bucket+".>", "the pace of a watch, as later servers have it")
}
